"""The file of a run: each finished episode a line, at once, and a run that was interrupted goes on in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envtune_gym.asking import JournalFile
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.tasks import Task

__all__ = ["RunFile"]

_ADVICE = "remove the line to have its episode played again, or choose another file"
_SYNC_EVERY = 1.0


class RunFile:
    """The episodes of a run, old and new.

    Args:
        path: The file.
        run: The settings of the run.
        resume: Whether to go on with a file that holds episodes; it may also be new.
        retry_broken: Whether episodes that broke are taken out of the file, to be played again.

    Attributes:
        path: The file.

    Raises:
        ConfigurationError: If the file holds episodes and is not to be gone on with, or they were played under other
            settings; the message says which.
        DataError: If the file cannot be read or written, or holds something else.
    """

    def __init__(self, path: Path, run: RunSettings, *, resume: bool = False, retry_broken: bool = False) -> None:
        self.path = path
        if not resume and path.is_file() and path.stat().st_size:
            raise ConfigurationError(f"{path} exists already: add --resume to go on with it, or choose another --out")
        self._journal = JournalFile(path, EvaluatedEpisode, _ADVICE, sync_every=_SYNC_EVERY)
        try:
            self._episodes = self._recovered(run)
            if retry_broken and any(episode.broken for episode in self._episodes.values()):
                self._drop_broken()
        except BaseException:
            self._journal.close()
            raise

    def episode(self, task: Task, sample: int) -> EvaluatedEpisode | None:
        """Return an episode that is done, or None.

        Raises:
            ConfigurationError: If the task is no longer the one that was played.
        """
        episode = self._episodes.get((task.id, sample))
        if episode is not None and episode.fingerprint and not task.fingerprint.startswith(episode.fingerprint):
            raise ConfigurationError(f"task {task.id!r} has changed since {self.path} was begun; choose another --out")
        return episode

    def __len__(self) -> int:
        """Return the number of episodes that are done."""
        return len(self._episodes)

    def add(self, episode: EvaluatedEpisode) -> None:
        """Keep a finished episode.

        Raises:
            DataError: If it cannot be written; those before it are safe.
        """
        self._journal.add(episode)
        self._episodes[episode.task_id, episode.sample] = episode

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _recovered(self, run: RunSettings) -> dict[tuple[str, int], EvaluatedEpisode]:
        episodes: dict[tuple[str, int], EvaluatedEpisode] = {}
        for episode in self._journal.recovered:
            if episode.run != run:
                raise ConfigurationError(
                    f"{self.path} was begun with other settings ({'; '.join(_differences(episode.run, run))}): "
                    "go on with those, or choose another --out"
                )
            if (episode.task_id, episode.sample) in episodes:
                raise DataError(
                    f"{self.path} has sample {episode.sample} of task {episode.task_id!r} twice; remove a line"
                )
            episodes[episode.task_id, episode.sample] = episode
        return episodes

    def _drop_broken(self) -> None:
        """Put a file without the broken episodes in the place of this one."""
        self._journal.close()
        self._episodes = {key: episode for key, episode in self._episodes.items() if not episode.broken}
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            with new.open("w", encoding="utf-8") as file:
                file.writelines(episode.model_dump_json() + "\n" for episode in self._episodes.values())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            raise DataError(f"cannot write {new}: {error.strerror or error}") from error
        self._journal = JournalFile(self.path, EvaluatedEpisode, _ADVICE, sync_every=_SYNC_EVERY)


def _differences(theirs: RunSettings, ours: RunSettings) -> Iterator[str]:
    """Yield each setting that two runs do not share."""
    old, new = _flat(theirs), _flat(ours)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name)!r} there, {new.get(name)!r} here"


def _flat(run: RunSettings) -> dict[str, Any]:
    settings = run.model_dump()
    options = settings.pop("options")
    return {**settings, **options}
