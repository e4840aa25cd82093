"""How the state of a world differs from the ground truth's: what is missing, what is extra, what is different.

Works on what `World.state()` returns. In lists, items are aligned, so that one item too many in front is one difference
and not as many as there are items behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from envtune_gym.domains.base import to_plain
from envtune_gym.scoring import ground_truth
from envtune_gym.tasks import Task

__all__ = ["DifferenceKind", "StateDifference", "state_difference", "truth_state"]

DifferenceKind = Literal["missing", "extra", "different"]

_ALIGNED_ITEMS = 400
"""Items of two lists together that are aligned; longer lists are compared by position, for aligning is quadratic."""


@dataclass(frozen=True)
class StateDifference:
    """One place where two states differ.

    Attributes:
        kind: `missing`: the ground truth has it, the world has not; `extra`: the world alone has it; `different`: both
            have it with other values.
        path: Where: domain, attribute, then keys and indices. An index is that of the world's list; of a missing item,
            that of the ground truth's.
        expected: What the ground truth has there, as plain data; None if it has nothing.
        actual: What the world has there, likewise.
    """

    kind: DifferenceKind
    path: tuple[str | int, ...]
    expected: Any = None
    actual: Any = None

    @property
    def where(self) -> str:
        """The path as text, such as `TicketAPI.ticket_queue[0].status`; keys that are no names stand in JSON."""
        return "".join(_step(key, is_first=not index) for index, key in enumerate(self.path))

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as fresh plain data, with its path as a list and as text."""
        return {
            "kind": self.kind,
            "path": list(self.path),
            "where": self.where,
            "expected": to_plain(self.expected),
            "actual": to_plain(self.actual),
        }


def state_difference(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[StateDifference]:
    """Return how a state differs from the one expected; empty if they are equal.

    Args:
        expected: The ground truth's state, as `World.state()` or `truth_state` return it.
        actual: The world's state.

    Returns:
        The differences, in the order of the ground truth's state; none lies within another.

    Example:
        >>> [one.where for one in state_difference({"TicketAPI": {"open": [1, 2]}}, {"TicketAPI": {"open": [2]}})]
        ['TicketAPI.open[0]']
    """
    found: list[StateDifference] = []
    # A stack of its own, for a model can nest folders deeper than Python's.
    pending: list[_Pair | StateDifference] = [_Pair((), expected, actual)]
    while pending:
        one = pending.pop()
        if isinstance(one, StateDifference):
            found.append(one)
        elif isinstance(one.expected, Mapping) and isinstance(one.actual, Mapping):
            pending += reversed(list(_within_mappings(one)))
        elif isinstance(one.expected, list) and isinstance(one.actual, list):
            pending += reversed(list(_within_lists(one)))
        elif not _equal(one.expected, one.actual):
            found.append(StateDifference("different", one.path, one.expected, one.actual))
    return found


def truth_state(task: Task, turn: int) -> dict[str, dict[str, Any]]:
    """Return the public state that a task's ground truth has after a turn, as `World.state()` would."""
    return {name: domain.state() for name, domain in ground_truth(task).states[turn].domains.items()}


@dataclass(frozen=True)
class _Pair:
    """Two values at one place that are yet to be compared."""

    path: tuple[str | int, ...]
    expected: Any
    actual: Any


def _within_mappings(pair: _Pair) -> Iterator[_Pair | StateDifference]:
    for key, value in pair.expected.items():
        if key in pair.actual:
            yield _Pair((*pair.path, key), value, pair.actual[key])
        else:
            yield StateDifference("missing", (*pair.path, key), expected=value)
    for key, value in pair.actual.items():
        if key not in pair.expected:
            yield StateDifference("extra", (*pair.path, key), actual=value)


def _within_lists(pair: _Pair) -> Iterator[_Pair | StateDifference]:
    expected, actual = pair.expected, pair.actual
    start = _common_start(expected, actual)
    end = _common_start(expected[start:][::-1], actual[start:][::-1])
    lost, gained = expected[start : len(expected) - end], actual[start : len(actual) - end]
    for from_lost, to_lost, from_gained, to_gained in _changes(lost, gained):
        both = min(to_lost - from_lost, to_gained - from_gained)
        for offset in range(both):
            path = (*pair.path, start + from_gained + offset)
            yield _Pair(path, lost[from_lost + offset], gained[from_gained + offset])
        for index in range(from_lost + both, to_lost):
            yield StateDifference("missing", (*pair.path, start + index), expected=lost[index])
        for index in range(from_gained + both, to_gained):
            yield StateDifference("extra", (*pair.path, start + index), actual=gained[index])


def _changes(lost: Sequence[Any], gained: Sequence[Any]) -> list[tuple[int, int, int, int]]:
    """Return the stretches of two lists that do not match, each as its bounds in the one and the other."""
    everything = [(0, len(lost), 0, len(gained))]
    if not lost or not gained or len(lost) + len(gained) > _ALIGNED_ITEMS:
        return everything
    try:
        ours, theirs = ([json.dumps(item, sort_keys=True) for item in items] for items in (lost, gained))
    except (RecursionError, TypeError, ValueError):
        return everything
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    return [bounds for kind, *bounds in matcher.get_opcodes() if kind != "equal"]  # type: ignore[misc]


def _common_start(ones: Sequence[Any], others: Sequence[Any]) -> int:
    """Return how many items at the beginning are equal."""
    shorter = min(len(ones), len(others))
    return next((index for index in range(shorter) if not _equal(ones[index], others[index])), shorter)


def _equal(one: Any, other: Any) -> bool:
    """Compare as Python does within containers; what is nested too deep to compare counts as unequal."""
    try:
        return one is other or bool(one == other)
    except RecursionError:
        return False


def _step(key: str | int, *, is_first: bool) -> str:
    if isinstance(key, str) and key.isidentifier():
        return key if is_first else f".{key}"
    return f"[{json.dumps(key)}]"
