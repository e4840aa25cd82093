"""`envtune rollouts`: conversations of a training run, in the terminal."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Annotated, Any

import typer

from envtune_gym.commands.output import Json, examples, print_json, print_line
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.playback import Seen
from envtune_gym.evaluation.rollout_reading import Said, conversation, visible
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.viewer.opening import Lines, Opened, open_run

__all__ = ["EXAMPLES", "rollouts_command"]

EXAMPLES = examples(
    "envtune rollouts runs/small/rollouts.jsonl --limit 3 --failed",
    "envtune rollouts runs/small --solved --stage base",
    "envtune rollouts runs/replay.jsonl --tasks bfcl --task multi_turn_base_0",
)

_INDENT = "    "
_DIGITS = 18
"""Of the number of an update, which a file may give as text; numbers of thousands of digits are not converted."""


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
    wanted = {"success": True if solved else False if failed else None, "stage": stage, "task_id": task, "step": step}
    conditions = {name: value for name, value in wanted.items() if value is not None}

    def latest(lines: Lines) -> Lines:
        fitting = (line for line in lines if all(line[1].get(name) == value for name, value in conditions.items()))
        return deque(fitting, maxlen=limit)  # a run has hundreds of thousands

    run = open_run(file, tasks, choose=latest, needs_settings=False)
    seen = [(opened, run.look_again(opened)) for opened in run.episodes]
    if as_json:
        print_json([_as_data(*one) for one in seen])
        return
    for one in seen:
        print_line(_as_text(*one))


def _as_data(opened: Opened, seen: Seen) -> dict[str, Any]:
    episode = opened.episode
    step = opened.extras.get("step", "")
    return {
        "task_id": episode.task_id,
        "step": int(step) if step.isdecimal() and len(step) <= _DIGITS else None,
        "category": episode.category,
        "stage": opened.extras.get("stage", ""),
        "feedback": episode.run.feedback,
        "seed": opened.seed,
        "reward": _reward(episode),
        "success": episode.success,
        "progress": episode.progress,
        "turns": episode.turns,
        "num_turns": episode.num_turns,
        "truncated_by": episode.truncated_by,
        "broken": episode.broken,
        "conversation": [
            {"role": one.role, "content": one.text}
            | ({"name": one.tool} if one.tool else {})
            | ({"augmented": True} if one.is_augmented else {})
            for one in conversation(seen.playback, episode.messages)
        ],
        "notes": list(seen.notes),
    }


def _as_text(opened: Opened, seen: Seen) -> str:
    episode = opened.episode
    lines = [f"=== {visible(episode.task_id) or 'no task'}: {_outcome(episode)}", f"    {_circumstances(opened)}"]
    lines += [f"--- {_speaker(one)}\n{_indented(one.text)}" for one in conversation(seen.playback, episode.messages)]
    lines += [f"--- note: {' '.join(visible(note).split())}" for note in seen.notes]
    return "\n".join(lines) + "\n"


def _outcome(episode: EvaluatedEpisode) -> str:
    words = ["solved" if episode.success else "failed"]
    words.append(f"{episode.turns} of {episode.num_turns} turns, progress {episode.progress:.2f}")
    reward = _reward(episode)
    if reward is not None:
        words.append(f"reward {reward:.3f}")
    if episode.truncated_by:
        words.append(f"cut off by {visible(episode.truncated_by)}")
    if episode.broken:
        words.append(f"broken: {' '.join(visible(episode.broken).split())}")
    return ", ".join(words)


def _reward(episode: EvaluatedEpisode) -> float | None:
    """Return what an episode was paid, if its record says."""
    return episode.reward if "reward" in episode.model_fields_set else None


def _circumstances(opened: Opened) -> str:
    known = {
        "update": opened.extras.get("step"),
        "stage": opened.extras.get("stage"),
        "category": opened.episode.category,
        "feedback": opened.episode.run.feedback,
    }
    return ", ".join(f"{name} {visible(value)}" for name, value in known.items() if value)


def _speaker(one: Said) -> str:
    name = f" {' '.join(visible(one.tool).split())}" if one.tool else ""
    return f"{one.role}{name}{' (with a hint)' if one.is_augmented else ''}"


def _indented(text: str) -> str:
    return "\n".join(f"{_INDENT}{line}" for line in visible(text).split("\n"))
