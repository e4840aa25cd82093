"""Files of episodes opened: of `envtune eval`, of training (`rollouts.jsonl`), of `envtune replay --out`.

All become `EvaluatedEpisode`; what a training run says beyond that (update, stage) stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from envtune_gym.errors import ConfigurationError, DataError, UnknownTaskError
from envtune_gym.evaluation.run_logs import SETTINGS_FILE, read_lines
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks import Task, TaskSet, load_tasks

if TYPE_CHECKING:
    from envtune_gym.training.settings import Settings

__all__ = ["Opened", "OpenedRun", "TaskFinder", "open_run"]

_ROLLOUTS_FILE = "rollouts.jsonl"
_EXTRAS = ("step", "stage")
_KNOWN_IDS = {"multi_turn_": "bfcl", "gen-": "generated"}


@dataclass(frozen=True)
class Opened:
    """An episode of a file.

    Attributes:
        episode: The record.
        extras: What else the file says of it: update and stage of a training run.
    """

    episode: EvaluatedEpisode
    extras: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other episodes of its run."""
        return self.episode.task_id, self.episode.sample


@dataclass(frozen=True)
class OpenedRun:
    """The episodes of a file.

    Attributes:
        path: The file.
        episodes: Its episodes, in its order; episodes of one task differ in `sample`.
        find_task: Returns the task with an id and a source, as the records have them; raises an `EnvtuneError` where it
            is not to be had.
    """

    path: Path
    episodes: Sequence[Opened]
    find_task: Callable[[str, str], Task]

    @property
    def name(self) -> str:
        """What the page calls it: the file, or the directory of a training run."""
        return self.path.resolve().parent.name if self.path.name == _ROLLOUTS_FILE else self.path.name


class TaskFinder:
    """Finds tasks by id, in the sets that the records name, each of which is loaded when it is first wanted.

    Args:
        given: Where all tasks are found; None: where each record says.
        trained_on: Loads the tasks of records that do not say; None: their ids tell.
    """

    def __init__(self, given: TaskSet | None = None, trained_on: Callable[[], TaskSet] | None = None) -> None:
        self._given = given
        self._trained_on = trained_on
        self._sets: dict[str, TaskSet] = {}

    def __call__(self, task_id: str, source: str) -> Task:
        """Return a task.

        Args:
            task_id: Its id.
            source: Its source as the record has it, such as `bfcl 2026.3.23`; empty: the record does not say.

        Raises:
            UnknownTaskError: If it is not there.
            ConfigurationError: If the source cannot be opened by its name.
            DataError: If the data of the source is missing, or is of another version than the record's.
        """
        if not task_id:
            raise UnknownTaskError("the episode broke before it had a task")
        if self._given is not None:
            return self._given.get(task_id)
        name, _, version = source.partition(" ")
        task = self._open(name, task_id).get(task_id)
        if version and version != task.source_version:
            found = f"{name} {task.source_version}"
            raise DataError(f"the episode was played on {source}, and here is {found}; install the former")
        return task

    def _open(self, name: str, task_id: str) -> TaskSet:
        if name not in self._sets:
            if not name and self._trained_on is not None:
                self._sets[name] = self._trained_on()
            else:
                source = name or next((known for start, known in _KNOWN_IDS.items() if task_id.startswith(start)), "")
                if source not in _KNOWN_IDS.values():
                    raise ConfigurationError("the file does not say where its tasks are; give --tasks")
                self._sets[name] = load_tasks(source)
        return self._sets[name]


def open_run(path: Path, tasks: str | None = None) -> OpenedRun:
    """Open a file of episodes, or a training run's directory.

    Args:
        path: The file or the directory.
        tasks: Where the tasks are found; None: where the records, or the settings beside them, say.

    Raises:
        DataError: If it cannot be read, or a line is broken; a last line that was cut off is passed over.
        ConfigurationError: If it holds no episode.
    """
    if path.is_dir():
        path /= _ROLLOUTS_FILE
    if not path.is_file():
        raise DataError(f"there are no episodes in {path}")
    given = None if tasks is None else load_tasks(tasks)
    settings = _training_settings(path.parent / SETTINGS_FILE)
    episodes = list(_episodes(path, settings))
    if not episodes:
        raise ConfigurationError(f"{path} holds no episode yet")
    return OpenedRun(path, episodes, TaskFinder(given, None if settings is None else settings.load_tasks))


def _training_settings(file: Path) -> Settings | None:
    """Return the settings of the training run whose file is opened, or None if they are not beside it."""
    if not file.is_file():
        return None
    from envtune_gym.training.layers import file_layers, make_settings

    return make_settings(file_layers(file), str(file))


def _episodes(path: Path, settings: Settings | None) -> Iterator[Opened]:
    """Yield the episodes of a file; where several of one task have the same number, or none, they get others."""
    seen: set[tuple[str, int]] = set()
    latest: Counter[str] = Counter()
    for place, entry in read_lines(path):
        data = entry if "run" in entry else {**entry, "run": _run_of(entry, settings)}
        try:
            episode = EvaluatedEpisode.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise DataError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if (episode.task_id, episode.sample) in seen:
            episode = episode.model_copy(update={"sample": latest[episode.task_id] + 1})
        seen.add((episode.task_id, episode.sample))
        latest[episode.task_id] = max(latest[episode.task_id], episode.sample)
        yield Opened(episode, {name: str(entry[name]) for name in _EXTRAS if entry.get(name)})


def _run_of(entry: Mapping[str, Any], settings: Settings | None) -> dict[str, Any]:
    """Return what an episode was played under whose line does not say all of it."""
    run = {name: entry[name] for name in ("feedback", "offer") if entry.get(name)}
    if settings is None:
        return {"policy": "recorded", **run}
    return {
        "policy": settings.model,
        "action_format": settings.action_format,
        "max_steps_per_turn": settings.max_steps_per_turn,
        "hints": settings.hints or "",
        "seed": settings.seed,
        **run,
    }
