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
    groups = _best([len(row) for row in tokens], alike, 0, len(order))[1]
    found = [Group([order[place] for place in places], length) for places, length in groups]
    return sorted(found, key=lambda group: group.saved, reverse=True)


def _best(lengths: list[int], alike: list[int], begin: int, end: int) -> tuple[int, list[tuple[range, int]]]:
    """Return the fewest tokens that some sorted rows are read with, and the groups that they form.

    Args:
        lengths: The length of each row.
        alike: How many tokens each row shares with the next one.
        begin: The first of the rows.
        end: Behind their last one.
    """
    if end - begin < 2:
        return sum(lengths[begin:end]), []
    inner = alike[begin : end - 1]
    shared = min(inner)
    together = sum(lengths[begin:end]) - shared * (end - begin - 1) + _WORTH
    forks = [begin, *(begin + place + 1 for place, length in enumerate(inner) if length == shared), end]
    parts = [_best(lengths, alike, *part) for part in pairwise(forks)]
    apart = sum(cost for cost, _ in parts)
    if together < apart:
        return together, [(range(begin, end), shared)]
    return apart, [group for _, groups in parts for group in groups]


def _alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Return how many tokens two rows have in common from their beginning on."""
    most = min(len(one), len(other))
    different = one[:most] != other[:most]
    return int(different.argmax()) if different.any() else most
