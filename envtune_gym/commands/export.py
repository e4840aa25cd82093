"""`envtune tasks export`: write tasks, or conversations that solve them, to files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from envtune_gym.calls import ActionFormat, DocStyle
from envtune_gym.commands.output import examples, print_line, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.chat_data import ChatExport, Shape, Thoughts, save_chat_data
from envtune_gym.tasks import Task, TaskSet, save_jsonl
from envtune_gym.tasks.export import save_bfcl

__all__ = ["EXAMPLES", "export_command"]

EXAMPLES = examples(
    "envtune tasks export travel.jsonl --domains TravelAPI --limit 500",
    "envtune tasks export BFCL_v4_multi_turn_base.json --tasks bfcl --categories base --format bfcl",
    "envtune tasks export chat.jsonl --split train --format sft --action-format openai",
    "envtune tasks export rows.jsonl --split train --format trl --tool-docs compact --thoughts plan",
)


@takes_selection
def export_command(
    selection: Selection,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write.")],
    to: Annotated[
        Literal["envtune", "bfcl", "sft", "trl"],
        typer.Option("--format", help="Tasks, the benchmark's files, or conversations that solve the tasks."),
    ] = "envtune",
    action_format: Annotated[
        ActionFormat | None, typer.Option(help="sft, trl: how the assistant writes calls (tool_call).")
    ] = None,
    tool_docs: Annotated[
        DocStyle | None, typer.Option(help="sft, trl: how the system prompt documents tools (full).")
    ] = None,
    thoughts: Annotated[
        Thoughts | None,
        typer.Option(help="sft, trl: what the assistant thinks aloud: nothing, or which tools it uses next (none)."),
    ] = None,
) -> None:
    """Write tasks, or the oracle's conversations in them, to a file, one JSON object a line.

    envtune: this package's tasks, which --tasks FILE reads.

    bfcl: the benchmark's data: entries in FILE, ground truths in possible_answer/ beside it.

    sft: whole conversations as messages, as a model meets them in the environment. In the action format openai also
    tools (at the start) and later_tools (those on offer from a message on, where tools come back on the way).

    trl: prompt and completion for TRL's SFTTrainer. Use SFTConfig(assistant_only_loss=True), as the completion holds
    tool results too, and a chat template that marks what the assistant says (generation), which TRL has for the common
    models. Where tools change in openai, a new row begins. The rows of the other two formats also serve GRPOTrainer
    with a rollout_func of envtune_gym.integrations.trl, in an environment of the same tasks: a prompt ends with the
    task's id, and the rollout plays that task anew.
    """
    chat = {"action_format": action_format, "tool_docs": tool_docs, "thoughts": thoughts}
    given = {name: value for name, value in chat.items() if value is not None}
    if given and to not in ("sft", "trl"):
        raise ConfigurationError(f"--{next(iter(given)).replace('_', '-')} applies to --format sft and trl only")
    tasks = selection.load()
    with progress("export", len(tasks)) as advance:
        if to == "sft" or to == "trl":
            shape: Shape = to
            done = save_chat_data(tasks, out, shape, on_task=advance, **given)  # type: ignore[arg-type]
            message = _described(done, len(tasks), out)
        else:
            message = f"{_save_tasks(tasks, out, to == 'bfcl', advance):,} tasks written to {out}"
    print_line(message)


def _save_tasks(tasks: TaskSet, out: Path, as_bfcl: bool, advance: Callable[..., None]) -> int:
    save = save_bfcl if as_bfcl else save_jsonl
    return save(_stepping(tasks, advance), out)


def _stepping(tasks: Iterable[Task], advance: Callable[..., None]) -> Iterator[Task]:
    for task in tasks:
        yield task
        advance()


def _described(done: ChatExport, number: int, out: Path) -> str:
    text = f"{done.conversations:,} conversations of {number:,} tasks written to {out} in {done.rows:,} lines"
    if done.left_out:
        text += f"; left out: {len(done.left_out):,}, such as {next(iter(done.left_out.values()))}"
    return text
