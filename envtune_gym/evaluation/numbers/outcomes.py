"""What became of each task of a run, all its samples together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from envtune_gym.errors import DataError
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks.scenarios import scenario_of

__all__ = ["TaskOutcome", "outcomes_by_task"]


@dataclass(frozen=True)
class TaskOutcome:
    """A task and its episodes.

    Attributes:
        episodes: At least one, in the order of their samples.
    """

    episodes: tuple[EvaluatedEpisode, ...]

    @property
    def first(self) -> EvaluatedEpisode:
        """The first episode; in what they say of the task all are alike."""
        return self.episodes[0]

    @cached_property
    def scenario(self) -> str:
        """The name of the task's scenario."""
        return scenario_of(self.first.task_id, self.first.source)

    @cached_property
    def successes(self) -> int:
        """Episodes with a valid verdict."""
        return sum(episode.success for episode in self.episodes)

    @property
    def accuracy(self) -> float:
        """Share of the episodes with a valid verdict."""
        return self.successes / len(self.episodes)

    @property
    def progress(self) -> float:
        """Mean progress of the episodes."""
        return sum(episode.progress for episode in self.episodes) / len(self.episodes)


def outcomes_by_task(episodes: Iterable[EvaluatedEpisode]) -> list[TaskOutcome]:
    """Return what became of each task, in the order in which the tasks come first.

    Raises:
        DataError: If a sample of a task occurs twice, or one task comes from two versions of its source.
    """
    tasks: dict[str, dict[int, EvaluatedEpisode]] = {}
    for episode in episodes:
        samples = tasks.setdefault(episode.task_id, {})
        if episode.sample in samples:
            raise DataError(f"task {episode.task_id!r} has sample {episode.sample} twice; count each run by itself")
        samples[episode.sample] = episode
    outcomes = [TaskOutcome(tuple(samples[number] for number in sorted(samples))) for samples in tasks.values()]
    for outcome in outcomes:
        _check_same_task(outcome.episodes)
    return outcomes


def _check_same_task(episodes: Sequence[EvaluatedEpisode]) -> None:
    sources = {episode.source for episode in episodes}
    if len(sources) > 1:
        raise DataError(f"task {episodes[0].task_id!r} comes from {' and '.join(sorted(sources))}; they do not mix")
