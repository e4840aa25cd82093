"""Known actions played through the real environments: does each task's ground truth earn its verdict?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym

from envtune_gym.calls import ActionFormat, Decoder
from envtune_gym.env import Offer
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.numbers.summary import RunSummary, summarise
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.runs.episode import end_episode, enter_step, new_record
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.evaluation.script import Player
from envtune_gym.registration import env_id
from envtune_gym.tasks import Task, TaskSet

__all__ = ["ReplayReport", "play", "replay"]


@dataclass(frozen=True)
class ReplayReport:
    """What a replay came to.

    Attributes:
        episodes: The played tasks, in the order of the tasks.
    """

    episodes: tuple[EvaluatedEpisode, ...]

    @cached_property
    def summary(self) -> RunSummary:
        """The numbers."""
        return summarise(self.episodes)

    @property
    def settings(self) -> dict[str, str]:
        """What it ran under: player, action format, decoder, offer, feedback, sources of the tasks."""
        return self.summary.circumstances

    @property
    def failed(self) -> list[EvaluatedEpisode]:
        """The episodes without a valid verdict."""
        return [episode for episode in self.episodes if not episode.success]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data; `average` is the mean over the categories, as in the benchmark."""
        failed = {episode.task_id: episode.error_type for episode in self.failed}
        return {"settings": self.settings, **self.summary.to_dict(), "failed": failed}


def replay(
    tasks: Iterable[Task],
    player: Player | None = None,
    *,
    action_format: ActionFormat = "tool_call",
    decoder: Decoder = "correct",
    offer: Offer | None = None,
    on_episode: Callable[[EvaluatedEpisode], object] | None = None,
) -> ReplayReport:
    """Play tasks with known actions, each in the environment of its first domain.

    Args:
        tasks: At least one task.
        player: What knows the actions, in `action_format`; the ground truth by default.
        action_format: The environments' action format.
        decoder: The environments' decoder.
        offer: What happens to withheld and excluded tools; None goes by each task's source.
        on_episode: Called after each episode, for progress bars and logs.

    Raises:
        ConfigurationError: If there is no task, or the format cannot hold an action.
        EnvtuneError: Whatever the player or the environments say of a task.
    """
    tasks = list(tasks)
    if not tasks:
        raise ConfigurationError("no task to replay; loosen what the tasks were chosen by")
    player = player or Oracle(action_format)
    options = {"action_format": action_format, "decoder": decoder, "offer": offer}
    run = RunSettings(policy=player.name, action_format=action_format, decoder=decoder, offer=offer or "")
    environments = _environments(tasks, options)
    episodes: list[EvaluatedEpisode] = []
    try:
        for task in tasks:
            episodes.append(play(environments[task.domains[0]], task, player.messages(task), run))
            if on_episode is not None:
                on_episode(episodes[-1])
    finally:
        for environment in environments.values():
            environment.close()
    return ReplayReport(tuple(episodes))


def play(env: gym.Env[str, str], task: Task, messages: Sequence[str], run: RunSettings) -> EvaluatedEpisode:
    """Play one task with known messages; those after its end are not sent.

    Args:
        env: An environment that serves the task.
        task: The task.
        messages: Assistant messages. If they end before the task does, it has failed as `force_terminated`.
        run: What the record is to say of the run.
    """
    record = new_record(task, 0, run)
    _, info = env.reset(options={"task_id": task.id})
    for message in messages:
        _, reward, terminated, truncated, info = env.step(message)
        record.messages.append(message)
        enter_step(record, float(reward), info)
        if terminated or truncated:
            end_episode(record, truncated, info)
            break
    return record


def _environments(tasks: Sequence[Task], options: dict[str, Any]) -> dict[str, gym.Env[str, str]]:
    """Return an environment for each first domain of the tasks, which serves those of them that it is to play."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.domains[0], []).append(task)
    return {
        domain: gym.make(env_id(domain), tasks=TaskSet(group), disable_env_checker=True, **options)
        for domain, group in groups.items()
    }
