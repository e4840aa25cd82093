"""What an experiment came to: the cells that are done, and how well each method does, with intervals and differences.

The outcome of a task is the mean over the seeds of a method. Intervals (95 %) draw scenarios whole, because variants of
a scenario are alike; they say nothing of how much seeds differ, for which each seed's own figure is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiment_cells import CELL_FILE
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from envtune_gym.errors import DataError
from envtune_gym.evaluation.paired import Drawn, Interval, ScenarioDraws
from envtune_gym.evaluation.run_logs import read_evaluations
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks.scenarios import scenario_of

WARM_START = "warm start"
"""What the cells of a warm start call their method."""

Pass = tuple[str, str]
"""The name of an evaluation, and the feedback under which its tasks were played."""
Outcomes = Mapping[str, float]
"""A figure of each task, by its id."""
Measure = Callable[[EvaluatedEpisode], float]

FIGURES: dict[str, Measure] = {
    "success": lambda episode: float(episode.success),
    "progress": lambda episode: episode.progress,
}


class CellSummary(BaseModel):
    """What a cell's process wrote of it when it was done; what else is in the file is kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    method: str
    seed: int
    device: str
    seconds: float
    training_seconds: float
    rollouts: int | None = None
    tokens: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A method with a seed, done.

    Attributes:
        directory: Where it is.
        summary: What it took.
        episodes: What its model was tested on.
    """

    directory: Path
    summary: CellSummary
    episodes: Sequence[EvaluatedEpisode]

    @cached_property
    def passes(self) -> dict[Pass, list[EvaluatedEpisode]]:
        """The episodes by evaluation and feedback."""
        found: dict[Pass, list[EvaluatedEpisode]] = {}
        for episode in self.episodes:
            found.setdefault((str(episode.run.options["evaluation"]), episode.run.feedback), []).append(episode)
        return found


@dataclass(frozen=True)
class Score:
    """A figure of a method.

    Attributes:
        value: Its mean over the tasks.
        by_seed: Likewise of each seed alone.
        difference: By how much it is above that of the baseline, over the seeds that both have; None of the baseline
            itself, and where no seed is in common.
        paired_seeds: The seeds of the difference.
    """

    value: Interval
    by_seed: dict[int, float]
    difference: Interval | None
    paired_seeds: list[int]


@dataclass(frozen=True)
class MethodResult:
    """How a method did in an evaluation under one feedback.

    Attributes:
        method: The method.
        success: Share of tasks solved.
        progress: Mean progress.
        by_category: Success by category.
        by_domain: Success by domain; a task counts in each of its domains.
        broken: Episodes that broke and count as failures.
    """

    method: str
    success: Score
    progress: Score
    by_category: dict[str, Interval]
    by_domain: dict[str, Interval]
    broken: int


@dataclass(frozen=True)
class PassResult:
    """An evaluation under one feedback.

    Attributes:
        evaluation: Its name.
        feedback: The feedback.
        tasks: Number of tasks.
        scenarios: Number of their scenarios.
        categories: Number of tasks by category.
        domains: Number of tasks by domain.
        methods: How each method did, in the order given.
    """

    evaluation: str
    feedback: str
    tasks: int
    scenarios: int
    categories: dict[str, int]
    domains: dict[str, int]
    methods: list[MethodResult]


def read_cells(out: Path) -> list[Cell]:
    """Return the cells of an experiment's directory that are done, by method and seed.

    Raises:
        DataError: If a file of theirs is broken, or two are of the same method and seed.
    """
    cells: dict[tuple[str, int], Cell] = {}
    for file in sorted(out.glob(f"*/{CELL_FILE}")):
        try:
            summary = CellSummary.model_validate_json(file.read_bytes())
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise DataError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        key = (summary.method, summary.seed)
        if key in cells:
            raise DataError(f"{file.parent} and {cells[key].directory} are the same cell; remove one of them")
        cells[key] = Cell(file.parent, summary, read_evaluations(file.parent))
    return [cells[key] for key in sorted(cells)]


def missing_cells(cells: Iterable[Cell], methods: Sequence[str]) -> dict[str, list[int]]:
    """Return the seeds of each method that others have and it has not; a method without any lacks all of them."""
    done = {(cell.summary.method, cell.summary.seed) for cell in cells}
    seeds = sorted({seed for _, seed in done})
    lacking = {method: [seed for seed in seeds if (method, seed) not in done] for method in methods}
    return {method: own for method, own in lacking.items() if own}


def count_up(cells: Sequence[Cell], methods: Sequence[str], baseline: str) -> list[PassResult]:
    """Return how the methods did in each evaluation under each feedback.

    Args:
        cells: The cells that are done.
        methods: The methods, in the order of reports; those without a cell are left out.
        baseline: The method that the others are compared with.

    Raises:
        DataError: If cells were tested on different tasks.
    """
    passes = dict.fromkeys(name for cell in cells for name in cell.passes)
    return [
        _PassCount(name, [cell for cell in cells if name in cell.passes]).result(methods, baseline) for name in passes
    ]


class _PassCount:
    """Counts an evaluation under one feedback; all its figures come from the same draws of scenarios."""

    def __init__(self, name: Pass, cells: Sequence[Cell]) -> None:
        self._name = name
        self._cells = cells
        self._tasks = {episode.task_id: episode for episode in cells[0].passes[name]}
        for cell in cells:
            if {episode.task_id for episode in cell.passes[name]} != set(self._tasks):
                raise DataError(
                    f"{cell.directory} and {cells[0].directory} were tested on different tasks "
                    f"({', '.join(name)}); run one of them anew"
                )
        self._scenarios = [scenario_of(task.task_id, task.source) for task in self._tasks.values()]
        self._draws = ScenarioDraws(self._scenarios)
        self._outcomes = {
            figure: {self._key(cell): by_task(cell, self._name, measure) for cell in cells}
            for figure, measure in FIGURES.items()
        }

    def result(self, methods: Sequence[str], baseline: str) -> PassResult:
        """Return how the methods did that have been tested."""
        present = [method for method in methods if self._seeds(method)]
        return PassResult(
            evaluation=self._name[0],
            feedback=self._name[1],
            tasks=len(self._tasks),
            scenarios=len(set(self._scenarios)),
            categories=_sizes(self._members(lambda task: [task.category])),
            domains=_sizes(self._members(lambda task: task.domains)),
            methods=[self._method(method, baseline) for method in present],
        )

    def _method(self, method: str, baseline: str) -> MethodResult:
        success = self._over_seeds("success", method, self._seeds(method))

        def shares(members: Mapping[str, Sequence[bool]]) -> dict[str, Interval]:
            return {name: self._draws.mean(success, chosen).interval() for name, chosen in members.items()}

        own = [cell.passes[self._name] for cell in self._cells if cell.summary.method == method]
        return MethodResult(
            method=method,
            success=self._score("success", method, baseline),
            progress=self._score("progress", method, baseline),
            by_category=shares(self._members(lambda task: [task.category])),
            by_domain=shares(self._members(lambda task: task.domains)),
            broken=sum(bool(episode.broken) for episodes in own for episode in episodes),
        )

    def _score(self, figure: str, method: str, baseline: str) -> Score:
        seeds = self._seeds(method)
        paired = [] if method == baseline else [seed for seed in seeds if seed in self._seeds(baseline)]
        return Score(
            value=self._draws.mean(self._over_seeds(figure, method, seeds)).interval(),
            by_seed={seed: mean(self._outcomes[figure][method, seed].values()) for seed in seeds},
            difference=self._difference(figure, method, baseline, paired) if paired else None,
            paired_seeds=paired,
        )

    def _difference(self, figure: str, method: str, baseline: str, seeds: Sequence[int]) -> Interval:
        own, base = (self._draws.mean(self._over_seeds(figure, name, seeds)) for name in (method, baseline))
        return Drawn(own.value - base.value, own.draws - base.draws).interval()

    def _over_seeds(self, figure: str, method: str, seeds: Sequence[int]) -> list[float]:
        """Return the outcome of each task: the mean over some seeds."""
        by_seed = [self._outcomes[figure][method, seed] for seed in seeds]
        return [mean(outcomes[task] for outcomes in by_seed) for task in self._tasks]

    def _members(self, names_of: Callable[[EvaluatedEpisode], Iterable[str]]) -> dict[str, list[bool]]:
        """Return which tasks belong to each name that occurs."""
        named = [set(names_of(task)) for task in self._tasks.values()]
        return {name: [name in own for own in named] for name in sorted(set().union(*named))}

    def _seeds(self, method: str) -> list[int]:
        return [cell.summary.seed for cell in self._cells if cell.summary.method == method]

    @staticmethod
    def _key(cell: Cell) -> tuple[str, int]:
        return cell.summary.method, cell.summary.seed


def by_task(cell: Cell, name: Pass, measure: Measure) -> Outcomes:
    """Return what each task of a pass came to: the mean over its samples."""
    values: dict[str, list[float]] = {}
    for episode in cell.passes[name]:
        values.setdefault(episode.task_id, []).append(measure(episode))
    return {task: mean(of_samples) for task, of_samples in values.items()}


def _sizes(members: Mapping[str, Sequence[bool]]) -> dict[str, int]:
    return {name: sum(chosen) for name, chosen in members.items()}


def mean(values: Iterable[float]) -> float:
    """Return the mean of some figures."""
    listed = list(values)
    return sum(listed) / len(listed)
