"""What feedback at test adds to each method of an experiment: the same tasks and models, with it and without.

A model that has learnt to do without hints gains nothing by them; the paper's fourth stage is there for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiment_results import FIGURES, Cell, Measure, Pass, by_task, mean

from envtune_gym.evaluation.paired import Interval, ScenarioDraws
from envtune_gym.tasks.scenarios import scenario_of

WITHOUT = "off"


@dataclass(frozen=True)
class FeedbackGain:
    """By how much a method is better with a feedback at test than without any.

    Attributes:
        evaluation: Name of the evaluation.
        feedback: The feedback.
        method: The method.
        success: Difference of success; like the next the mean over seeds.
        progress: Difference of progress.
        by_seed: Difference of success of each seed.
    """

    evaluation: str
    feedback: str
    method: str
    success: Interval
    progress: Interval
    by_seed: dict[int, float]


def feedback_gains(cells: Sequence[Cell], methods: Sequence[str]) -> list[FeedbackGain]:
    """Return what each feedback adds in each evaluation, for the methods that were tested without any as well.

    Args:
        cells: The cells that are done.
        methods: The methods, in the order of reports.
    """
    passes = dict.fromkeys(name for cell in cells for name in cell.passes if name[1] != WITHOUT)
    return [
        _gain(name, method, tested)
        for name in passes
        for method in methods
        if (tested := [cell for cell in cells if cell.summary.method == method and _has_both(cell, name)])
    ]


def _has_both(cell: Cell, name: Pass) -> bool:
    return name in cell.passes and (name[0], WITHOUT) in cell.passes


def _gain(name: Pass, method: str, cells: Sequence[Cell]) -> FeedbackGain:
    tasks = {episode.task_id: episode for episode in cells[0].passes[name]}
    draws = ScenarioDraws([scenario_of(task.task_id, task.source) for task in tasks.values()])
    by_seed = {
        figure: {cell.summary.seed: _difference(cell, name, measure, list(tasks)) for cell in cells}
        for figure, measure in FIGURES.items()
    }

    def over_seeds(figure: str) -> Interval:
        return draws.mean([mean(of_task) for of_task in zip(*by_seed[figure].values(), strict=True)]).interval()

    return FeedbackGain(
        evaluation=name[0],
        feedback=name[1],
        method=method,
        success=over_seeds("success"),
        progress=over_seeds("progress"),
        by_seed={seed: mean(differences) for seed, differences in by_seed["success"].items()},
    )


def _difference(cell: Cell, name: Pass, measure: Measure, tasks: Sequence[str]) -> list[float]:
    """Return by how much each task came to more with the feedback."""
    hinted, plain = (by_task(cell, one, measure) for one in (name, (name[0], WITHOUT)))
    return [hinted[task] - plain[task] for task in tasks]
