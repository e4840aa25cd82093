"""Shares of success under several conditions, over the same cases, and how they differ from one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Interval", "PairedShare", "paired_shares"]

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
    names, groups = np.unique(np.asarray(scenarios), return_inverse=True)
    drawn = np.random.default_rng(seed).integers(len(names), size=(_RESAMPLES, len(names)))
    sizes = np.bincount(groups)
    draws: dict[str, _Floats] = {}
    shares: dict[str, float] = {}
    for condition, values in outcomes.items():
        sums = np.bincount(groups, weights=np.asarray(values, dtype=float))
        draws[condition] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        shares[condition] = float(sums.sum() / sizes.sum())
    return {
        condition: PairedShare(
            _interval(share, draws[condition]),
            _interval(share - shares[baseline], draws[condition] - draws[baseline]),
        )
        for condition, share in shares.items()
    }


def _interval(value: float, draws: _Floats) -> Interval:
    low, high = np.quantile(draws, (0.025, 0.975))
    return Interval(value, float(low), float(high))
