"""`envtune hints coverage`: what hints say of a large corpus of failing calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, percent, print_json, print_line, print_table, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.coverage import CauseCount, Coverage, measure_coverage
from envtune_gym.tasks import Task, load_tasks

__all__ = ["EXAMPLES", "coverage_command"]

EXAMPLES = examples(
    "envtune hints coverage --domains TravelAPI --limit 50",
    "envtune hints coverage --tasks bfcl --generated 600 --page docs/feedback.md",
)

_COLUMNS = ("domain", "cause", "failing calls", "rule of its own", "generic", "leaks")
_BEGIN, _END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
_MOST_GENERIC = 0.02


@takes_selection
def coverage_command(
    selection: Selection,
    generated: Annotated[
        int, typer.Option(min=0, metavar="N", help="Generated tasks to take beside the selected ones.")
    ] = 0,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table into a page too, between its two marks.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Play failing calls over some tasks, and count what the hints explain, by domain and cause.

    The corpus is made of the ground truths: calls altered in name, arguments, types and values, out of order, repeated
    and nested, random calls, and messages that cannot be read, in all three action formats. Exits with 1 if a failure
    has no rule of its own and is not among the 2 % that may be generic, if a hint gives part of a solution away, if
    level off changes a byte, or if a score depends on the level.
    """
    if page is not None:
        _split(page)
    chosen: list[Task] = [*selection.load(), *load_tasks("generated")[:generated]]
    tasks = list({task.id: task for task in chosen}.values())
    with progress("coverage", len(tasks)) as advance:
        coverage = measure_coverage(tasks, selection.seed or 0, on_episode=advance)
    if page is not None:
        before, after = _split(page)
        page.write_text(f"{before}{_BEGIN}\n{_markdown(coverage)}\n{_END}{after}", encoding="utf-8")
    if as_json:
        print_json(coverage.to_dict())
    else:
        rows = [*coverage.causes, *coverage.domains, coverage.total]
        print_table("Failing calls by domain and cause", _COLUMNS, [*map(_row, rows)])
        print_line(_summary(coverage))
        for text in (*coverage.leaked[:5], *coverage.missed[:5]):
            print_line(f"to look at: {text}")
    if not _is_met(coverage):
        raise typer.Exit(1)


def _is_met(coverage: Coverage) -> bool:
    total = coverage.total
    differences = coverage.off_differences + coverage.score_differences
    return not (total.unexplained or total.leaks or differences) and total.generic <= _MOST_GENERIC * total.failures


def _row(count: CauseCount) -> tuple[str, str, int, str, str, int]:
    own, generic = count.own / count.failures, count.generic / count.failures
    return count.domain, count.cause, count.failures, percent(own), percent(generic), count.leaks


def _summary(coverage: Coverage) -> str:
    total = coverage.total
    return (
        f"{total.failures:,} failing calls in {coverage.episodes:,} episodes ({coverage.steps:,} steps): "
        f"{total.own:,} explained by a rule of their own, {total.generic:,} by the generic one "
        f"({percent(total.generic / total.failures)}), {total.unexplained:,} not at all; {total.leaks} leaks at "
        f"actionable; level off differs in {coverage.off_differences} steps, scores depend on the level in "
        f"{coverage.score_differences} episodes"
    )


def _markdown(coverage: Coverage) -> str:
    """Return the summary, a table by domain, and one by cause, as Markdown."""
    by_domain = [*coverage.domains, coverage.total]
    heads = ("domain", *_COLUMNS[2:])
    domains = _table(heads, [(row[0], *row[2:]) for row in map(_row, by_domain)])
    return f"{_summary(coverage)}.\n\n{domains}\n\n{_table(_COLUMNS, [*map(_row, coverage.causes)])}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str | int]]) -> str:
    rule = ["---" if column in ("domain", "cause") else "---:" for column in columns]
    lines = (columns, rule, *rows)
    return "\n".join(f"| {' | '.join(f'{c:,}' if isinstance(c, int) else c for c in line)} |" for line in lines)


def _split(page: Path) -> tuple[str, str]:
    """Return what stands before and after the table of a page.

    Raises:
        DataError: If the page cannot be read.
        ConfigurationError: If it has no marks.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot read {page}: {error.strerror or error}") from error
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ConfigurationError(f"{page} has no place for the table; mark it by the lines {_BEGIN} and {_END}")
    return before, after
