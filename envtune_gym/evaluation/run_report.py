"""What training runs came to, in tables: by stage, category, domain and phase, and what their models were tested on.

Each figure is a mean: over batches of rollouts, as the log has them, or over the episodes of an evaluation. Of several
runs that differ in their seed, it is the mean of theirs, with the least and the greatest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envtune_gym.evaluation.run_evaluations import tested
from envtune_gym.evaluation.run_figures import (
    ACCURACY,
    FIGURES,
    PHASES,
    Curve,
    Figure,
    Spread,
    Unit,
    accuracy_curve,
    curve,
    kind_figures,
    kinds,
    spread_of,
    stage_changes,
)
from envtune_gym.evaluation.run_logs import Batch, Run, RunGroup

__all__ = ["Column", "ReportTable", "report_dict", "tables"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, and how its cells are written."""

    title: str
    unit: Unit = "text"


Cell = str | int | Spread | None


@dataclass(frozen=True)
class ReportTable:
    """A table of the report.

    Attributes:
        title: Its headline.
        columns: Its columns.
        rows: Its cells; None is empty.
        words: How many of the first columns hold words.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    words: int

    def texts(self) -> list[list[str]]:
        """Return the cells as text."""
        return [[_text(cell, column.unit) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        names = [column.title for column in self.columns]
        rows = [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows}


_BY_STAGE = ("reward", "success", "progress", "format", "hint_rate", "errors")
_TRAINING = (
    "no_spread",
    "clip_fraction",
    "grad_norm",
    "entropy",
    "cut_by_tokens",
    "cut_by_steps",
    "cut_by_env",
    "broken",
)
_COSTS = (
    "generated_tokens",
    "prompt_tokens",
    "environment_tokens",
    "generation_seconds",
    "environment_seconds",
    "loss_seconds",
)
_RATIOS = ("environment_share", "generation_speed")
_ENDED = ("success", "progress")
"""What tables also show of the end, to be held against the mean."""


def tables(groups: Sequence[RunGroup]) -> list[ReportTable]:
    """Return the tables of a report; those that would have no rows are left out."""
    made = [
        _runs_table(groups),
        _differences_table(groups),
        _outcome_table(groups),
        _training_table(groups),
        _kinds_table(groups, "category", "By category"),
        _kinds_table(groups, "domain", "By domain, where a task counts in each of its domains"),
        _validation_table(groups),
        _evaluations_table(groups),
        _costs_table(groups),
    ]
    return [table for table in made if table.rows]


def report_dict(groups: Sequence[RunGroup]) -> dict[str, Any]:
    """Return all of a report as plain data: the groups with their curves, and the tables."""
    return {
        "groups": [
            {
                "name": group.name,
                "runs": [
                    {
                        "path": str(run.path),
                        "seed": run.settings.get("seed"),
                        "processes": list(run.processes),
                        "updates": run.updates,
                        "batches": len(run.batches),
                        "stages": [{"name": name, "first_batch": number} for number, name in stage_changes(run)],
                    }
                    for run in group.runs
                ],
                "curves": {
                    **{name: _plain_curve(curve(group, figure)) for name, figure in FIGURES.items()},
                    "validation_accuracy": _plain_curve(accuracy_curve(group)),
                },
            }
            for group in groups
        ],
        "tables": [table.to_dict() for table in tables(groups)],
    }


def _runs_table(groups: Sequence[RunGroup]) -> ReportTable:
    columns = (
        Column("runs"),
        Column("directory"),
        Column("stage"),
        Column("seed", "count"),
        Column("batches"),
        Column("rollouts", "count"),
        Column("updates", "count"),
        Column("skipped", "count"),
    )
    rows = [(group.name, *_run_row(run)) for group in groups for run in group.runs]
    return ReportTable("Runs", columns, rows, 3)


def _run_row(run: Run) -> tuple[Cell, ...]:
    wanted, seed = run.settings.get("batches"), run.settings.get("seed")
    batches = f"{len(run.batches)} of {wanted}" if wanted else str(len(run.batches))
    shown_seed = "" if seed is None else str(seed)
    return str(run.path), run.batches[-1].stage, shown_seed, batches, run.rollouts, run.updates, run.skipped


def _differences_table(groups: Sequence[RunGroup]) -> ReportTable:
    """Return the settings in which the groups differ, processes too; where settings were not kept, nothing is said."""
    settings = [_flat(group.runs[0].settings, ("seed", "out")) for group in groups]
    names = sorted({name for one in settings for name in one}) if all(settings) else []
    if names:
        names.append("processes")
        for one, group in zip(settings, groups, strict=True):
            one["processes"] = list(group.runs[0].processes)
    rows = [
        (name, *(_setting(one.get(name)) for one in settings))
        for name in names
        if any(one.get(name) != settings[0].get(name) for one in settings)
    ]
    return ReportTable("Settings that differ", [Column("setting"), *(Column(g.name) for g in groups)], rows, 9)


def _outcome_table(groups: Sequence[RunGroup]) -> ReportTable:
    columns = [Column("runs"), Column("stage"), Column("from batch", "count"), Column("batches", "count")]
    rows = [
        (
            group.name,
            stage,
            _spread(parts, lambda part: part[0].number),
            _spread(parts, len),
            *_cells(parts, _BY_STAGE),
        )
        for group, stage, parts in _stage_parts(groups)
    ]
    title = "Outcome by stage: means over its batches ('end': their last tenth)"
    return ReportTable(title, [*columns, *_columns(_BY_STAGE)], rows, 2)


def _training_table(groups: Sequence[RunGroup]) -> ReportTable:
    rows = [(group.name, stage, *_cells(parts, _TRAINING, ())) for group, stage, parts in _stage_parts(groups)]
    return ReportTable("Training by stage", [Column("runs"), Column("stage"), *_columns(_TRAINING, ())], rows, 2)


def _kinds_table(groups: Sequence[RunGroup], kind: str, title: str) -> ReportTable:
    rows = []
    for group in groups:
        for name in kinds([group], kind):
            figures = kind_figures(kind, name)
            having = [[batch for batch in run.batches if figures["reward"].of(batch) is not None] for run in group.runs]
            parts = [part for part in having if part]
            rows.append((group.name, name, _spread(parts, len), *_cells(parts, figures, figures=figures)))
    columns = [Column("runs"), Column(kind), Column("batches", "count"), *_columns(kind_figures(kind, ""))]
    return ReportTable(f"{title}: means over the batches that have it", columns, rows, 2)


def _validation_table(groups: Sequence[RunGroup]) -> ReportTable:
    rows = [
        (
            group.name,
            stage,
            _spread(parts, len),
            _spread(parts, lambda part: ACCURACY.of(part[0])),
            _spread(parts, lambda part: max((x for x in map(ACCURACY.of, part) if x is not None), default=None)),
            _spread(parts, lambda part: ACCURACY.of(part[-1])),
        )
        for group, stage, parts in _stage_parts(groups, lambda run: run.validations)
    ]
    columns = (
        Column("runs"),
        Column("stage"),
        Column("validations", "count"),
        Column("first", "share"),
        Column("best", "share"),
        Column("last", "share"),
    )
    return ReportTable("Validation accuracy (hints off)", columns, rows, 2)


def _evaluations_table(groups: Sequence[RunGroup]) -> ReportTable:
    rows = [
        (group.name, one.evaluation, one.feedback, one.tasks, one.episodes, one.success, one.progress)
        for group in groups
        for one in tested(group)
    ]
    columns = (
        Column("runs"),
        Column("evaluation"),
        Column("feedback"),
        Column("tasks"),
        Column("episodes", "count"),
        Column("success", "share"),
        Column("progress", "share"),
    )
    return ReportTable("Evaluation after training, where a task counts in each of its domains", columns, rows, 4)


def _costs_table(groups: Sequence[RunGroup]) -> ReportTable:
    rows = []
    for group in groups:
        wholes = [[_whole(run)] for run in group.runs]
        of_a_batch = _cells([run.batches for run in group.runs], _COSTS, ())
        rows.append((group.name, _spread(wholes, _minutes), *of_a_batch, *_cells(wholes, _RATIOS, ())))
    columns = [Column("runs"), Column("minutes in all", "number"), *_columns(_COSTS, ()), *_columns(_RATIOS, ())]
    title = "Costs of a batch: tokens and seconds by phase, without validations and checkpoints"
    return ReportTable(title, columns, rows, 1)


def _whole(run: Run) -> Batch:
    """Return a run as one batch: its tokens and seconds, added up."""
    names = [*(f"seconds/{phase}" for phase in PHASES), "tokens/generated"]
    return Batch(0, "", {name: sum(batch.figures.get(name, 0.0) for batch in run.batches) for name in names})


def _minutes(wholes: Sequence[Batch]) -> float:
    return sum(whole.figures[f"seconds/{phase}"] for whole in wholes for phase in PHASES) / 60


def _stage_parts(
    groups: Sequence[RunGroup], entries: Callable[[Run], Sequence[Batch]] = lambda run: run.batches
) -> list[tuple[RunGroup, str, list[list[Batch]]]]:
    """Return, for each stage of each group, the stage's batches in each run that has reached it."""
    found = []
    for group in groups:
        stages = dict.fromkeys(batch.stage for run in group.runs for batch in entries(run))
        for stage in stages:
            parts = [[batch for batch in entries(run) if batch.stage == stage] for run in group.runs]
            found.append((group, stage, [part for part in parts if part]))
    return found


