"""`envtune report`: learning curves and tables from the logs of training runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, print_json, print_line, print_table, progress
from envtune_gym.commands.pages import markdown_table
from envtune_gym.errors import DataError
from envtune_gym.evaluation.run_logs import RunGroup, group_runs, read_run
from envtune_gym.evaluation.run_pictures import Picture, check_matplotlib, draw, pictures
from envtune_gym.evaluation.run_report import ReportTable, report_dict, tables

__all__ = ["EXAMPLES", "report_command"]

EXAMPLES = examples(
    "envtune report runs/small",
    "envtune report runs/tuned-seed1 runs/tuned-seed2 runs/direct-seed1 runs/direct-seed2 --out runs/compared",
    "envtune report runs/small --no-pictures --json",
)

_REPORT_FILE = "report.md"


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Directories of training runs.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where it is written; by default report/, within the run if there is but one."
        ),
    ] = None,
    no_pictures: Annotated[bool, typer.Option("--no-pictures", help="Tables only; needs no matplotlib.")] = False,
    as_json: Json = False,
) -> None:
    """Make learning curves and tables of training runs, finished or not.

    Runs whose settings differ in nothing but the seed are averaged, with the range from the least to the greatest. The
    tables are printed, and written to report.md with the pictures beside it; --json has the
    curves too. Of each run, updates.jsonl, validations.jsonl, evaluations.jsonl and settings.yaml are read.
    """
    if not no_pictures:
        check_matplotlib()
    groups = group_runs([read_run(run) for run in runs])
    directory = out or (runs[0] / "report" if len(runs) == 1 else Path("report"))
    made = tables(groups)
    _write(directory, groups, made, [] if no_pictures else pictures(groups))
    if as_json:
        print_json(report_dict(groups))
        return
    for table in made:
        print_table(table.title, [column.title for column in table.columns], table.texts())
    print_line(f"written to {directory / _REPORT_FILE}")


def _write(directory: Path, groups: Sequence[RunGroup], made: Sequence[ReportTable], drawn: Sequence[Picture]) -> None:
    """Write the pictures, and the page that shows them with the tables."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write {directory}: {error.strerror or error}") from error
    with progress("pictures", len(drawn)) as advance:
        for picture in drawn:
            draw(picture, groups, directory)
            advance()
    parts = ["# Training runs", *map(_section, made)]
    parts += [f"## {picture.title}\n\n![{picture.title}]({picture.name}.png)" for picture in drawn]
    file = directory / _REPORT_FILE
    try:
        file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {file}: {error.strerror or error}") from error


def _section(table: ReportTable) -> str:
    columns = [_escaped(column.title) for column in table.columns]
    rows = [[_escaped(cell) for cell in row] for row in table.texts()]
    return f"## {table.title}\n\n{markdown_table(columns, rows, left=table.words)}"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
