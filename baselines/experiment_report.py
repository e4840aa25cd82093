"""The report of an experiment: tables, curves, the numbers as JSON, and the logs that they rest on.

It is made of the cells that are done, so it can be made while others run; what is missing is named.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from experiment_batches import LAST, batches_table
from experiment_hints import FeedbackGain, feedback_gains
from experiment_plan import Experiment
from experiment_results import WARM_START, Cell, MethodResult, PassResult, Score, count_up, missing_cells, read_cells

from envtune_gym.commands.pages import markdown_table
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.paired import Interval
from envtune_gym.evaluation.run_figures import ACCURACY, FIGURES
from envtune_gym.evaluation.run_logs import RunGroup, read_run
from envtune_gym.evaluation.run_pictures import Picture, draw

CURVES = "curves"
LOGS = ("updates.jsonl", "validations.jsonl")
LOG_BYTES = 1_000_000
"""The most that the copies of all logs take."""


def write_report(experiment: Experiment, out: Path, to: Path, against: str = "") -> str:
    """Write what an experiment came to: `results.json`, `table.md`, `curves.png` and `logs/`.

    Args:
        experiment: The experiment.
        out: The directory of its cells.
        to: Where to write.
        against: The method that others are compared with; by default the experiment's baseline.

    Returns:
        The tables, as `table.md` has them.

    Raises:
        ConfigurationError: If no cell is done.
        DataError: If a file of a cell is broken, or something cannot be written.
    """
    methods = [WARM_START, *experiment.methods]
    cells = [cell for cell in read_cells(out) if cell.summary.method in methods]
    if not cells:
        raise ConfigurationError(f"no cell in {out} is done; run the experiment without --report first")
    baseline = against or _baseline(experiment, cells)
    missing, passes = missing_cells(cells, methods), count_up(cells, methods, baseline)
    gains = feedback_gains(cells, methods)
    groups = _run_groups(cells, methods)
    try:
        to.mkdir(parents=True, exist_ok=True)
        every = _copy_logs(cells, to / "logs")
        tables = _tables(baseline, cells, missing, passes, gains, groups, _notes(groups, every))
        results = _results(experiment, cells, missing, passes, gains)
        (to / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (to / "table.md").write_text(tables, encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {to}: {error.strerror or error}") from error
    if _can_draw(groups):
        draw(Picture(CURVES, _curves_title(groups), [ACCURACY, FIGURES["progress"], FIGURES["no_spread"]]), groups, to)
    return tables


def _baseline(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return what methods are compared with: as long as no cell of the baseline is done, the warm start."""
    done = {cell.summary.method for cell in cells}
    return WARM_START if WARM_START in done and experiment.baseline not in done else experiment.baseline


def _results(
    experiment: Experiment,
    cells: Sequence[Cell],
    missing: Mapping[str, list[int]],
    passes: Sequence[PassResult],
    gains: Sequence[FeedbackGain],
) -> dict[str, object]:
    return {
        "experiment": experiment.model_dump(mode="json"),
        "devices": _devices(cells),
        "not_run": missing,
        "cells": [cell.summary.model_dump() for cell in cells],
        "results": [asdict(one) for one in passes],
        "feedback_at_test": [asdict(gain) for gain in gains],
    }


def _run_groups(cells: Sequence[Cell], methods: Sequence[str]) -> list[RunGroup]:
    """Return the runs of each method that leaves logs, which supervised training does not."""
    logged = [cell for cell in cells if (cell.directory / LOGS[0]).is_file()]
    runs = {
        method: [read_run(cell.directory) for cell in logged if cell.summary.method == method] for method in methods
    }
    return [RunGroup(method, own) for method, own in runs.items() if own]


def _copy_logs(cells: Sequence[Cell], to: Path) -> int:
    """Copy the logs, packed, and return N if only every N-th line was kept, so that they do not take too much."""
    to.mkdir(parents=True, exist_ok=True)
    texts = {
        f"{cell.directory.name}-{name}.gz": (cell.directory / name).read_bytes().splitlines(keepends=True)
        for cell in cells
        for name in LOGS
        if (cell.directory / name).is_file()
    }
    every = 1
    while True:
        # without a time in it, the same log gives the same file
        packed = {name: gzip.compress(b"".join(lines[::every]), mtime=0) for name, lines in texts.items()}
        if sum(map(len, packed.values())) <= LOG_BYTES or all(len(lines) <= every for lines in texts.values()):
            break
        every *= 2
    for name, content in packed.items():
        (to / name).write_bytes(content)
    return every


def _notes(groups: Sequence[RunGroup], every: int) -> list[str]:
    """Return what the reader must know of the pictures and logs."""
    notes = []
    if _can_draw(groups):
        notes.append(f"Curves over batches of rollouts, with bands from the least to the greatest seed: {CURVES}.png.")
    elif groups:
        notes.append("The curves need matplotlib: pip install 'envtune-gym[viz]'.")
    if every > 1:
        notes.append(f"To save room, logs/ has only every {every}th line of the logs.")
    return notes


def _can_draw(groups: Sequence[RunGroup]) -> bool:
    return bool(groups) and find_spec("matplotlib") is not None


def _curves_title(groups: Sequence[RunGroup]) -> str:
    seeds = _seeds(sorted({int(run.settings["seed"]) for group in groups for run in group.runs}))
    return f"Training by batch of rollouts, {seeds}; dotted: a stage begins"


