"""What a batch of rollouts took and taught, by method: from the logs of the runs, a row a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiment_results import mean

from envtune_gym.commands.pages import markdown_table
from envtune_gym.evaluation.run_figures import PHASES
from envtune_gym.evaluation.run_logs import Batch, Run, RunGroup

LAST = 10
"""Batches at the end of a run, by which what its groups still teach is told."""


def batches_table(groups: Sequence[RunGroup]) -> str:
    """Return seconds by phase, the share of environments, and how many groups have a spread, a row a run."""
    columns = ["method", "seed", *(f"{phase}, s" for phase in PHASES), "all, s", "environment, %", "spread, %"]
    rows = [[group.name, str(run.settings["seed"]), *_figures(run)] for group in groups for run in group.runs]
    return markdown_table(columns, rows)


def _figures(run: Run) -> list[str]:
    later = run.batches[1:] or run.batches  # the first makes the environments, and compiles
    seconds = {phase: _mean_of(later, f"seconds/{phase}") for phase in PHASES}
    whole = sum(seconds.values())
    spread = 1 - _mean_of(run.batches[-LAST:], "frac_reward_zero_std")
    share = f"{100 * seconds['environment'] / whole:.1f}" if whole else ""
    return [*(f"{value:.2f}" for value in seconds.values()), f"{whole:.2f}", share, f"{100 * spread:.0f}"]


def _mean_of(batches: Iterable[Batch], name: str) -> float:
    return mean(batch.figures.get(name, 0.0) for batch in batches)
