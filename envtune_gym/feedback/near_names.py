"""Names that are like a given one: by the pairs of letters they share, which is quick, and then by edits."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

__all__ = ["NameIndex", "name_index"]

_LONGEST = 100
_NEAR = 0.5
_SLIP = 0.3
_MAX_EDITS = 3
_SWAPPED = 2  # two letters that changed places are one slip, but one is taken out and put in again


class NameIndex:
    """Some names, ready to be compared with.

    Args:
        names: The names.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._plain = {name: _plain(name) for name in names}
        self._pairs = {name: _pairs(plain) for name, plain in self._plain.items()}

    def near(self, name: str, count: int = 3) -> list[str]:
        """Return the names that are most like one, by the Dice coefficient of their pairs of letters."""
        ranked = self._ranked(name, _NEAR)
        return [other for _, other in ranked[:count]]

    def slip(self, name: str) -> str | None:
        """Return the name that another is a slip of, or None: a few letters off, not counting case and underscores."""
        plain = _plain(name)
        best: tuple[int, str] | None = None
        for _, other in self._ranked(name, _SLIP)[:3]:
            edits = _edits(plain, self._plain[other])
            limit = min(_MAX_EDITS, len(plain) // 3)
            if sorted(plain) == sorted(self._plain[other]) and len(plain) > _MAX_EDITS:
                limit = max(limit, _SWAPPED)
            if edits <= limit and (best is None or edits < best[0]):
                best = edits, other
        return None if best is None else best[1]

    def _ranked(self, name: str, least: float) -> list[tuple[float, str]]:
        pairs = _pairs(_plain(name))
        size = len(pairs)
        scores = [(2 * len(pairs & own) / (size + len(own)), other) for other, own in self._pairs.items()]
        ranked = [scored for scored in scores if scored[0] >= least]
        ranked.sort(key=lambda scored: -scored[0])
        return ranked


@lru_cache(maxsize=512)
def name_index(names: tuple[str, ...]) -> NameIndex:
    """Return the index of some names, which is kept."""
    return NameIndex(names)


def _plain(name: str) -> str:
    return name[:_LONGEST].lower().replace("_", "")


def _pairs(plain: str) -> frozenset[str]:
    """Return the pairs of neighbouring letters; the ends count as letters, so that short names have some too."""
    marked = f"^{plain}$"
    return frozenset(marked[at : at + 2] for at in range(len(marked) - 1))


def _edits(one: str, other: str) -> int:
    """Return how many letters must be put in or taken out."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return len(one) + len(other) - 2 * sum(block.size for block in blocks)
