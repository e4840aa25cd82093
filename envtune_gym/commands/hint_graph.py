"""`envtune hints graph`: show, draw or mine what successful runs have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.calls import ActionFormat
from envtune_gym.commands.output import Json, examples, percent, print_json, print_line, print_table, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.domains import domain_class
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.recorded import read_episodes
from envtune_gym.feedback.automatic import Conversation, ToolGraph, default_graph, mine
from envtune_gym.feedback.automatic.drawing import draw, edges
from envtune_gym.feedback.automatic.trajectories import from_replays, from_rollouts, from_tasks, holds_chats
from envtune_gym.tasks import Task

__all__ = ["EXAMPLES", "graph_command"]

EXAMPLES = examples(
    "envtune hints graph --domains VehicleControlAPI --out graph.svg",
    "envtune hints graph --from tasks --tasks bfcl --split train --out graph.json",
    "envtune hints graph --from runs/grpo/rollouts.jsonl --tasks bfcl --out graph.md",
)


@takes_selection
def graph_command(
    selection: Selection,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="tasks|FILE",
            help="Mine the ground truths of the selected tasks, or successful runs in a .jsonl file: of replay --out, "
            "of training, or whole chats. Without it, the graph of this package is shown; --domains takes a part.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw into .svg, .png, .dot or .md (Mermaid); .json keeps the counts."),
    ] = None,
    action_format: Annotated[ActionFormat, typer.Option(help="Format of the recorded messages.")] = "tool_call",
    least: Annotated[float, typer.Option(min=0, max=1, help="The least share that is shown.")] = 0.2,
    as_json: Json = False,
) -> None:
    """Show which tools come before which in successful runs, and whose results become whose arguments.

    Automatic hints draw on this graph. It holds names and counts, no values.
    """
    graph = _packaged(selection) if source is None else mine(_conversations(source, selection, action_format))
    if not graph.turns:
        raise ConfigurationError("no successful call to learn from; loosen the selection")
    if out is not None and out.suffix == ".json":
        out.expanduser().write_text(json.dumps(graph.to_dict(), indent=1) + "\n", encoding="utf-8")
    elif out is not None:
        draw(graph, out, least)
    if as_json:
        print_json(graph.to_dict())
    elif out is not None:
        print_line(f"{len(graph.turns):,} tools written to {out}")
    else:
        rows = [(edge.source, edge.target, edge.label, percent(edge.share)) for edge in edges(graph, least)]
        print_table(f"What comes before what ({len(graph.turns):,} tools)", ("tool", "then", "gives", "share"), rows)


def _packaged(selection: Selection) -> ToolGraph:
    if selection != Selection(domains=selection.domains):
        raise ConfigurationError("the graph of this package is not made of selected tasks; add: --from tasks")
    if not selection.domains:
        return default_graph()
    domains = [name.strip() for value in selection.domains for name in value.split(",") if name.strip()]
    return default_graph().restricted(tool for domain in domains for tool in domain_class(domain).tools)


def _conversations(source: str, selection: Selection, action_format: ActionFormat) -> Iterator[Conversation]:
    if source == "tasks":
        tasks = selection.load()
        with progress("tasks", len(tasks)) as advance:
            for conversation in from_tasks(tasks):
                yield conversation
                advance()
        return
    path = Path(source)
    if holds_chats(path):
        yield from from_rollouts(path)
    else:
        yield from from_replays(_replays(path, selection, action_format), action_format)


def _replays(path: Path, selection: Selection, action_format: ActionFormat) -> Iterable[tuple[Task, list[str]]]:
    recorded = read_episodes(path)
    tasks = selection.load_recorded(dict.fromkeys(episode.task_id for _, episode in recorded))
    known = set(tasks.ids)
    for where, episode in recorded:
        if episode.task_id in known:
            task = tasks.get(episode.task_id)
            yield task, episode.play(task, action_format, where)
