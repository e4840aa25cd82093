"""Rollouts in a file, found and played again, so that a person can read what model and environment said.

A record has the assistant's messages and how the episode ended. What the environment said in between, hints included,
is not in the file: it comes from playing the messages again, under the same feedback.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from envtune_gym.calls import ActionFormat
from envtune_gym.errors import ConfigurationError, DataError, EnvtuneError
from envtune_gym.evaluation.playback import Playback, disagreements, play_again
from envtune_gym.evaluation.run_logs import read_lines
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.tasks import TaskSet

__all__ = [
    "Conversation",
    "Said",
    "SavedRollout",
    "Stage",
    "latest_rollouts",
    "read_again",
    "visible",
    "without_results",
]


class SavedRollout(BaseModel):
    """A line of `rollouts.jsonl`, or of what `envtune replay --out` writes, as far as reading needs it."""

    task_id: str
    messages: list[str]
    step: int | None = None
    category: str = ""
    stage: str = ""
    feedback: FeedbackLevel = "off"
    seed: int | None = Field(default=None, ge=0)
    reward: float | None = None
    success: bool = False
    progress: float = 0.0
    turns: int = 0
    num_turns: int = 0
    truncated_by: str = ""
    broken: str = ""


@dataclass(frozen=True)
class Stage:
    """What the messages are played in.

    Attributes:
        tasks: Where the tasks are found.
        action_format: How the messages write calls.
        max_steps_per_turn: The limit of a turn.
        hints: As in `AugmentedFeedbackWrapper`.
    """

    tasks: TaskSet
    action_format: ActionFormat = "tool_call"
    max_steps_per_turn: int = 20
    hints: str | None = None


@dataclass(frozen=True)
class Said:
    """Something that was said.

    Attributes:
        role: `user`, `assistant` or `tool`.
        text: What.
        tool: The tool whose result it is; empty otherwise.
        is_augmented: Whether feedback has been added to it.
    """

    role: str
    text: str
    tool: str = ""
    is_augmented: bool = False


@dataclass(frozen=True)
class Conversation:
    """A rollout to be read.

    Attributes:
        rollout: The record.
        said: All that was said, without the system prompt.
        notes: What the reader should know of it.
    """

    rollout: SavedRollout
    said: Sequence[Said]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the conversation as plain data."""
        said = [
            {"role": one.role, "content": one.text}
            | ({"name": one.tool} if one.tool else {})
            | ({"augmented": True} if one.is_augmented else {})
            for one in self.said
        ]
        return {**self.rollout.model_dump(exclude={"messages"}), "conversation": said, "notes": list(self.notes)}


def latest_rollouts(
    file: Path,
    limit: int,
    *,
    success: bool | None = None,
    stage: str | None = None,
    task_id: str | None = None,
    step: int | None = None,
) -> list[SavedRollout]:
    """Return the latest rollouts of a file that meet the conditions, in its order; a None is no condition.

    Raises:
        DataError: If the file cannot be read, or a line is broken; one that was cut off at the end is passed over.
        ConfigurationError: If there is none.
    """
    if not file.is_file():
        raise DataError(f"there are no rollouts in {file}")
    wanted = {"success": success, "stage": stage, "task_id": task_id, "step": step}
    conditions = {name: value for name, value in wanted.items() if value is not None}
    lines = (line for line in read_lines(file) if all(line[1].get(name) == value for name, value in conditions.items()))
    found = [_checked(place, entry) for place, entry in deque(lines, maxlen=limit)]
    if not found:
        raise ConfigurationError(f"no rollout in {file} is such; loosen the conditions")
    return found


def _play_again(rollout: SavedRollout, stage: Stage) -> Conversation:
    """Play a rollout's messages again, to see what the environment says.

    Raises:
        UnknownTaskError: If its task is not there.
        EnvtuneError: If it cannot be played for another reason.
    """
    run = RunSettings(
        policy="",
        action_format=stage.action_format,
        feedback=rollout.feedback,
        hints=stage.hints or "",
        max_steps_per_turn=stage.max_steps_per_turn,
    )
    playback = play_again(stage.tasks.get(rollout.task_id), rollout.messages, run)
    notes = list(disagreements(playback, success=rollout.success, turns=rollout.turns))
    return Conversation(rollout, list(_said(playback)), notes)


def without_results(rollout: SavedRollout, why: str) -> Conversation:
    """Return a rollout as the file has it: the assistant's messages alone."""
    return Conversation(rollout, [Said("assistant", text) for text in rollout.messages], [f"results not shown: {why}"])


def read_again(rollout: SavedRollout, stage: Stage) -> Conversation:
    """Play a rollout again, or return it as the file has it where that cannot be done."""
    if not rollout.task_id:
        return without_results(rollout, "the rollout broke before it had a task")
    try:
        return _play_again(rollout, stage)
    except EnvtuneError as error:
        return without_results(rollout, str(error))


def visible(text: str) -> str:
    r"""Return text in which nothing acts on a terminal: all but line feeds and what can be printed is escaped.

    Example:
        >>> print(visible("a" + chr(27) + "[2J"))
        a\x1b[2J
    """
    return "".join(
        one if one == "\n" or one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def _checked(place: str, entry: Mapping[str, Any]) -> SavedRollout:
    try:
        return SavedRollout.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DataError(f"{place}: {visible('.'.join(map(str, first['loc'])))}: {first['msg']}") from None


def _said(playback: Playback) -> Iterator[Said]:
    """Yield all that was said, in order."""
    for turn in playback.turns:
        request = f"{turn.request}\n\n{turn.note}" if turn.note else turn.request
        yield Said("user", request, is_augmented=bool(turn.note))
        for step in turn.steps:
            yield Said("assistant", step.message)
            for result in step.results:
                yield Said(result.role, result.text, result.tool, result.is_augmented)
    for message in playback.unsent:
        yield Said("assistant", message)
