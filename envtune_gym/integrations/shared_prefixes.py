"""Which rows begin with the same tokens: what they share is then read once a decode step, not once a row.

The rollouts of a group share a long first prompt for as long as they last, and prompts of one domain its tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Group", "shared_prefixes"]

_WORTH = 64
"""Tokens that a group must save to be one: a second reading of part of the keys is not for nothing."""


class Group(NamedTuple):
    """Rows that begin alike.

    Attributes:
        rows: Their numbers; more than one.
        length: How many tokens they share.
    """

    rows: list[int]
    length: int

    @property
    def saved(self) -> int:
        """How many tokens need not be read."""
        return self.length * (len(self.rows) - 1)


def shared_prefixes(rows: Sequence[bytes]) -> list[Group]:
    """Return the groups by which the fewest tokens are read; those that save most come first.

    A group reads what its rows share once, and what each adds to it. Sorted rows form a tree: those that share a
    longer prefix stand together within those that share a shorter one, and at each fork it is better to stay together
    or to part.

    Args:
        rows: The packed tokens of each row.
    """
    order = sorted(range(len(rows)), key=lambda row: rows[row])
    tokens = [np.frombuffer(rows[row], np.int64) for row in order]
    alike = [_alike(one, other) for one, other in pairwise(tokens)]
    groups = _best([len(row) for row in tokens], alike)
    found = [Group([order[place] for place in places], length) for places, length in groups]
    return sorted(found, key=lambda group: group.saved, reverse=True)


class _Part(NamedTuple):
    """Sorted rows side by side, and how they part where they share the least.

    Attributes:
        rows: Their places.
        shared: How many tokens all of them share.
        parts: Which parts they are made of: those in which neighbours share more.
    """

    rows: range
    shared: int
    parts: list[int]


def _best(lengths: list[int], alike: list[int]) -> list[tuple[range, int]]:
    """Return the groups by which the fewest tokens of sorted rows are read.

    Args:
        lengths: The length of each row.
        alike: How many tokens each row shares with the next one.
    """
    costs: dict[int, int] = {}
    groups: dict[int, list[tuple[range, int]]] = {}
    for number, (rows, shared, parts) in reversed(list(enumerate(_parts(lengths, alike)))):
        together = sum(lengths[place] for place in rows) - shared * (len(rows) - 1) + _WORTH
        costs[number] = sum(costs[part] for part in parts) if parts else lengths[rows.start]
        groups[number] = [group for part in parts for group in groups.pop(part)]
        if parts and together < costs[number]:
            costs[number], groups[number] = together, [(rows, shared)]
    return groups.get(0, [])


def _parts(lengths: list[int], alike: list[int]) -> list[_Part]:
    """Return all parts, each behind the one that it belongs to; there may be as deep a tree as there are rows."""
    waiting = [range(len(lengths))] if lengths else []
    found: list[_Part] = []
    for rows in waiting:  # it grows meanwhile
        inner = alike[rows.start : rows.stop - 1]
        shared = min(inner, default=lengths[rows.start])
        forks = [rows.start + place + 1 for place, length in enumerate(inner) if length == shared]
        parts = [range(*ends) for ends in pairwise([rows.start, *forks, rows.stop])] if inner else []
        found.append(_Part(rows, shared, list(range(len(waiting), len(waiting) + len(parts)))))
        waiting += parts
    return found


def _alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Return how many tokens two rows have in common from their beginning on."""
    most = min(len(one), len(other))
    different = one[:most] != other[:most]
    return int(different.argmax()) if different.any() else most
