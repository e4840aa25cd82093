"""What runs of `ppo.py` come to: the steps to the target, and a picture of the curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TARGET = 0.9
"""Share of the oracle's progress that counts as learnt."""


def steps_to_target(run: dict[str, Any]) -> int | None:
    """Return the steps after which the agent first had the target share of the oracle's progress."""
    return next((steps for steps, share in run["curve"] if share >= TARGET * run["oracle"]), None)


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return for each variant the steps to the target by seed, their median, and the best and last progress."""
    rows = {}
    for variant in dict.fromkeys(run["variant"] for run in runs):
        own = [run for run in runs if run["variant"] == variant]
        reached = [steps_to_target(run) for run in own]
        rows[variant] = {
            "steps_to_target": reached,
            # A run that never got there counts as longer than all others.
            "median": median(float("inf") if steps is None else steps for steps in reached),
            "last": [run["curve"][-1][1] for run in own],
            "seconds": [run["seconds"] for run in own],
        }
        if rows[variant]["median"] == float("inf"):
            rows[variant]["median"] = None
    return rows


def draw(runs: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw the curve of each run, the variants in their colours, and the target."""
    import matplotlib as mpl

    mpl.use("Agg")  # no screen is needed
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for number, variant in enumerate(dict.fromkeys(run["variant"] for run in runs)):
        own = [run["curve"] for run in runs if run["variant"] == variant]
        for curve in own:
            axes.plot(*zip(*curve, strict=True), color=f"C{number}", alpha=0.3, linewidth=1)
        grid = [steps for steps, _ in own[0]]
        mean = np.mean([np.interp(grid, *zip(*curve, strict=True)) for curve in own], axis=0)
        axes.plot(grid, mean, color=f"C{number}", label=f"{variant} (mean of {len(own)})")
    axes.axhline(TARGET * runs[0]["oracle"], color="grey", linestyle=":", label=f"{TARGET:.0%} of the oracle")
    axes.set(xlabel="environment steps", ylabel="progress on held-out tasks", ylim=(0, 1.02))
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)
