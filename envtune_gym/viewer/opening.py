"""Files of episodes opened: of `envtune eval`, of training (`rollouts.jsonl`), of `envtune replay --out`.

All become `EvaluatedEpisode`; what a training run says beyond that (update, stage) stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import ValidationError

from envtune_gym.errors import ConfigurationError, DataError, EnvtuneError, UnknownTaskError
from envtune_gym.evaluation.playback import Seen, look_again
from envtune_gym.evaluation.rollout_reading import visible
from envtune_gym.evaluation.run_logs import SETTINGS_FILE, read_lines
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.tasks import Task, TaskSet, load_tasks
from envtune_gym.tasks.load import NAMED_SOURCES, source_of

if TYPE_CHECKING:
    from envtune_gym.training.settings import Settings

__all__ = ["Opened", "OpenedRun", "TaskFinder", "open_run", "settings_as_text"]

_ROLLOUTS_FILE = "rollouts.jsonl"
_EXTRAS = ("step", "stage")
_MAX_SETTING = 1_000
"""Characters of a setting that are shown."""

Lines = Iterable[tuple[str, dict[str, Any]]]
"""Lines of a file, each with where it stands."""
Choose = Callable[[Lines], Lines]


@dataclass(frozen=True)
class Opened:
    """An episode of a file.

    Attributes:
        episode: The record.
        extras: What else the file says of it: update and stage of a training run; and as `under`, the settings in
            which it differs from others of the file.
        seed: Seed of its reset, if the file says.
    """

    episode: EvaluatedEpisode
    extras: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

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

    def look_again(self, opened: Opened) -> Seen:
        """Play one of the episodes again, as far as that can be done."""
        episode = opened.episode
        seen = look_again(
            lambda: self.find_task(episode.task_id, episode.source),
            episode.messages,
            episode.run,
            success=episode.success,
            turns=episode.turns,
        )
        if seen.task is None or not episode.fingerprint or seen.task.fingerprint.startswith(episode.fingerprint):
            return seen
        return replace(seen, notes=["the task has changed since it was played", *seen.notes])


class TaskFinder:
    """Finds tasks by id, in the sets that the records name, each of which is loaded when it is first wanted.

    Args:
        given: Where all tasks are found; None: where each record says.
        trained_on: Loads the sets of a training run, for records that name no source that can be opened by its name;
            None: the ids tell.
    """

    def __init__(self, given: TaskSet | None = None, trained_on: Callable[[], Sequence[TaskSet]] | None = None) -> None:
        self._given = given
        self._trained_on = trained_on
        self._sets: dict[str, Sequence[TaskSet]] = {}

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
        task = _first(self._open(name, task_id), task_id)
        if version and version != task.source_version:
            found = f"{name} {task.source_version}"
            raise DataError(f"the episode was played on {source}, and here is {found}; install the former")
        return task

    def _open(self, name: str, task_id: str) -> Sequence[TaskSet]:
        if name not in self._sets:
            if name not in NAMED_SOURCES and self._trained_on is not None:
                self._sets[name] = self._trained_on()
            else:
                source = name or source_of(task_id)
                if source not in NAMED_SOURCES:
                    raise ConfigurationError("the file does not say where its tasks are; give --tasks")
                self._sets[name] = [load_tasks(source)]
        return self._sets[name]


def _first(sets: Sequence[TaskSet], task_id: str) -> Task:
    """Return the task of an id from the first set that has it."""
    *others, last = sets
    for one in others:
        try:
            return one.get(task_id)
        except UnknownTaskError:
            continue
    return last.get(task_id)


def open_run(
    path: Path, tasks: str | None = None, *, choose: Choose | None = None, needs_settings: bool = True
) -> OpenedRun:
    """Open a file of episodes, or a training run's directory.

    Args:
        path: The file or the directory.
        tasks: Where the tasks are found; None: where the records, or the settings beside them, say.
        choose: Returns the lines to take of those of the file; None: all.
        needs_settings: Whether settings of a training run that cannot be read are an error even if `tasks` is None;
            otherwise none of its tasks is to be had, for that reason.

    Raises:
        DataError: If it cannot be read, or a line is broken; a last line that was cut off is passed over.
        ConfigurationError: If it holds no episode, or the settings beside it cannot be read.
    """
    if path.is_dir():
        path /= _ROLLOUTS_FILE
    if not path.is_file():
        raise DataError(f"there is no file {path}; give a file of episodes, or the directory of a training run")
    given = None if tasks is None else load_tasks(tasks)
    lines = list(read_lines(path) if choose is None else choose(read_lines(path)))
    if not lines:
        wanted = "no episode yet" if choose is None else "no such episode; loosen the conditions"
        raise ConfigurationError(f"{path} holds {wanted}")
    settings, find_task = None, TaskFinder(given)
    # Only lines of a training run need settings: beside other files may lie those of something else.
    if any(_is_of_training(entry) for _, entry in lines):
        settings, find_task = _trained_on(path.parent / SETTINGS_FILE, given, needs_settings or given is not None)
    return OpenedRun(path, _told_apart(list(_episodes(lines, settings))), find_task)


def _trained_on(file: Path, given: TaskSet | None, needs_settings: bool) -> tuple[Settings | None, TaskFinder]:
    """Return the settings in a training run's file, if there is one, and what finds the tasks of the run."""
    try:
        settings = _training_settings(file)
    except EnvtuneError as error:
        if needs_settings:
            raise
        return None, TaskFinder(trained_on=partial(_raise, error))
    return settings, TaskFinder(given, None if settings is None else partial(_task_sets, settings))


