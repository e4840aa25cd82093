"""Figures of training runs, and their curves over batches of rollouts; of several runs the mean, least and greatest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from envtune_gym.evaluation.run_logs import Batch, Run, RunGroup

__all__ = [
    "ACCURACY",
    "FIGURES",
    "PHASES",
    "Curve",
    "Figure",
    "Spread",
    "Unit",
    "accuracy_curve",
    "curve",
    "kind_figures",
    "kinds",
    "spread_of",
    "stage_changes",
]

Unit = Literal["text", "share", "number", "count"]

PHASES = ("generation", "environment", "loss")
"""What the time of a batch goes into."""


@dataclass(frozen=True)
class Figure:
    """A figure of a batch of rollouts.

    Attributes:
        title: What columns and pictures call it.
        unit: How it is written.
        of: Takes it from a batch; None where the batch does not have it.
    """

    title: str
    unit: Unit
    of: Callable[[Batch], float | None]


@dataclass(frozen=True)
class Spread:
    """A figure over runs: the mean of theirs, the least and the greatest."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """A figure of a group of runs over batches; where a run has ended, the others go on."""

    batches: Sequence[int]
    values: Sequence[Spread]


def logged(title: str, unit: Unit, name: str) -> Figure:
    """Return a figure that stands in the log."""
    return Figure(title, unit, lambda batch: batch.figures.get(name))


def _environment_share(batch: Batch) -> float | None:
    seconds = [batch.figures.get(f"seconds/{phase}", 0.0) for phase in PHASES]
    return seconds[1] / sum(seconds) if sum(seconds) > 0 else None


def _generation_speed(batch: Batch) -> float | None:
    seconds = batch.figures.get("seconds/generation")
    return batch.figures.get("tokens/generated", 0.0) / seconds if seconds else None


FIGURES: dict[str, Figure] = {
    "reward": logged("reward", "number", "reward"),
    "success": logged("success", "share", "component/verdict"),
    "progress": logged("progress", "share", "component/progress"),
    "format": logged("format", "share", "component/format"),
    "hint_rate": logged("hint rate", "share", "rollout/hint_rate"),
    "errors": logged("errors a rollout", "number", "rollout/errors"),
    "no_spread": logged("groups without spread", "share", "frac_reward_zero_std"),
    "clip_fraction": logged("clip fraction", "share", "clip_ratio/region_mean"),
    "grad_norm": logged("gradient norm", "number", "grad_norm"),
    "entropy": logged("entropy", "number", "entropy"),
    "cut_by_tokens": logged("cut by tokens", "share", "rollout/truncated_by_tokens"),
    "cut_by_steps": logged("cut by steps", "share", "rollout/truncated_by_steps"),
    "cut_by_env": logged("cut by environment", "share", "rollout/truncated_by_env"),
    "broken": logged("broken", "share", "rollout/broken"),
    "generated_tokens": logged("tokens generated", "count", "tokens/generated"),
    "prompt_tokens": logged("of prompts", "count", "tokens/prompt"),
    "environment_tokens": logged("of the environment", "count", "tokens/environment"),
    "generation_seconds": logged("s generation", "number", "seconds/generation"),
    "environment_seconds": logged("s environment", "number", "seconds/environment"),
    "loss_seconds": logged("s loss", "number", "seconds/loss"),
    "environment_share": Figure("environment's share", "share", _environment_share),
    "generation_speed": Figure("tokens/s generated", "count", _generation_speed),
}
"""The figures that have curves, by the names under which `--json` gives them."""

ACCURACY = logged("validation accuracy", "share", "accuracy")
"""What a validation, not a batch, has."""


def kind_figures(kind: str, name: str) -> dict[str, Figure]:
    """Return the figures that are known of one category or domain.

    Args:
        kind: `category` or `domain`.
        name: Which.
    """
    parts = {"reward": "reward", "success": "verdict", "progress": "progress", "format": "format"}
    return {title: logged(title, FIGURES[title].unit, f"{kind}/{name}/{part}") for title, part in parts.items()}


def curve(group: RunGroup, figure: Figure) -> Curve:
    """Return a figure over the batches of a group's runs."""
    return _curve((run.batches for run in group.runs), figure.of)


def accuracy_curve(group: RunGroup) -> Curve:
    """Return validation accuracy over the batches that validations came after."""
    return _curve((run.validations for run in group.runs), ACCURACY.of)


def kinds(groups: Sequence[RunGroup], kind: str) -> list[str]:
    """Return the names that figures are told apart by: `category` or `domain`."""
    prefix = f"{kind}/"
    found = {
        name.removeprefix(prefix).rpartition("/")[0]
        for group in groups
        for run in group.runs
        for batch in run.batches
        for name in batch.figures
        if name.startswith(prefix)
    }
    return sorted(found)


def stage_changes(run: Run) -> list[tuple[int, str]]:
    """Return the stages of a run with the batches that they begin with."""
    changes: list[tuple[int, str]] = []
    for batch in run.batches:
        if not changes or changes[-1][1] != batch.stage:
            changes.append((batch.number, batch.stage))
    return changes


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return the spread of a figure, given once for each run that has it."""
    return Spread(sum(values) / len(values), min(values), max(values)) if values else None


def _curve(runs: Iterable[Sequence[Batch]], of: Callable[[Batch], float | None]) -> Curve:
    points: dict[int, list[float]] = {}
    for batches in runs:
        for batch in batches:
            value = of(batch)
            if value is not None:
                points.setdefault(batch.number, []).append(value)
    numbers = sorted(points)
    return Curve(numbers, [spread for number in numbers if (spread := spread_of(points[number])) is not None])
