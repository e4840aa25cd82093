"""From a failing call to the text that the agent reads.

The official error always stays, with the hint beside it: the agent sees what the benchmark would have shown, so
that what it learns carries over to the feedback of the benchmark. A JSON object gains a key `hint`; any other text
a second line.
"""

from __future__ import annotations

import json

from envtune_gym.domains.base import ToolError
from envtune_gym.env import Episode
from envtune_gym.feedback.book import HintBook
from envtune_gym.feedback.general import HintContext, refine
from envtune_gym.feedback.levels import FeedbackLevel
from envtune_gym.feedback.rules import HintRule, named_tools, shown_values

__all__ = ["MAX_HINT", "attach", "parse_error_hint", "result_hints"]

MAX_HINT = 1_000
"""Most characters of a hint."""


def result_hints(episode: Episode, book: HintBook, level: FeedbackLevel) -> list[str | None]:
    """Return the hint for each call of the last step, None where there is none.

    There is none for a call that succeeded as it was meant, and none at level `off`. Neither is there one for a tool
    that runs although it is not on offer: it would document a tool that the agent is not supposed to have.
    """
    hints: list[str | None] = [None] * len(episode.results)
    if level == "off" or episode.reply is None:
        return hints
    context: HintContext | None = None
    for index, (result, call) in enumerate(zip(episode.results, episode.reply.calls, strict=True)):
        error = result.error or result.silent
        if error is None:
            continue
        context = context or HintContext.of(episode)
        if error.code == "unknown_tool" or error.tool in context.offered:
            error = refine(result, error, call, context)
            rule = book.find(context.domain_of.get(error.tool), error)
            hints[index] = _text(rule, error, context.offered, level)
    return hints


def parse_error_hint(episode: Episode, book: HintBook, level: FeedbackLevel) -> str | None:
    """Return the hint for a message that could not be read, or None if it could."""
    if level == "off" or episode.reply is None or episode.reply.error is None:
        return None
    error = ToolError("bad_syntax", "")
    return _text(book.find(None, error), error, episode.offered, level)


def attach(official: str, hint: str | None) -> str:
    """Return an official text with a hint beside it."""
    if hint is None:
        return official
    if _is_json_object(official):
        separator = "" if official.strip() == "{}" else ", "
        return f'{official.rstrip()[:-1]}{separator}"hint": {json.dumps(hint)}}}'
    return f"{official}\nHint: {hint}"


def _is_json_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _text(rule: HintRule | None, error: ToolError, offered: tuple[str, ...], level: FeedbackLevel) -> str | None:
    """Return a rule's text for an error; None without a rule, or if the error lacks a value that the text needs."""
    if rule is None:
        return None
    values = shown_values(error)
    explanation = _filled(rule.error, values)
    if explanation is None or level == "error":
        return explanation
    for template in rule.actionable:
        advice = _filled(template, values)
        if advice is not None and all(name in offered for name in named_tools(template)):
            return f"{explanation} {advice}"[:MAX_HINT]
    return explanation


def _filled(template: str, values: dict[str, str]) -> str | None:
    try:
        return template.format_map(values)
    except KeyError:
        return None
