"""A random generator that draws the same on every machine and every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Rng"]

T = TypeVar("T")


class Rng:
    """Choices drawn from a text seed.

    Python promises that `random.Random.random` gives the same numbers in every version; of its other methods it
    does not, so everything here is made of that one.

    Args:
        seed: Any text.
    """

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed).random

    def below(self, bound: int) -> int:
        """Return a whole number from 0 to `bound - 1`."""
        return int(self._draw() * bound)

    def between(self, low: int, high: int, step: int = 1) -> int:
        """Return one of `low`, `low + step`, ... up to and including `high`."""
        return low + step * self.below((high - low) // step + 1)

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self._draw() < probability

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Return one of some options, each as often as its weight says."""
        left = self._draw() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            left -= weight
            if left < 0:
                return option
        return options[-1]

    def pick(self, options: Sequence[T]) -> T:
        """Return one of some options."""
        return options[self.below(len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Return different options, in random order."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def digits(self, count: int) -> str:
        """Return a text of digits that does not begin with 0."""
        return str(self.between(10 ** (count - 1), 10**count - 1))

    def price(self, low: int, high: int) -> float:
        """Return an amount of money with cents that are never zero, from `low` to `high + 1`."""
        return self.between(low, high) + self.between(1, 99) / 100
