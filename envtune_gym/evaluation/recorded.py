"""Actions that were recorded in a file, one episode a line, to be played again.

A line is a JSON object with `task_id` and one of:

- `messages`: the assistant messages in order, answers included, sent exactly as they stand. This is what
  `envtune replay --out` and the GRPO baseline (`rollouts.jsonl`) write. Where they end before the task does, the task
  was not finished.
- `steps`: for each turn the steps, for each step its calls in Python syntax, such as
  `[[["cd(folder='docs')", "ls()"]], []]`. They are written out in the action format, and each turn gets an answer.

Where several lines are about one task, `sample` may number them. Other keys are ignored. `RecordedActions` plays one
episode of each task; `read_episodes` admits several. An episode that broke before it had a task, with an empty
`task_id` and no message, is passed over.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, model_validator
from typing_extensions import Self

from envtune_gym.calls import ActionFormat
from envtune_gym.callsyntax import CallSyntaxError, parse_call
from envtune_gym.errors import DataError, UnknownTaskError
from envtune_gym.evaluation.script import script
from envtune_gym.tasks import Task

__all__ = ["RecordedActions", "RecordedEpisode", "read_episodes"]


class RecordedEpisode(BaseModel):
    """A line of the file; the module says what it holds."""

    task_id: str
    messages: list[str] | None = None
    steps: list[list[list[str]]] | None = None
    sample: int = 0

    @model_validator(mode="after")
    def _check_one_form(self) -> Self:
        if (self.messages is None) == (self.steps is None):
            raise ValueError("give either 'messages' or 'steps'")
        if not self.task_id and self.messages != []:
            raise ValueError("task_id is empty")
        return self

    def play(self, task: Task, action_format: ActionFormat, where: str) -> list[str]:
        """Return the assistant messages.

        Args:
            task: The task that the line is about.
            action_format: The format that `steps` are written out in.
            where: Where the line stands, for error messages.

        Raises:
            DataError: If a recorded step is not a call.
            ConfigurationError: If the format cannot hold a recorded call.
        """
        if self.messages is not None:
            return list(self.messages)
        try:
            turns = [[[parse_call(text) for text in step] for step in steps] for steps in self.steps or ()]
        except CallSyntaxError as error:
            raise DataError(f"{where}, task {task.id!r}: {error}; record raw texts as 'messages'") from None
        return script(task, turns, action_format)


class RecordedActions:
    """Plays what a file has for each task.

    Args:
        path: The file; the module says what it holds.
        action_format: The format that `steps` are written out in.

    Raises:
        DataError: If the file cannot be read, or a line is broken; the message names the line and the field.
    """

    def __init__(self, path: str | os.PathLike[str], action_format: ActionFormat = "tool_call") -> None:
        self.name = f"actions of {os.fspath(path)}"
        self.action_format = action_format
        self._path = Path(path)
        self._lines = _by_task(self._path)

    @property
    def task_ids(self) -> list[str]:
        """The ids of the tasks that the file has, in its order."""
        return list(self._lines)

    def messages(self, task: Task) -> list[str]:
        """Return the recorded messages of a task.

        Raises:
            UnknownTaskError: If the file has none.
            DataError: If a recorded step is not a call.
            ConfigurationError: If the format cannot hold a recorded call.
        """
        line = self._lines.get(task.id)
        if line is None:
            raise UnknownTaskError(f"{self._path} has no actions for task {task.id!r}")
        return line.play(task, self.action_format, str(self._path))


def read_episodes(path: Path) -> list[tuple[str, RecordedEpisode]]:
    """Return all episodes of a file, each with the place where it stands.

    Raises:
        DataError: If the file cannot be read or has none, or a line is broken.
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise DataError(f"cannot read the actions {path}: {error}") from error
    numbered = enumerate(text.split("\n"), start=1)
    places = [(f"{path}, line {number}", content) for number, content in numbered if content.strip()]
    if not places:
        raise DataError(f"{path} holds no actions; each line is an object with 'task_id' and 'messages' or 'steps'")
    episodes = ((where, _parse(content, where)) for where, content in places)
    return [(where, episode) for where, episode in episodes if episode.task_id]


def _by_task(path: Path) -> dict[str, RecordedEpisode]:
    lines: dict[str, RecordedEpisode] = {}
    for where, line in read_episodes(path):
        if line.task_id in lines:
            raise DataError(f"{where}: task_id: {line.task_id!r} stands in an earlier line already")
        lines[line.task_id] = line
    return lines


def _parse(content: str, where: str) -> RecordedEpisode:
    try:
        data: Any = json.loads(content)
        return RecordedEpisode.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise DataError(f"{where}: {field + ': ' if field else ''}{first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from None
