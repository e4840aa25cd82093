"""The logs of training runs, read: one run by its batches of rollouts, and runs that differ in their seed as a group.

A run may still be going on, or have been killed: a last line that was cut off is passed over.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.runs.records import EvaluatedEpisode

__all__ = ["Batch", "Run", "RunGroup", "group_runs", "read_evaluations", "read_lines", "read_run", "read_settings"]

SETTINGS_FILE = "settings.yaml"
EVALUATIONS_FILE = "evaluations.jsonl"
_OWN = ("seed", "out")
"""Settings in which runs of one group differ."""
_SUMMED = ("seconds/loss",)
"""What the updates from one batch take together; of all else that each of them has, the mean counts."""
_SEED_PART = re.compile(r"[-_.]?(seed|s)?[-_.=]?\d*$")


@dataclass(frozen=True)
class Batch:
    """A batch of rollouts and the updates made from it.

    Attributes:
        number: Its place in the run, from 1.
        stage: The stage it was played in.
        figures: What was logged of it, by the log's names.
    """

    number: int
    stage: str
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Run:
    """A training run as its logs have it.

    Attributes:
        path: Its directory.
        settings: Its settings as plain data; empty if they were not kept.
        batches: Its batches of rollouts.
        validations: Its validations, each as a batch: numbered by the batch that it came after.
        updates: Number of updates.
        skipped: Number of them that were skipped since their gradient was not finite.
        evaluations: The episodes that the trained model was tested on, as far as it was.
        processes: In how many processes it was trained; several numbers if it went on in another one.
    """

    path: Path
    settings: Mapping[str, Any]
    batches: Sequence[Batch]
    validations: Sequence[Batch]
    updates: int
    skipped: int
    evaluations: Sequence[EvaluatedEpisode]
    processes: Sequence[int] = (1,)

    @property
    def rollouts(self) -> int | None:
        """Number of episodes played; None if the settings do not tell."""
        try:
            return len(self.batches) * int(self.settings["groups"]) * int(self.settings["group_size"])
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class RunGroup:
    """Runs that are the same but for their seed.

    Attributes:
        name: What reports call it.
        runs: The runs, at least one.
    """

    name: str
    runs: Sequence[Run]


def read_run(path: Path) -> Run:
    """Read the logs in a run's directory.

    Raises:
        DataError: If there are none, nothing has been logged yet, or a line is broken.
    """
    file = path / "updates.jsonl"
    if not file.is_file():
        raise DataError(f"there is no training run in {path}: it has no updates.jsonl")
    updates = [entry for _, entry in read_lines(file)]
    if not updates:
        raise DataError(f"the run in {path} has logged no update yet; come back later")
    batches, begins = _batches(updates)
    validations = [entry for _, entry in read_lines(path / "validations.jsonl")]
    return Run(
        path,
        read_settings(path),
        batches,
        [Batch(bisect_right(begins, _step(one)), str(one.get("stage", "")), _figures(one)) for one in validations],
        len(updates),
        int(_figures(updates[-1]).get("skipped_updates", 0)),
        read_evaluations(path),
        sorted({int(_figures(update).get("processes", 1)) for update in updates}),
    )


def read_evaluations(path: Path) -> list[EvaluatedEpisode]:
    """Return the episodes that the model in a run's directory was tested on; none if it was not.

    Raises:
        DataError: If the file cannot be read, or a line is broken or does not say which evaluation it belongs to.
    """
    episodes = []
    for place, entry in read_lines(path / EVALUATIONS_FILE):
        try:
            episode = EvaluatedEpisode.model_validate(entry)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise DataError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if "evaluation" not in episode.run.options:
            raise DataError(f"{place}: does not say which evaluation it belongs to")
        episodes.append(episode)
    return episodes


def read_lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a log, each with the place where it stands; a last line that was cut off is passed over.

    Raises:
        DataError: If the file cannot be read, or a line is broken. A file that is not there has no lines.
    """
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            for number, line in enumerate(stream, start=1):
                place = f"{file}, line {number}"
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if not line.endswith("\n"):
                        return
                    raise DataError(f"{place}: not JSON: {error}") from None
                if not isinstance(entry, dict):
                    raise DataError(f"{place}: not an object")
                yield place, entry
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror or error}") from error


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a run's directory as plain data, unchecked; empty if it has none.

    Raises:
        DataError: If they cannot be read.
    """
    import yaml

    file = path / SETTINGS_FILE
    try:
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"cannot read {file}: {' '.join(str(error).split())}") from error
    return settings if isinstance(settings, dict) else {}


def group_runs(runs: Sequence[Run]) -> list[RunGroup]:
    """Put runs together that are the same but for their seed, in the order of their first ones.

    Those in other numbers of processes are of another kind: their tasks are the same, the sampled replies are not.

    Raises:
        ConfigurationError: If a run is there twice.
    """
    groups: dict[str, list[Run]] = {}
    seen: set[Path] = set()
    for run in runs:
        if (resolved := run.path.resolve()) in seen:
            raise ConfigurationError(f"{run.path} is given twice")
        seen.add(resolved)
        groups.setdefault(_kind(run), []).append(run)
    names = [_name(group) for group in groups.values()]
    if len(set(names)) < len(names):
        names = [group[0].path.as_posix() for group in groups.values()]
    return [RunGroup(name, group) for name, group in zip(names, groups.values(), strict=True)]


def _batches(updates: Sequence[Mapping[str, Any]]) -> tuple[list[Batch], list[int]]:
    """Return the batches of a run, and the first update of each; later updates of a batch have no rollouts."""
    parts: list[list[Mapping[str, Any]]] = []
    for update in updates:
        if "reward" in update or not parts:
            parts.append([])
        parts[-1].append(update)
    batches = [Batch(number, str(part[0].get("stage", "")), _joined(part)) for number, part in enumerate(parts, 1)]
    return batches, [_step(part[0]) for part in parts]


def _joined(updates: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for update in updates:
        for name, value in _figures(update).items():
            values.setdefault(name, []).append(value)
    return {name: sum(found) / (1 if name in _SUMMED else len(found)) for name, found in values.items()}


def _figures(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of an entry; null stands for what was not finite."""
    numbers = {name: float(value) for name, value in entry.items() if isinstance(value, (int, float))}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _step(entry: Mapping[str, Any]) -> int:
    step = entry.get("step")
    return step if isinstance(step, int) else 0


def _kind(run: Run) -> str:
    """Return what is the same for all runs of a group; a run whose settings were not kept is a group of its own."""
    if not run.settings:
        return f"path {run.path.resolve()}"
    kind = {name: value for name, value in run.settings.items() if name not in _OWN}
    return json.dumps([kind, list(run.processes)], sort_keys=True, default=str)


def _name(runs: Sequence[Run]) -> str:
    """Return what the paths of a group have in common, without what tells the seed: `direct` of runs/direct-seed3."""
    paths = [run.path.resolve().as_posix() for run in runs]
    if len(paths) == 1:
        return runs[0].path.resolve().name
    alike = "".join(at[0] for at in takewhile(lambda at: len(set(at)) == 1, zip(*paths, strict=False)))
    common = _SEED_PART.sub("", alike).rstrip("/")
    return common.rpartition("/")[2] or runs[0].path.name
