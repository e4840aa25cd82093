"""From a failing call to the text that the agent reads.

The official error always stays, with the hint beside it: the agent sees what the benchmark would have shown, so
that what it learns carries over to the feedback of the benchmark. A JSON object gains a key `hint`; any other text
a second line.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii

from envtune_gym.domains.base import ToolError
from envtune_gym.env import Episode
from envtune_gym.feedback.book import Hint, HintBook
from envtune_gym.feedback.causes import HintContext, misuse, parse_cause, refine
from envtune_gym.feedback.levels import FeedbackLevel

__all__ = ["attach", "explain_step", "result_hints", "step_errors", "text_of"]

_decode = json.JSONDecoder().raw_decode


def step_errors(episode: Episode) -> list[tuple[str | None, ToolError] | None]:
    """Return what is wrong with each call of the last step, as far as hints may know: domain and error, or None.

    Nothing is for a call that succeeded as it was meant. Neither is there anything for a tool that runs although it is
    not on offer: a hint would document a tool that the agent is not supposed to have.
    """
    return _step_errors(episode, HintContext.of(episode))


def _step_errors(episode: Episode, context: HintContext) -> list[tuple[str | None, ToolError] | None]:
    errors: list[tuple[str | None, ToolError] | None] = []
    if episode.reply is None or not episode.results:
        return errors
    for result, call in zip(episode.results, episode.reply.calls, strict=True):
        error = result.error or result.silent
        if error is None:
            error = misuse(result, call, context)
        elif error.code == "unknown_tool" or error.tool in context.names:
            error = refine(result, error, call, context)
        else:
            error = None
        errors.append(None if error is None else (context.domain_of.get(error.tool), error))
    return errors


def explain_step(episode: Episode, book: HintBook, level: FeedbackLevel) -> list[Hint | None]:
    """Return the hint for each text of the last step: each result, or why the message could not be read.

    Where there is nothing to say there is None; at level `off` there is nothing to say.
    """
    advise = level != "error"
    if episode.reply is not None and episode.reply.error is not None:
        cause = parse_cause(episode.reply.error)
        return [None if level == "off" else book.explain(None, cause, episode.offered, advise=advise)]
    if level == "off" or not episode.results:
        return [None] * len(episode.results)
    context = HintContext.of(episode)
    return [
        None if found is None else book.explain(*found, context.names, advise=advise)
        for found in _step_errors(episode, context)
    ]


def text_of(hint: Hint | None) -> str | None:
    """Return the text of a hint, if there is one."""
    return None if hint is None else hint.text


def result_hints(episode: Episode, book: HintBook, level: FeedbackLevel) -> list[str | None]:
    """Return the text of the hint for each call of the last step, None where there is none."""
    if not episode.results:
        return []
    return [text_of(hint) for hint in explain_step(episode, book, level)]


def attach(official: str, hint: str | None) -> str:
    """Return an official text with a hint beside it."""
    if hint is None:
        return official
    if _is_json_object(official):
        separator = "" if official.strip() == "{}" else ", "
        return f'{official.rstrip()[:-1]}{separator}"hint": {encode_basestring_ascii(hint)}}}'
    return f"{official}\nHint: {hint}"


def _is_json_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        _, end = _decode(text)
    except (ValueError, RecursionError):
        return False
    return not text[end:].strip(" \t\n\r")
