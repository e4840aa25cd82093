"""Does a hint give the solution away? The tests ask this of every hint; authors of hints can, and so can a wrapper.

A hint leaks if it names a tool that is not on offer, contains a call of the remaining ground truth, or contains an
argument value of it that the agent has not seen; or if it is too long to be a hint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class, domain_names
from envtune_gym.env import Episode
from envtune_gym.feedback.rules import MAX_HINT, named_tools

__all__ = ["Leak", "LeakGuard", "find_leaks", "remaining_calls"]

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
        source, values = _parts(text)
        if text in hint or source in hint:
            leaks.append(Leak("call", text))
        leaks += [Leak("value", value) for value in values if _has(hint, value) and not _has(seen, value)]
    return leaks


def remaining_calls(episode: Episode, turn: int | None = None) -> list[str]:
    """Return the ground truth from a turn on, the present one by default."""
    truth = episode.task.ground_truth
    return [call for calls in truth[episode.turn if turn is None else turn :] for call in calls]


class LeakGuard:
    """Leaves out the hints of an episode that give something away; it must be shown every step."""

    def __init__(self) -> None:
        self._seen: list[str] = []
        self._turn = 0

    @property
    def seen(self) -> str:
        """All that the agent has seen and written so far."""
        return "\n".join(self._seen)

    def begin(self, info: Mapping[str, Any]) -> None:
        """Start with what `reset` shows."""
        self._seen, self._turn = [], 0
        self._hear(info)

    def checked(
        self, hints: Sequence[str | None], episode: Episode, info: Mapping[str, Any]
    ) -> tuple[list[str | None], int]:
        """Return the hints of a step without those that leak, and how many these were.

        Args:
            hints: The hints.
            episode: The episode after the step.
            info: What the step returned, with the official texts.
        """
        self._hear(info)
        kept = [None if hint is not None and self.leaks(hint, episode) else hint for hint in hints]
        self._turn = episode.turn
        return kept, sum(before is not after for before, after in zip(hints, kept, strict=True))

    def leaks(self, hint: str, episode: Episode) -> list[Leak]:
        """Return what a hint of the last step gives away."""
        truth = remaining_calls(episode, self._turn)
        return find_leaks(hint, offered=episode.offered, seen=self.seen, ground_truth=truth)

    def _hear(self, info: Mapping[str, Any]) -> None:
        for message in info["messages"]:
            self._seen.append(str(message.get("content") or ""))
            if "tool_calls" in message:
                self._seen.append(json.dumps(message["tool_calls"], ensure_ascii=False))
        if "tools" in info:
            self._seen.append(json.dumps(info["tools"], ensure_ascii=False))


@lru_cache(maxsize=4096)
def _parts(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a call in the package's own writing, and the values in it that would tell something."""
    call = parse_call(text)
    return call.source(), tuple(dict.fromkeys(_scalars([*call.args, *call.kwargs.values()])))


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
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