def _columns(names: Iterable[str], ended: Sequence[str] = _ENDED) -> list[Column]:
    columns = []
    for name in names:
        columns.append(Column(FIGURES[name].title, FIGURES[name].unit))
        if name in ended:
            columns.append(Column(f"{name}, end", FIGURES[name].unit))
    return columns


def _cells(
    parts: Sequence[Sequence[Batch]],
    names: Iterable[str],
    ended: Sequence[str] = _ENDED,
    figures: Mapping[str, Figure] = FIGURES,
) -> list[Cell]:
    """Return the means of some figures over parts of runs, one part a run, as `_columns` has them."""
    cells: list[Cell] = []
    for name in names:
        of = figures[name].of
        cells.append(_spread(parts, lambda part, of=of: _mean(map(of, part))))  # type: ignore[misc]
        if name in ended:
            cells.append(_spread(parts, lambda part, of=of: _mean(map(of, _end(part)))))  # type: ignore[misc]
    return cells


def _end(part: Sequence[Batch]) -> Sequence[Batch]:
    return part[-math.ceil(len(part) / 10) :]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _spread(parts: Sequence[Sequence[Batch]], of: Callable[[Sequence[Batch]], float | None]) -> Spread | None:
    return spread_of([value for value in map(of, parts) if value is not None])


