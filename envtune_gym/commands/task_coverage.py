"""`envtune tasks coverage`: what the stream of generated tasks covers, and what making it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from envtune_gym.commands.output import Json, examples, percent, print_json, print_line, print_table, progress
from envtune_gym.commands.pages import Page, check_page, markdown_table, write_page
from envtune_gym.commands.selection import names
from envtune_gym.tasks import SPLITS
from envtune_gym.tasks.generated import source
from envtune_gym.tasks.generation.coverage import Coverage, measure_coverage

__all__ = ["EXAMPLES", "coverage_command"]

EXAMPLES = examples(
    "envtune tasks coverage --limit 2000",
    "envtune tasks coverage --domains TravelAPI,TicketAPI --difficulty 3 --difficulty turns=4,domains=2",
)


def coverage_command(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Tasks to make.")] = 1000,
    categories: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Comma-separated or repeated; the four plain ones.")
    ] = None,
    domains: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Tasks that begin with any of these; all.")
    ] = None,
    split: Annotated[str, typer.Option(metavar="|".join((*SPLITS, "all")), help="Part of the tasks.")] = "all",
    difficulty: Annotated[
        list[str] | None, typer.Option(metavar="LEVEL", help="A level, or turns=4,domains=2; may be repeated; all.")
    ] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Count the tools and goals of generated tasks and what was discarded on the way, and time their making.

    Times are those of one core, drafts that came to nothing included. A task is proven when it is made; the time of one
    such proof stands beside it. Drafts whose scenario belongs to another split are no loss, and are counted apart.
    """
    if page is not None:
        check_page(page, "coverage")
    stream = source(names(categories), split, names(domains), difficulty or None)
    with progress("coverage", limit) as advance:
        coverage = measure_coverage(stream, range(limit), on_task=advance)
    if page is not None:
        write_page(page, "coverage", _markdown(coverage))
    if as_json:
        print_json(coverage.to_dict())
        return
    _print(coverage)


def _print(coverage: Coverage) -> None:
    for title, columns, rows in _tables(coverage):
        print_table(title, columns, rows)
    for line in _lines(coverage):
        print_line(line)


def _markdown(coverage: Coverage) -> str:
    """Return what is printed as Markdown; the goals alone are left out, for there are many."""
    shown = [table for table in _tables(coverage) if not table[0].startswith("Goals")]
    tables = [
        f"{title}:\n\n{markdown_table(columns, rows, left=2 if columns[1] == 'tool' else 1)}"
        for title, columns, rows in shown
    ]
    return "\n\n".join([".\n".join(_lines(coverage)) + ".", *tables])


def _tables(coverage: Coverage) -> list[tuple[str, Sequence[str], Sequence[Sequence[Any]]]]:
    """Return titles, columns and rows."""
    made = sum(coverage.calls.values())
    tools = [(*tool, count, percent(count / made)) for tool, count in sorted(coverage.calls.items(), key=_by_domain)]
    goals = [(goal, count, percent(count / coverage.tasks)) for goal, count in coverage.goals.most_common()]
    drafts = [(reason, count, percent(count / coverage.drafts)) for reason, count in coverage.discarded.most_common()]
    times = [
        (
            category,
            cost.tasks,
            f"{cost.rate:,.0f}",
            f"{1000 * cost.making / cost.tasks:.2f} ms",
            f"{1000 * cost.proving / cost.tasks:.2f} ms",
        )
        for category, cost in coverage.costs.items()
    ]
    return [
        (f"Calls by tool ({made:,})", ("domain", "tool", "calls", "share"), tools),
        (f"Goals ({len(goals):,})", ("goal", "times", "for each task"), goals),
        (f"Discarded of {coverage.drafts:,} drafts", ("reason", "drafts", "share"), drafts),
        ("Time on one core", ("category", "tasks", "tasks a second", "making one", "one proof"), times),
    ]


def _lines(coverage: Coverage) -> list[str]:
    return [
        f"{coverage.tasks:,} tasks, {len(coverage.goals):,} different goals, "
        f"{len(coverage.sequences):,} different sequences of tools",
        f"{coverage.other_split:,} drafts fell into another split",
        f"tools that never occur: {', '.join(f'{d}.{t}' for d, t in coverage.unused_tools) or 'none'}",
        f"goals that never occur: {', '.join(coverage.unused_goals) or 'none'}",
    ]


def _by_domain(row: tuple[tuple[str, str], int]) -> tuple[str, int]:
    (domain, _), count = row
    return domain, -count
