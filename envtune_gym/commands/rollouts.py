"""`envtune rollouts`: conversations of a training run, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, print_json, print_line
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.evaluation.rollout_reading import (
    Conversation,
    Said,
    SavedRollout,
    Stage,
    latest_rollouts,
    read_again,
    visible,
    without_results,
)
from envtune_gym.tasks import load_tasks
from envtune_gym.training.layers import file_layers, make_settings

__all__ = ["EXAMPLES", "rollouts_command"]

EXAMPLES = examples(
    "envtune rollouts runs/small/rollouts.jsonl --limit 3 --failed",
    "envtune rollouts runs/small --solved --stage base",
    "envtune rollouts runs/replay.jsonl --tasks bfcl --task multi_turn_base_0",
)

_SETTINGS_FILE = "settings.yaml"
_INDENT = "    "


def rollouts_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of rollouts, or a run's directory.")],
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="The latest N that fit.")] = 3,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    solved: Annotated[bool, typer.Option("--solved", help="Only those that were solved.")] = False,
    stage: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of a stage.")] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Only those of a task.")] = None,
    step: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only those played for update N.")] = None,
    tasks: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Where their tasks are found; by default where the run's settings say."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print rollouts as conversations: requests, the model's messages, results and hints.

    The file has the model's messages; they are played again, under the same feedback, to show the rest. The settings
    beside the file say how. What a model wrote is indented and shown as it is, with control characters escaped.
    """
    if failed and solved:
        raise ConfigurationError("--failed and --solved exclude each other")
    if file.is_dir():
        file /= "rollouts.jsonl"
    success = True if solved else False if failed else None
    found = latest_rollouts(file, limit, success=success, stage=stage, task_id=task, step=step)
    conversations = _conversations(found, file.parent / _SETTINGS_FILE, tasks)
    if as_json:
        print_json([conversation.to_dict() for conversation in conversations])
        return
    for conversation in conversations:
        print_line(_as_text(conversation))


def _conversations(found: list[SavedRollout], settings_file: Path, tasks: str | None) -> list[Conversation]:
    """Return rollouts with what the environment said, or without it where the tasks are not to be had."""
    try:
        stage = _stage(settings_file, tasks)
    except EnvtuneError as error:
        if tasks is not None:
            raise
        return [without_results(rollout, str(error)) for rollout in found]
    return [read_again(rollout, stage) for rollout in found]


def _stage(settings_file: Path, tasks: str | None) -> Stage:
    """Return what a run's episodes were played in.

    Raises:
        ConfigurationError: If there is nothing to go by.
        DataError: If the data of the tasks is missing.
    """
    if not settings_file.is_file():
        if tasks is None:
            raise ConfigurationError(f"no {_SETTINGS_FILE} beside the file says where the tasks are; give --tasks")
        return Stage(load_tasks(tasks))
    settings = make_settings(file_layers(settings_file), str(settings_file))
    return Stage(
        settings.load_tasks() if tasks is None else load_tasks(tasks),
        settings.action_format,
        settings.max_steps_per_turn,
        settings.hints,
    )


def _as_text(conversation: Conversation) -> str:
    rollout = conversation.rollout
    lines = [f"=== {visible(rollout.task_id) or 'no task'}: {_outcome(rollout)}", f"    {_circumstances(rollout)}"]
    lines += [f"--- {_speaker(one)}\n{_indented(one.text)}" for one in conversation.said]
    lines += [f"--- note: {' '.join(visible(note).split())}" for note in conversation.notes]
    return "\n".join(lines) + "\n"


def _outcome(rollout: SavedRollout) -> str:
    words = ["solved" if rollout.success else "failed"]
    words.append(f"{rollout.turns} of {rollout.num_turns} turns, progress {rollout.progress:.2f}")
    if rollout.reward is not None:
        words.append(f"reward {rollout.reward:.3f}")
    if rollout.truncated_by:
        words.append(f"cut off by {visible(rollout.truncated_by)}")
    if rollout.broken:
        words.append(f"broken: {' '.join(visible(rollout.broken).split())}")
    return ", ".join(words)


def _circumstances(rollout: SavedRollout) -> str:
    known = {"update": rollout.step, "stage": rollout.stage, "category": rollout.category, "feedback": rollout.feedback}
    return ", ".join(f"{name} {visible(str(value))}" for name, value in known.items() if value)


def _speaker(one: Said) -> str:
    name = f" {' '.join(visible(one.tool).split())}" if one.tool else ""
    return f"{one.role}{name}{' (with a hint)' if one.is_augmented else ''}"


def _indented(text: str) -> str:
    return "\n".join(f"{_INDENT}{line}" for line in visible(text).split("\n"))
