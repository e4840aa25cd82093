"""Shares of success under several conditions, over the same cases, and how they differ from one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Drawn", "Interval", "PairedShare", "ScenarioDraws", "average", "paired_shares"]

_RESAMPLES = 2000

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval (percentile bootstrap over scenarios).

    Attributes:
        value: The figure.
        low: Lower end.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Drawn:
    """A figure, and what it comes to in each draw of the bootstrap.

    Attributes:
        value: The figure.
        draws: One figure a draw; not a number where the draw has no case that it rests on.
    """

    value: float
    draws: _Floats

    def interval(self) -> Interval:
        """Return the figure with its interval."""
        low, high = np.nanquantile(self.draws, (0.025, 0.975))
        return Interval(self.value, float(low), float(high))


class ScenarioDraws:
    """Draws of whole scenarios, the same for every figure, so that differences of figures are paired.

    Args:
        scenarios: The scenario of each case; there must be one.
        seed: Seed of the draws.
    """

    def __init__(self, scenarios: Sequence[str], seed: int = 0) -> None:
        names, self._groups = np.unique(np.asarray(scenarios), return_inverse=True)
        self._drawn = np.random.default_rng(seed).integers(len(names), size=(_RESAMPLES, len(names)))
        self._number = len(names)

    def mean(self, values: Sequence[float], chosen: Sequence[bool] | None = None) -> Drawn:
        """Return the mean of a figure over the cases.

        Args:
            values: The figure of each case.
            chosen: Which cases count, at least one of them; all by default.
        """
        counted = np.ones(len(self._groups)) if chosen is None else np.asarray(chosen, dtype=float)
        sums = np.bincount(self._groups, weights=counted * np.asarray(values, dtype=float), minlength=self._number)
        sizes = np.bincount(self._groups, weights=counted, minlength=self._number)
        with np.errstate(invalid="ignore"):
            draws = sums[self._drawn].sum(axis=1) / sizes[self._drawn].sum(axis=1)
        return Drawn(float(sums.sum() / sizes.sum()), draws)


def average(figures: Sequence[Drawn]) -> Drawn:
    """Return the unweighted mean of some figures of the same draws; where a draw lacks one, the mean of the others."""
    draws = np.array([figure.draws for figure in figures])
    present = ~np.isnan(draws)
    with np.errstate(invalid="ignore"):
        means = np.where(present, draws, 0.0).sum(axis=0) / present.sum(axis=0)
    return Drawn(sum(figure.value for figure in figures) / len(figures), means)


@dataclass(frozen=True, slots=True)
class PairedShare:
    """What one condition came to.

    Attributes:
        share: Mean success over the cases.
        difference: By how much it is above that of the baseline, drawn with the same scenarios; of the baseline
            itself 0.
    """

    share: Interval
    difference: Interval


def paired_shares(
    scenarios: Sequence[str], outcomes: Mapping[str, Sequence[float]], baseline: str, seed: int = 0
) -> dict[str, PairedShare]:
    """Return mean successes with intervals, and their differences from the baseline's.

    Scenarios are drawn whole, because cases of one scenario are alike.

    Args:
        scenarios: The scenario of each case; there must be one.
        outcomes: For each condition the success of each case, between 0 and 1 (the mean over its samples, say).
        baseline: The condition to compare with.
        seed: Seed of the bootstrap.
    """
    draws = ScenarioDraws(scenarios, seed)
    shares = {condition: draws.mean(values) for condition, values in outcomes.items()}
    base = shares[baseline]
    return {
        condition: PairedShare(share.interval(), Drawn(share.value - base.value, share.draws - base.draws).interval())
        for condition, share in shares.items()
    }
