"""Which episodes are shown. Of two runs, an episode is shown in both where it meets the conditions in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envtune_gym.errors import ConfigurationError
from envtune_gym.viewer.building import ViewedRun
from envtune_gym.viewer.details import ViewedEpisode, view_episode
from envtune_gym.viewer.opening import Opened, OpenedRun

__all__ = ["Conditions", "select", "view"]

Key = tuple[str, int]


@dataclass(frozen=True)
class Conditions:
    """What episodes must be like; None is no condition.

    Attributes:
        success: Their verdict.
        category: Their category.
        domain: A domain that they involve.
        failure: Their failure class.
        task_id: Their task.
        text: What occurs in id, messages, requests or results, in upper or lower case.
        limit: How many are taken, at most.
    """

    success: bool | None = None
    category: str | None = None
    domain: str | None = None
    failure: str | None = None
    task_id: str | None = None
    text: str | None = None
    limit: int | None = None

    def admit_record(self, opened: Opened) -> bool:
        """Tell whether an episode meets the conditions that its record alone decides, before it is played again."""
        episode = opened.episode
        return self.success in (None, episode.success) and self.task_id in (None, episode.task_id)

    def admit(self, viewed: ViewedEpisode) -> bool:
        """Tell whether an episode meets all conditions."""
        return (
            self.admit_record(viewed.opened)
            and self.category in (None, viewed.category)
            and (self.domain is None or self.domain in viewed.domains)
            and self.failure in (None, viewed.failure)
            and (self.text is None or any(self.text.lower() in text.lower() for text in viewed.texts))
        )


def select(runs: Sequence[OpenedRun], conditions: Conditions) -> list[list[Opened]]:
    """Return the episodes of each run that are worth playing again."""
    keys = {one.key for run in runs for one in run.episodes if conditions.admit_record(one)}
    return [[one for one in run.episodes if one.key in keys] for run in runs]


def view(
    runs: Sequence[OpenedRun],
    chosen: Sequence[Sequence[Opened]],
    conditions: Conditions,
    on_episode: Callable[[], object] = lambda: None,
) -> list[ViewedRun]:
    """Play episodes again, and return those that are shown.

    Args:
        runs: The runs.
        chosen: Episodes of each, as `select` returns them.
        conditions: What they must be like.
        on_episode: Called after each episode, for progress bars.

    Raises:
        ConfigurationError: If there is none.
    """
    played: list[list[ViewedEpisode]] = []
    keys: dict[Key, None] = {}
    for run, episodes in zip(runs, chosen, strict=True):
        played.append([])
        for one in episodes:
            viewed = view_episode(run, one)
            played[-1].append(viewed)
            if conditions.admit(viewed):
                keys[one.key] = None
            on_episode()
            if len(runs) == 1 and len(keys) == conditions.limit:
                break
    shown = set(list(keys)[: conditions.limit])
    if not shown:
        raise ConfigurationError(f"no episode in {runs[0].path} is such; loosen the conditions")
    return [
        ViewedRun(run, [one for one in episodes if one.opened.key in shown])
        for run, episodes in zip(runs, played, strict=True)
    ]