def _tables(
    baseline: str,
    cells: Sequence[Cell],
    missing: Mapping[str, list[int]],
    passes: Sequence[PassResult],
    gains: Sequence[FeedbackGain],
    groups: Sequence[RunGroup],
    notes: Sequence[str],
) -> str:
    """Return all tables as Markdown, under what they were measured with."""
    sizes = {one.evaluation: f"{one.evaluation}: {one.tasks} tasks of {one.scenarios} scenarios" for one in passes}
    broken = sum(result.broken for one in passes for result in one.methods)
    seeds = _seeds(sorted({cell.summary.seed for cell in cells}))
    lines = [
        f"{seeds.capitalize()}; {'; '.join(_devices(cells))}. Tested on {', '.join(sizes.values())}.",
        "Per cent, with 95 % intervals by bootstrap over scenarios, the outcome of a task being its mean over seeds; "
        f"differences from {baseline} in points, over the seeds that both have. The intervals hold for these "
        "seeds; how much seeds differ, the columns by seed say.",
        *([f"Episodes that broke, counted as failures: {broken}."] if broken else []),
        *([f"Not run, or not to the end: {_named(missing)}."] if missing else []),
        *notes,
        "",
        "## Success, and what the training took",
        "",
        _score_table(passes, baseline, lambda result: result.success, _costs(cells)),
        "",
        "Costs are means over seeds. Seconds are those of updates and their rollouts; cells may have shared a GPU.",
        "",
        "## Progress",
        "",
        _score_table(passes, baseline, lambda result: result.progress, {}),
    ]
    if gains:
        lines += [
            "",
            "## What feedback at test adds, in points over the same tasks without it",
            "",
            _gains_table(gains),
        ]
    if groups:
        lines += ["", "## A batch of rollouts", "", batches_table(groups), ""]
        lines += [f"Means over all batches but the first; spread: of the last {LAST}, groups whose rewards differ."]
    for evaluation in sizes:
        own = [one for one in passes if one.evaluation == evaluation]
        lines += ["", f"## {evaluation}: success by category and by domain", "", _kinds_table(own), ""]
        lines += ["In brackets: tasks; a task counts in each of its domains. Intervals are in results.json."]
    return "\n".join(lines) + "\n"


def _score_table(
    passes: Sequence[PassResult],
    baseline: str,
    score_of: Callable[[MethodResult], Score],
    costs: Mapping[str, Mapping[str, str]],
) -> str:
    """Return a table with a row a method: a figure in each pass, and what the method took."""
    columns = ["method"]
    for one in passes:
        name = f"{one.evaluation}, feedback {one.feedback}"
        columns += [name, f"against {baseline}", "by seed"]
    columns += dict.fromkeys(title for own in costs.values() for title in own)
    rows = []
    for method in dict.fromkeys(result.method for one in passes for result in one.methods):
        row = [method]
        for one in passes:
            found = [score_of(result) for result in one.methods if result.method == method]
            row += _score_cells(found[0]) if found else [""] * 3
        rows.append([*row, *costs.get(method, {}).values()])
    return markdown_table(columns, rows)


def _score_cells(score: Score) -> list[str]:
    difference = "" if score.difference is None else _shown(score.difference, "+")
    if score.difference is not None and len(score.paired_seeds) < len(score.by_seed):
        difference += f" ({_seeds(score.paired_seeds)})"
    by_seed = " ".join(f"{seed}: {100 * value:.1f}" for seed, value in score.by_seed.items())
    return [_shown(score.value), difference, by_seed]


def _gains_table(gains: Sequence[FeedbackGain]) -> str:
    rows = [
        [
            gain.method,
            f"{gain.evaluation}, {gain.feedback}",
            _shown(gain.success, "+"),
            " ".join(f"{seed}: {100 * value:+.1f}" for seed, value in gain.by_seed.items()),
            _shown(gain.progress, "+"),
        ]
        for gain in gains
    ]
    return markdown_table(["method", "feedback", "success", "by seed", "progress"], rows, left=2)


def _kinds_table(passes: Sequence[PassResult]) -> str:
    """Return a table with a row for each method and feedback of an evaluation: success by category and domain."""
    sizes = {**passes[0].categories, **passes[0].domains}
    rows = [
        [result.method, one.feedback, *(f"{100 * share.value:.1f}" for share in _kinds(result).values())]
        for one in passes
        for result in one.methods
    ]
    return markdown_table(["method", "feedback", *(f"{name} ({size})" for name, size in sizes.items())], rows, left=2)


def _kinds(result: MethodResult) -> dict[str, Interval]:
    return {**result.by_category, **result.by_domain}


def _costs(cells: Iterable[Cell]) -> dict[str, dict[str, str]]:
    """Return what each method took, as means over its seeds; only reinforcement plays rollouts."""
    by_method: dict[str, list[Cell]] = {}
    for cell in cells:
        by_method.setdefault(cell.summary.method, []).append(cell)
    return {
        method: {
            "training seconds": _mean_of(cell.summary.training_seconds for cell in own),
            "tokens generated": _mean_of(cell.summary.tokens.get("generated") for cell in own),
            "rollouts": _mean_of(cell.summary.rollouts for cell in own),
        }
        for method, own in by_method.items()
    }


def _mean_of(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):,.0f}" if known else ""


def _named(missing: Mapping[str, list[int]]) -> str:
    return "; ".join(f"{method} ({_seeds(seeds)})" for method, seeds in missing.items())


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _devices(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.summary.device for cell in cells))


def _shown(interval: Interval, sign: str = "") -> str:
    value, low, high = (f"{100 * end:{sign}.1f}" for end in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]"