def _plain_curve(one: Curve) -> dict[str, list[float] | list[int]]:
    return {
        "batch": list(one.batches),
        "mean": [value.mean for value in one.values],
        "low": [value.low for value in one.values],
        "high": [value.high for value in one.values],
    }


def _flat(value: Any, without: Sequence[str] = (), name: str = "") -> dict[str, Any]:
    """Return nested settings as one mapping of dotted names."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    flat: dict[str, Any] = {}
    for key, one in items:
        if str(key) in without and not name:
            continue
        nested = isinstance(one, Mapping) or (isinstance(one, list) and any(isinstance(x, Mapping) for x in one))
        dotted = f"{name}.{key}" if name else str(key)
        flat |= _flat(one, (), dotted) if nested else {dotted: one}
    return flat


def _setting(value: Any) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(cell: Cell) -> Any:
    return {"mean": cell.mean, "low": cell.low, "high": cell.high} if isinstance(cell, Spread) else cell


def _text(cell: Cell, unit: Unit) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, int):
        return f"{cell:,}"
    mean = _number(cell.mean, unit)
    low, high = (_number(value, unit).removesuffix("%") for value in (cell.low, cell.high))
    return mean if low == high else f"{mean} ({low}..{high})"


def _number(value: float, unit: Unit) -> str:
    if unit == "share":
        return f"{value:.1%}"
    if unit == "count":
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"
