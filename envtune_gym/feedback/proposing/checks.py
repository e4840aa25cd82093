"""The judge in code: what a proposal must not contain, whatever a model thinks of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache

from envtune_gym.callsyntax import parse_call
from envtune_gym.domains import domain_class, domain_names
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.leaks import Leak, find_leaks
from envtune_gym.feedback.proposing.bookfile import placeholders, rule_of
from envtune_gym.feedback.proposing.failures import Failure, FailureGroup
from envtune_gym.feedback.proposing.reply import Proposal
from envtune_gym.feedback.rules import HintRule, named_tools

__all__ = ["find_faults", "find_leaked"]

_QUOTED_TOOL = re.compile(r"`[^`]*`")
_WORD = re.compile(r"\w+")


def find_faults(proposal: Proposal, group: FailureGroup) -> list[str]:
    """Return why the texts of a proposal cannot be templates for the failures of a cause; nothing if they can."""
    try:
        rule_of(group.cause, proposal)
    except ConfigurationError as error:
        return [str(error)]
    faults = [
        f"{{{name}}} is not one of the values of this failure: {', '.join(sorted(group.names))}"
        for name in sorted(placeholders(proposal) - group.names)
    ]
    for text in (proposal.error, *proposal.actionable):
        faults += [
            f"`{name}` is not one of the tools; backticks mark tools alone"
            for name in named_tools(text)
            if name not in group.offered
        ]
        bare = _WORD.findall(_QUOTED_TOOL.sub(" ", text))
        faults += [f"the tool {word} is named without backticks" for word in bare if word in _unmistakable_tools()]
    return list(dict.fromkeys(faults))


def find_leaked(proposal: Proposal, group: FailureGroup) -> list[str]:
    """Return what a proposal without faults would give away of the solutions; nothing if it leaks nothing.

    The text that the agent would read is held against what it has seen; the bare template against the documentation
    alone, for it will be read in other tasks too. There a plain word may stand that the agent has seen.
    """
    rule = rule_of(group.cause, proposal)
    found = (leak for failure in group.failures for leak in _leaks(rule, proposal, failure))
    return list(dict.fromkeys(found))


def _leaks(rule: HintRule, proposal: Proposal, failure: Failure) -> Iterator[str]:
    seen = "\n".join(failure.seen)
    documentation = json.dumps([failure.schemas[name] for name in failure.offered if name in failure.schemas])
    template = "\n".join((proposal.error, *proposal.actionable))
    shown = rule.text(failure.error, failure.offered, advise=True) or ""
    truth = failure.remaining
    for leak in find_leaks(shown, offered=failure.offered, seen=seen, ground_truth=truth):
        yield _described(leak)
    for leak in find_leaks(template, offered=[*failure.schemas], seen=documentation, ground_truth=truth):
        plain = leak.kind == "value" and leak.found.isalpha() and leak.found.islower() and leak.found in seen
        if leak.kind in ("call", "value") and not plain:
            yield _described(leak)
    if _tells_sequence(shown, failure.task.ground_truth[failure.turn]):
        yield "a text names all the calls that the request needs, in their order"


def _tells_sequence(text: str, calls: Sequence[str]) -> bool:
    """Tell whether a text names the tools of several calls, all of them and in their order."""
    needed = list(dict.fromkeys(parse_call(call).name for call in calls))
    words = iter(_WORD.findall(text))
    return len(needed) > 1 and all(name in words for name in needed)


def _described(leak: Leak) -> str:
    if leak.kind == "length":
        return "the hint is too long"
    if leak.kind == "tool":
        return f"the hint names {leak.found}, which is no tool that is on offer at one of the failures"
    what = "a call of the solution" if leak.kind == "call" else "a concrete value of the solution"
    return f"a text contains {what}: {leak.found}"


@cache
def _unmistakable_tools() -> frozenset[str]:
    """Return the names of tools that are no plain words."""
    names = (name for domain in domain_names() for name in domain_class(domain).tools)
    return frozenset(name for name in names if "_" in name or not name.islower())
