"""`envtune hints coverage`: what hints say of a large corpus of failing calls."""

from __future__ import annotations

from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, percent, print_json, print_line, print_table, progress
from envtune_gym.commands.pages import Page, check_page, markdown_table, write_page
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.evaluation.coverage import CauseCount, Coverage, measure_coverage
from envtune_gym.tasks import Task, load_tasks

__all__ = ["EXAMPLES", "coverage_command"]

EXAMPLES = examples(
    "envtune hints coverage --domains TravelAPI --limit 50",
    "envtune hints coverage --tasks bfcl --generated 600 --page docs/feedback.md",
)

_COLUMNS = ("domain", "cause", "failing calls", "rule of its own", "generic", "leaks")
_MOST_GENERIC = 0.02


@takes_selection
def coverage_command(
    selection: Selection,
    generated: Annotated[
        int, typer.Option(min=0, metavar="N", help="Generated tasks to take beside the selected ones.")
    ] = 0,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Play failing calls over some tasks, and count what the hints explain, by domain and cause.

    The corpus is made of the ground truths: calls altered in name, arguments, types and values, out of order, repeated
    and nested, random calls, and messages that cannot be read, in all three action formats. Exits with 1 if a failure
    has no rule of its own and is not among the 2 % that may be generic, if a hint gives part of a solution away, if
    level off changes a byte, or if a score depends on the level.
    """
    if page is not None:
        check_page(page, "coverage")
    chosen: list[Task] = [*selection.load(), *load_tasks("generated")[:generated]]
    tasks = list({task.id: task for task in chosen}.values())
    with progress("coverage", len(tasks)) as advance:
        coverage = measure_coverage(tasks, selection.seed or 0, on_episode=advance)
    if page is not None:
        write_page(page, "coverage", _markdown(coverage))
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
    domains = markdown_table(heads, [(row[0], *row[2:]) for row in map(_row, by_domain)])
    causes = markdown_table(_COLUMNS, [*map(_row, coverage.causes)], left=2)
    return f"{_summary(coverage)}.\n\n{domains}\n\n{causes}"