def _raise(error: EnvtuneError) -> NoReturn:
    raise error


def settings_as_text(run: RunSettings) -> dict[str, str]:
    """Return settings by name, the policy's options among them, as they are shown; what is empty is left out."""
    fields = {name: getattr(run, name) for name in RunSettings.model_fields if name != "options"}
    options = {f"option {name}" if name in fields else name: value for name, value in run.options.items()}
    return {name: text for name, value in (fields | options).items() if (text := _as_text(value))}


def _as_text(value: Any) -> str:
    try:
        text = str(value)
    except RecursionError:
        return "(nested too deep to show)"
    return text if len(text) <= _MAX_SETTING else f"{text[:_MAX_SETTING]} …"


def _told_apart(episodes: Sequence[Opened]) -> list[Opened]:
    """Say of each episode what it was played under, as far as the episodes of its file differ in that."""
    settings = [settings_as_text(one.episode.run) for one in episodes]
    names = dict.fromkeys(name for one in settings for name in one)
    differing = [name for name in names if len({one.get(name, "") for one in settings}) > 1]
    if not differing:
        return list(episodes)
    pairs = zip(episodes, settings, strict=True)
    return [replace(one, extras={**one.extras, "under": _listed(texts, differing)}) for one, texts in pairs]


def _listed(texts: Mapping[str, str], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {texts.get(name) or 'none'}" for name in names)


def _is_of_training(entry: Mapping[str, Any]) -> bool:
    """Tell whether a line is a rollout, or an episode of the tests after training."""
    run = entry.get("run")
    options = run.get("options") if isinstance(run, dict) else None
    return "run" not in entry or (isinstance(options, dict) and "evaluation" in options)


def _task_sets(settings: Settings) -> list[TaskSet]:
    """Return where the tasks of a training run are, and of its tests the files that have no name that records say.

    Limits are left aside: which tasks they leave has not always been the same.
    """
    files = [one.tasks for one in settings.evaluations if one.tasks.source not in NAMED_SOURCES]
    return [one.model_copy(update={"limit": None}).load() for one in (*settings.tasks, *files)]


def _training_settings(file: Path) -> Settings | None:
    """Return the settings of the training run whose file is opened, or None if they are not beside it."""
    if not file.is_file():
        return None
    from envtune_gym.training.layers import file_layers, make_settings

    return make_settings(file_layers(file), str(file))


def _episodes(lines: Lines, settings: Settings | None) -> Iterator[Opened]:
    """Yield the episodes in lines; where several of one task have the same number, or none, they get others."""
    seen: set[tuple[str, int]] = set()
    latest: Counter[str] = Counter()
    for place, entry in lines:
        data = entry if "run" in entry else {**entry, "run": _run_of(entry, settings)}
        try:
            episode = EvaluatedEpisode.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise DataError(f"{place}: {visible('.'.join(map(str, first['loc'])))}: {first['msg']}") from None
        if (episode.task_id, episode.sample) in seen:
            episode = episode.model_copy(update={"sample": latest[episode.task_id] + 1})
        seen.add((episode.task_id, episode.sample))
        latest[episode.task_id] = max(latest[episode.task_id], episode.sample)
        seed = entry.get("seed")
        extras = {name: str(entry[name]) for name in _EXTRAS if entry.get(name)}
        yield Opened(episode, extras, seed if isinstance(seed, int) else None)


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
