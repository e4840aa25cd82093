"""The numbers as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from envtune_gym.evaluation.numbers.comparison import Comparison, Flip, PairedGroup
from envtune_gym.evaluation.numbers.failures import CLASSES, NOT_FOUND
from envtune_gym.evaluation.numbers.summary import AVERAGE, Group, RunSummary
from envtune_gym.evaluation.paired import Interval
from envtune_gym.evaluation.rollout_reading import visible

__all__ = ["comparison_tables", "summary_tables"]

_FLIPS_SHOWN = 15


def summary_tables(summary: RunSummary) -> list[RenderableType]:
    """Return tables of a run: categories, domains, turns, several attempts, failures, and what it was run under."""
    tables: list[RenderableType] = [
        _groups("By category", [*summary.categories, summary.total, _average(summary)]),
        _groups("By domain (a task counts in each of its domains)", summary.domains),
        _groups("By number of turns", summary.by_turns),
    ]
    for name, by_k in (("pass@k: one of k attempts", summary.pass_any), ("pass^k: all of k", summary.pass_all)):
        if by_k:
            rows = [(str(k), *map(_with_interval, shares.values())) for k, shares in by_k.items()]
            tables.append(_table(name, ("k", *next(iter(by_k.values()))), rows))
    if summary.failures:
        meanings: Mapping[str, str] = {
            **CLASSES,
            NOT_FOUND: "the task is not here, or the episode cannot be played again",
        }
        failures = [(name, count, meanings.get(name, "")) for name, count in summary.failures.items()]
        tables.append(_table("Failures", ("class", "episodes", "meaning"), failures))
    return [*tables, *map(_line, _notes(summary))]


def comparison_tables(comparison: Comparison) -> list[RenderableType]:
    """Return tables of two runs: categories, what flipped, and what they were run under."""
    first, second = comparison.names
    columns = ("", "episodes", "both", f"only {second}", f"only {first}", "neither", first, second, "difference", "p")
    rows = list(map(_paired_row, [*comparison.categories, comparison.total]))
    tables: list[RenderableType] = [_table("Accuracy (McNemar's exact test)", columns, rows)]
    for title, flips in ((f"Only {second} solved", comparison.gained), (f"Only {first} solved", comparison.lost)):
        if flips:
            tables.append(_flips(title, flips))
    for name, alone in zip(comparison.names, comparison.alone, strict=True):
        if alone:
            tables.append(_line(f"{alone:,} episodes of {name} are not in the other run and do not count"))
    for name, values in comparison.different_settings.items():
        tables.append(_line(f"not alike: {name} {values[0] or 'none'} in {first}, {values[1] or 'none'} in {second}"))
    progress = comparison.progress.difference
    tables.append(_line(f"progress: {_signed(progress)}"))
    return [*tables, _line(_circumstances(comparison.summaries[1].circumstances))]


def _groups(title: str, groups: Sequence[Group | tuple[Any, ...]]) -> Table:
    columns = ("", "tasks", "episodes", "turns", "calls", "accuracy", "progress")
    return _table(title, columns, [group if isinstance(group, tuple) else _row(group) for group in groups])


def _row(group: Group) -> tuple[Any, ...]:
    shares = (_with_interval(group.accuracy), _with_interval(group.progress))
    return (group.name, group.tasks, group.episodes, group.turns, group.calls, *shares)


def _average(summary: RunSummary) -> tuple[Any, ...]:
    """Return the row of the mean over the categories, which has no counts of its own."""
    shares = (_with_interval(summary.accuracy[AVERAGE]), _with_interval(summary.progress[AVERAGE]))
    return (f"{AVERAGE} of categories", "", "", "", "", *shares)


def _notes(summary: RunSummary) -> Iterable[str]:
    """Yield what the reader of the tables must know."""
    yield "in brackets: 95 % intervals, by bootstrap over scenarios"
    if summary.leaderboard is not None:
        share = f"{summary.leaderboard:.2%}"
        incomplete = "" if summary.is_complete else " (not all tasks were run: not comparable with the leaderboard)"
        yield f"multi-turn accuracy as the leaderboard computes it: {share}{incomplete}"
    broken = sum(bool(episode.broken) for episode in summary.episodes)
    if broken:
        yield f"broken episodes, counted as failures: {broken:,}"
    others = summary.without_quarantined
    if summary.quarantined:
        share = f"; without them the average is {others.accuracy[AVERAGE].value:.1%}" if others else ""
        yield f"quarantined, for they cannot fairly be solved: {', '.join(summary.quarantined)}{share}"
    else:
        yield "quarantined: none"
    yield _circumstances(summary.circumstances)


def _circumstances(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _flips(title: str, flips: Sequence[Flip]) -> Table:
    rows = [(flip.task_id, str(flip.sample), flip.error_type or "") for flip in flips[:_FLIPS_SHOWN]]
    if len(flips) > _FLIPS_SHOWN:
        rows.append((f"{len(flips) - _FLIPS_SHOWN:,} more; --json lists all", "", ""))
    return _table(title, ("task", "sample", "the other failed by"), rows)


def _paired_row(group: PairedGroup) -> tuple[Any, ...]:
    counts = (group.pairs, group.both, group.gained, group.lost, group.neither)
    shares = tuple(f"{share:.1%}" for share in group.accuracy)
    return (group.name, *counts, *shares, _signed(group.difference), f"{group.p_value:.3g}")


def _with_interval(interval: Interval) -> str:
    return f"{interval.value:.1%} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _signed(interval: Interval) -> str:
    return f"{100 * interval.value:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table; names from files are shown without what acts on a terminal."""
    table = Table(title=_text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int) or str(row[index] or 0)[:1].isdigit() for row in rows)
        table.add_column(_text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row))
    return table


def _line(text: str) -> Text:
    return _text(text)


def _text(text: str) -> Text:
    return Text(visible(text))
