"""`envtune bench`: how fast, in micro- and milliseconds, and in ratios to what one would use otherwise."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, print_json, print_table, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.commands.speed import Figure, measure_calls, measure_feedback, measure_import, measure_resets
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import Task

__all__ = ["EXAMPLES", "bench_command"]

EXAMPLES = examples("envtune bench --tasks bfcl --limit 100 --seed 0", "envtune bench --tasks bfcl --against-official")

_OFFICIAL_SCRIPT = Path(__file__).parents[2] / "benchmarks" / "official_speed.py"


@takes_selection
def bench_command(
    selection: Selection,
    against_official: Annotated[
        bool, typer.Option("--against-official", help="Compare with the official package too; needs pip install -e .")
    ] = False,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Passes of each measurement.")] = 7,
    as_json: Json = False,
) -> None:
    """Measure the speed of worlds and environments on the ground truths of some tasks.

    A time is a median with its quartiles. With --against-official the official backends and checker (pip install
    --no-deps bfcl-eval, mpmath) run in turn with ours in this process, on the same official tasks; a ratio is a
    median with its range.
    """
    official = _official_measurement() if against_official else None
    tasks = list(selection.load())
    figures: list[Figure] = []
    with progress("bench", 3 * repeats + 1 + (4 * (repeats + 1) if official else 0)) as advance:
        if official is not None:
            figures += official(tasks, repeats, advance)
        figures += measure_feedback(tasks, repeats, advance)
        figures.append(measure_resets(tasks, repeats, advance))
        figures += measure_calls(tasks, repeats, advance)
        figures.append(measure_import(repeats, advance))
    if as_json:
        print_json({"tasks": len(tasks), "repeats": repeats, "figures": [figure.to_dict() for figure in figures]})
        return
    columns = ("", "median", "spread", "compared with", "bar")
    shown = len(columns) if any(figure.bar is not None for figure in figures) else -1
    rows = [_row(figure)[:shown] for figure in figures]
    print_table(f"Speed on {len(tasks):,} tasks, {repeats} passes", columns[:shown], rows)


def _official_measurement() -> Callable[[Sequence[Task], int, Callable[[], object]], list[Figure]]:
    """Return the measurement against the official package, which is no part of this one.

    Raises:
        ConfigurationError: If this package does not run from a checkout.
    """
    if not _OFFICIAL_SCRIPT.is_file():
        raise ConfigurationError(
            "--against-official needs benchmarks/, which is not part of the installed package; "
            "run, in a checkout: pip install -e ."
        )
    measure: Callable[[Sequence[Task], int, Callable[[], object]], list[Figure]]
    measure = runpy.run_path(str(_OFFICIAL_SCRIPT))["measure"]
    return measure


def _row(figure: Figure) -> tuple[str, ...]:
    bar = "" if figure.bar is None else f"{figure.bar:g} ({'met' if figure.value >= figure.bar else 'missed'})"
    scale, unit = (1000, "ms") if figure.unit == "µs" and figure.value >= 1000 else (1, figure.unit)
    value, low, high = (number / scale for number in (figure.value, figure.low, figure.high))
    return figure.name, f"{value:.1f} {unit}", f"{low:.1f}-{high:.1f}", figure.compared_with, bar
