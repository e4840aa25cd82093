"""`envtune replay`: known actions through the real environments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.calls import ActionFormat, Decoder
from envtune_gym.commands.files import refuse_to_overwrite
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_renderables, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.env import Offer
from envtune_gym.errors import DataError
from envtune_gym.evaluation import Oracle, RecordedActions, ReplayReport, replay
from envtune_gym.evaluation.runs.records import EvaluatedEpisode

__all__ = ["EXAMPLES", "replay_command"]

EXAMPLES = examples(
    "envtune replay --tasks bfcl --categories base,miss_func --out runs/replay.jsonl",
    "envtune replay --tasks bfcl --actions runs/replay.jsonl",
)

_FAILURES_SHOWN = 10


@takes_selection
def replay_command(
    selection: Selection,
    actions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Recorded actions (.jsonl) to play instead of the ground truth."),
    ] = None,
    action_format: Annotated[ActionFormat, typer.Option(help="Format of the assistant messages.")] = "tool_call",
    decoder: Annotated[
        Decoder, typer.Option(help="How calls are decoded in the formats python and openai.")
    ] = "correct",
    offer: Annotated[
        Offer | None, typer.Option(help="What becomes of withheld and excluded tools; by default as the source says.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A new file: one JSON line an episode; --actions plays it again."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play ground truth or recorded actions, and print success and progress by domain and category.

    A line of --actions is {"task_id": ..., "messages": [...]}, with all assistant messages in order, or {"task_id":
    ..., "steps": [[["ls()", "cd(folder='x')"]], ...]}, with the calls of each step of each turn. Of the selected tasks
    those are played that the file has. Exits with 1 if a task fails.
    """
    refuse_to_overwrite(out)
    if actions is None:
        player: Oracle | RecordedActions = Oracle(action_format)
        tasks = selection.load()
    else:
        player = RecordedActions(actions, action_format)
        tasks = selection.load_recorded(player.task_ids)
    with _writing(out) as write, progress("replay", len(tasks)) as advance:

        def note(episode: EvaluatedEpisode) -> None:
            write(episode)
            advance()

        report = replay(tasks, player, action_format=action_format, decoder=decoder, offer=offer, on_episode=note)
    if as_json:
        print_json(report.to_dict())
    else:
        _print_report(report)
    if report.failed:
        raise typer.Exit(1)


@contextlib.contextmanager
def _writing(path: Path | None) -> Iterator[Callable[[EvaluatedEpisode], None]]:
    """Yield the function that writes an episode to a file, or nowhere; what is written survives an interruption."""
    if path is None:
        yield lambda episode: None
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error

    def write(episode: EvaluatedEpisode) -> None:
        file.write(episode.model_dump_json() + "\n")
        file.flush()

    with file:
        yield write


def _print_report(report: ReplayReport) -> None:
    print_renderables(report.summary.tables())
    for episode in report.failed[:_FAILURES_SHOWN]:
        print_line(f"failed: {episode.task_id} ({episode.error_type})")
    if len(report.failed) > _FAILURES_SHOWN:
        print_line(f"failed: {len(report.failed) - _FAILURES_SHOWN:,} more; --json lists all")
