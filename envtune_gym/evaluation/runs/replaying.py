"""A policy that sends what a file has recorded: runs of `envtune eval`, replays, and rollouts of a training."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from envtune_gym.asking import RefusedRequestError
from envtune_gym.calls import ActionFormat
from envtune_gym.errors import DataError
from envtune_gym.evaluation.recorded import RecordedEpisode, read_episodes
from envtune_gym.evaluation.runs.policies import AsyncPolicy, ScriptedPolicy
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.tasks import Task

__all__ = ["ReplayMaker", "recorded_settings"]


class ReplayMaker:
    """Plays the recorded messages of a task; its samples are the file's episodes of the task, by their numbers.

    An episode whose recorded messages end too early, or that the file does not have, breaks.

    Args:
        path: The file; `envtune_gym.evaluation.recorded` says what it holds.
        action_format: The format that recorded `steps` are written out in.

    Raises:
        DataError: If the file cannot be read, or a line is broken.
    """

    def __init__(self, path: Path, action_format: ActionFormat) -> None:
        self.name = f"replay:{path}"
        self._path = path
        self._action_format = action_format
        self._lines: dict[str, list[tuple[str, RecordedEpisode]]] = {}
        for where, line in read_episodes(path):
            self._lines.setdefault(line.task_id, []).append((where, line))
        for lines in self._lines.values():
            lines.sort(key=lambda one: one[1].sample)

    @property
    def task_ids(self) -> list[str]:
        """The ids of the tasks that the file has, in its order."""
        return list(self._lines)

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy that sends what was recorded.

        Raises:
            RefusedRequestError: If the file does not have the episode.
            DataError: If a recorded step is not a call.
            ConfigurationError: If the format cannot hold a recorded call.
        """
        lines = self._lines.get(task.id, [])
        if sample >= len(lines):
            raise RefusedRequestError(f"{self._path} has {len(lines)} episodes of task {task.id!r}")
        where, line = lines[sample]
        return ScriptedPolicy(line.play(task, self._action_format, where))

    async def aclose(self) -> None:
        """Do nothing."""


def recorded_settings(path: Path) -> RunSettings | None:
    """Return the settings under which a file was recorded, if its first line has them.

    Raises:
        DataError: If the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            line = json.loads(file.readline())
        return RunSettings.model_validate(line["run"])
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, ValidationError, RecursionError, KeyError, TypeError):
        return None
