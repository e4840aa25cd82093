"""Runs in the terminal: the same as on the page, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from envtune_gym.evaluation.playback import PlayedStep, PlayedTurn, ShownResult
from envtune_gym.evaluation.rollout_reading import visible
from envtune_gym.evaluation.state_difference import StateDifference
from envtune_gym.viewer.building import ViewedRun, notes_on, paired_rows
from envtune_gym.viewer.details import MAX_DIFFERENCES, ViewedEpisode, as_json, detail, line
from envtune_gym.viewer.figures import PairedFigures
from envtune_gym.viewer.strings import MAX_TEXT

__all__ = ["as_data", "print_runs"]

_PIPED_WIDTH = 120
_COLUMNS = ("", "task", "category", "turns", "progress", "reward", "failure")
_CHANGES: dict[tuple[bool | None, ...], str] = {(True, False): "solved by A only", (False, True): "solved by B only"}


def print_runs(runs: Sequence[ViewedRun], *, in_full: bool) -> None:
    """Print the figures of runs and their episodes.

    Args:
        runs: One run, or two that are compared.
        in_full: Whether each episode is printed with its conversation.
    """
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    for part in _parts(runs, in_full):
        console.print(part)


def as_data(runs: Sequence[ViewedRun]) -> list[dict[str, Any]]:
    """Return the episodes of runs as plain data, each with the name of its run."""
    return [
        {"run": run.opened.name, **line(episode), **detail(episode, _whole)} for run in runs for episode in run.episodes
    ]


def _whole(text: str) -> str:
    return text


def _parts(runs: Sequence[ViewedRun], in_full: bool) -> Iterator[RenderableType]:
    for note in notes_on(runs):
        yield _note(note)
    if len(runs) > 1:
        for letter, run in zip("AB", runs, strict=True):
            yield _text(f"{letter}: {run.opened.name}", "bold")
        yield from PairedFigures(runs[0].episodes, runs[1].episodes).tables()
        yield _paired_table(runs)
    else:
        yield _text(runs[0].opened.name, "bold")
        yield from runs[0].figures.tables()
        yield _table(runs[0].episodes)
    if in_full:
        for row in paired_rows(*(run.episodes for run in runs)):
            for run, place in zip(runs, row, strict=True):
                if place is not None:
                    yield from _episode(run, run.episodes[place], is_one_of_two=len(runs) > 1)


def _table(episodes: Sequence[ViewedEpisode]) -> Table:
    table = _list(f"{len(episodes):,} episodes", _COLUMNS)
    for one in episodes:
        episode = one.opened.episode
        name = f"{episode.task_id} #{episode.sample}" if episode.sample else episode.task_id
        table.add_row(
            _mark(episode.success),
            _text(name),
            _text(one.category),
            f"{line(one).get('passed', 0)}/{episode.num_turns}",
            f"{episode.progress:.2f}",
            f"{episode.reward:g}",
            _text(one.failure or ("" if episode.success else episode.error_type or "")),
        )
    return table


def _paired_table(runs: Sequence[ViewedRun]) -> Table:
    ones, others = (run.episodes for run in runs)
    table = _list("Side by side", ("A", "B", "task", "category", "change"))
    for place, other in paired_rows(ones, others):
        pair = (None if place is None else ones[place], None if other is None else others[other])
        first = next(one for one in pair if one is not None)
        verdicts = tuple(None if one is None else one.opened.episode.success for one in pair)
        change = _CHANGES.get(verdicts, "")
        marks = (Text("-") if verdict is None else _mark(verdict) for verdict in verdicts)
        table.add_row(*marks, _text(first.opened.episode.task_id), _text(first.category), change)
    return table


def _list(title: str, columns: Sequence[str]) -> Table:
    return Table(*columns, title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)


def _episode(run: ViewedRun, viewed: ViewedEpisode, *, is_one_of_two: bool) -> Iterator[RenderableType]:
    episode = viewed.opened.episode
    where = f" in {run.opened.name}" if is_one_of_two else ""
    verdict = "solved" if episode.success else "failed"
    facts = (
        viewed.failure,
        f"progress {episode.progress:.2f}",
        f"reward {episode.reward:g}",
        *(f"{name} {value}" for name, value in viewed.opened.extras.items()),
        f"cut off by {episode.truncated_by}" if episode.truncated_by else "",
        f"broken: {episode.broken}" if episode.broken else "",
    )
    yield Rule(_text(f"{episode.task_id}{where}"), align="left")
    yield Text.assemble(_mark(episode.success), f" {verdict}  ", _text(_in_a_line(", ".join(filter(None, facts)))))
    yield from map(_note, viewed.notes)
    if viewed.playback is None:
        yield from (_said("assistant", message) for message in episode.messages)
        return
    for number, turn in enumerate(viewed.playback.turns, start=1):
        yield from _turn(number, turn)
    yield from (_said("assistant, after the end", message) for message in viewed.playback.unsent)


def _turn(number: int, turn: PlayedTurn) -> Iterator[RenderableType]:
    yield Text(f"\nTurn {number}", "bold")
    if turn.note:
        yield _said("hint (augmented)", turn.note, "yellow")
    yield _said("user", turn.request, "cyan")
    for step in turn.steps:
        yield from _step(step)
    if turn.result is None:
        yield Text("  turn not finished", "dim")
    else:
        result = turn.result
        words = (
            "passed" if result.passed else "not passed",
            "state as in the ground truth" if result.state_ok else "state differs from the ground truth",
            "results obtained" if result.response_ok else "results missing",
            result.error_type or "",
        )
        yield Text.assemble("  ", _mark(result.passed), " ", ", ".join(filter(None, words)))
    yield from map(_difference, turn.differences[:MAX_DIFFERENCES])
    if len(turn.differences) > MAX_DIFFERENCES:
        yield Text(f"  {len(turn.differences) - MAX_DIFFERENCES:,} more differences", "dim")
    if turn.result is not None and not turn.result.passed:
        yield _said("ground truth", "\n".join(turn.expected) or "no call in this turn", "dim")


def _step(step: PlayedStep) -> Iterator[RenderableType]:
    if step.calls:
        yield _said("assistant", "\n".join(step.calls), "bold")
    else:
        yield _said("assistant", step.message if step.answer is None else step.answer)
    yield from map(_result, step.results)


def _result(result: ShownResult) -> RenderableType:
    name = f"result {result.tool}" if result.tool else "could not be read"
    said = _said(name, result.official, "red" if result.error else "", indent=4)
    return Group(said, _said("hint (augmented)", result.hint, "yellow", indent=4)) if result.is_augmented else said


def _difference(difference: StateDifference) -> RenderableType:
    values = []
    if difference.kind != "extra":
        values.append(_said("ground truth", as_json(difference.expected), indent=4))
    if difference.kind != "missing":
        values.append(_said("this run", as_json(difference.actual), indent=4))
    return Group(Text.assemble("  ", (difference.kind, "magenta"), " ", _text(_cut(difference.where))), *values)


def _said(speaker: str, text: str, style: str = "", indent: int = 2) -> RenderableType:
    """Return what was said, deeper than who said it, so that no text can pass for another speaker's."""
    head = Padding(Text(" ".join(visible(speaker).split()), "dim"), (0, 0, 0, indent))
    return Group(head, Padding(_text(_cut(text), style), (0, 0, 0, indent + 2)))


def _mark(success: bool) -> Text:
    return Text("✓", "green") if success else Text("✗", "red")


def _note(text: str) -> Text:
    return Text.assemble(("note: ", "yellow"), _text(_in_a_line(text)))


def _in_a_line(text: str) -> str:
    """Return a text without its line breaks, after which it could pass for what somebody said."""
    return " ".join(_cut(text).split())


def _text(text: str, style: str = "") -> Text:
    """Return a text in which nothing acts on a terminal."""
    return Text(visible(text), style)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n… {len(text) - MAX_TEXT:,} more characters"
