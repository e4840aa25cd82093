"""Does a hint give the solution away? The tests ask this of every hint, and authors of hints can.

A hint leaks if it names a tool that is not on offer, contains a call of the remaining ground truth, or contains an
argument value of it that the agent has not seen; or if it is too long to be a hint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class, domain_names
from envtune_gym.feedback.render import MAX_HINT
from envtune_gym.feedback.rules import named_tools

__all__ = ["Leak", "find_leaks"]

_IDENTIFIER = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that a hint should not contain.

    Attributes:
        kind: What it is: a tool that is not on offer, a call, an argument's value, or the length.
        found: The piece of the hint.
    """

    kind: Literal["tool", "call", "value", "length"]
    found: str


def find_leaks(hint: str, *, offered: Collection[str], seen: str, ground_truth: Iterable[str]) -> list[Leak]:
    """Return what a hint gives away.

    Args:
        hint: The hint alone, without the official text.
        offered: Names of the tools on offer.
        seen: All that the agent has seen and written so far, the documentation of its tools included.
        ground_truth: The calls that remain to be made, in Python syntax.
    """
    leaks = [Leak("length", hint[MAX_HINT:])] if len(hint) > MAX_HINT else []
    named = [*named_tools(hint), *(word for word in _IDENTIFIER.findall(hint) if _is_unmistakable(word))]
    leaks += [Leak("tool", name) for name in dict.fromkeys(named) if name not in offered and not _has(seen, name)]
    for text in ground_truth:
        call = parse_call(text)
        if text in hint or call.source() in hint:
            leaks.append(Leak("call", text))
        for value in dict.fromkeys(_scalars([*call.args, *call.kwargs.values()])):
            if _has(hint, value) and not _has(seen, value):
                leaks.append(Leak("value", value))
    return leaks


@cache
def _tool_names() -> frozenset[str]:
    return frozenset(name for domain in domain_names() for name in domain_class(domain).tools)


def _is_unmistakable(word: str) -> bool:
    """Tell whether a word can only be a tool's name; `find`, `sort` and the like are also plain English."""
    return word in _tool_names() and ("_" in word or not word.islower())


def _scalars(values: Sequence[Any]) -> Iterator[str]:
    """Yield the strings and numbers within values, as texts; one letter, a truth value or None tells nothing."""
    for value in values:
        if isinstance(value, Call):
            yield from _scalars([*value.args, *value.kwargs.values()])
        elif isinstance(value, dict):
            yield from _scalars(list(value.values()))
        elif isinstance(value, (list, tuple, set)):
            yield from _scalars(list(value))
        elif isinstance(value, str) and len(value) > 1:
            yield value
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield str(value)


def _has(text: str, value: str) -> bool:
    """Tell whether a text contains a value that is not just part of a longer word."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
