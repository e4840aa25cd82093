"""What trained models were tested on, counted up: by evaluation and feedback, all tasks, by category and by domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from envtune_gym.evaluation.run_figures import Spread, spread_of
from envtune_gym.evaluation.run_logs import RunGroup
from envtune_gym.evaluation.runs.records import EvaluatedEpisode

__all__ = ["ALL", "Tested", "tested"]

ALL = "all"


@dataclass(frozen=True)
class Tested:
    """Some tasks of an evaluation under one feedback, over the runs of a group that have them.

    Attributes:
        evaluation: The name of the evaluation.
        feedback: The feedback.
        tasks: Which tasks: `all`, or those of this category or domain.
        episodes: Number of episodes of a run.
        success: Share of them with a valid verdict.
        progress: Their mean progress.
    """

    evaluation: str
    feedback: str
    tasks: str
    episodes: Spread
    success: Spread
    progress: Spread


def tested(group: RunGroup) -> list[Tested]:
    """Return what the runs of a group were tested on; a task counts in its category and in each of its domains."""
    parts: dict[tuple[str, str, str], list[list[EvaluatedEpisode]]] = {}
    for run in group.runs:
        for name, episodes in _parts(run.evaluations).items():
            parts.setdefault(name, []).append(episodes)
    found = []
    for (evaluation, feedback, tasks), runs in parts.items():
        number = spread_of([len(played) for played in runs])
        success = spread_of([_mean(episode.success for episode in played) for played in runs])
        progress = spread_of([_mean(episode.progress for episode in played) for played in runs])
        if number and success and progress:
            found.append(Tested(evaluation, feedback, tasks, number, success, progress))
    return found


def _parts(episodes: Iterable[EvaluatedEpisode]) -> dict[tuple[str, str, str], list[EvaluatedEpisode]]:
    """Return the episodes of a run in order: pass by pass, of each first all, then categories, then domains."""
    passes: dict[tuple[str, str], list[EvaluatedEpisode]] = {}
    for episode in episodes:
        passes.setdefault((str(episode.run.options["evaluation"]), episode.run.feedback), []).append(episode)
    parts: dict[tuple[str, str, str], list[EvaluatedEpisode]] = {}
    for (evaluation, feedback), played in passes.items():
        categories = sorted({episode.category for episode in played})
        domains = sorted({domain for episode in played for domain in episode.domains})
        for name in (ALL, *categories, *domains):
            own = [one for one in played if name in (ALL, one.category, *one.domains)]
            parts[evaluation, feedback, name] = own
    return parts


def _mean(values: Iterable[float]) -> float:
    listed: Sequence[float] = list(values)
    return sum(listed) / len(listed)
