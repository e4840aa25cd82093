"""Known actions played through the real environments: does each task's ground truth earn its verdict?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import gymnasium as gym

from envtune_gym.calls import ActionFormat, Decoder
from envtune_gym.env import EnvtuneEnv, Offer
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.report import (
    EpisodeRecord,
    Summary,
    summarize,
    summarize_by_category,
    summarize_by_domain,
)
from envtune_gym.evaluation.script import Player
from envtune_gym.registration import env_id
from envtune_gym.scoring import FORCE_TERMINATED
from envtune_gym.tasks import Task, TaskSet

__all__ = ["ReplayReport", "play", "replay"]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay came to.

    Attributes:
        settings: What it ran under: player, action format, decoder, offer, feedback, sources of the tasks.
        episodes: The played tasks, in the order of the tasks.
    """

    settings: dict[str, str]
    episodes: tuple[EpisodeRecord, ...]

    @property
    def total(self) -> Summary:
        """All episodes together."""
        return summarize("all", self.episodes)

    @property
    def categories(self) -> list[Summary]:
        """The episodes by category."""
        return summarize_by_category(self.episodes)

    @property
    def domains(self) -> list[Summary]:
        """The episodes by domain; one counts in every domain that its task involves."""
        return summarize_by_domain(self.episodes)

    @property
    def failed(self) -> list[EpisodeRecord]:
        """The episodes without a valid verdict."""
        return [episode for episode in self.episodes if not episode.success]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data; `average` is the mean over the categories, as in the benchmark."""
        categories = self.categories
        return {
            "settings": self.settings,
            "episodes": len(self.episodes),
            "accuracy": _with_average({summary.name: summary.success for summary in categories}),
            "progress": _with_average({summary.name: summary.progress for summary in categories}),
            "categories": [summary.to_dict() for summary in categories],
            "domains": [summary.to_dict() for summary in self.domains],
            "total": self.total.to_dict(),
            "failed": {episode.task_id: episode.error_type for episode in self.failed},
        }


def replay(
    tasks: Iterable[Task],
    player: Player | None = None,
    *,
    action_format: ActionFormat = "tool_call",
    decoder: Decoder = "correct",
    offer: Offer | None = None,
    on_episode: Callable[[EpisodeRecord], object] | None = None,
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
    environments = _environments(tasks, options)
    episodes: list[EpisodeRecord] = []
    try:
        for task in tasks:
            episodes.append(play(environments[task.domains[0]], task, player.messages(task)))
            if on_episode is not None:
                on_episode(episodes[-1])
    finally:
        for environment in environments.values():
            environment.close()
    settings = {
        "player": player.name,
        "tasks": ", ".join(sorted({f"{task.source} {task.source_version}".strip() for task in tasks})),
        "action_format": action_format,
        "decoder": decoder,
        "offer": ", ".join(sorted({episode.offer for episode in episodes})),
        "feedback": "standard",
    }
    return ReplayReport(settings, tuple(episodes))


def play(env: gym.Env[str, str], task: Task, messages: Sequence[str]) -> EpisodeRecord:
    """Play one task with known messages; those after its end are not sent.

    Args:
        env: An environment that serves the task.
        task: The task.
        messages: Assistant messages. If they end before the task does, it has failed as `force_terminated`.
    """
    _, info = env.reset(options={"task_id": task.id})
    steps = calls = errors = 0
    over = False
    for message in messages:
        _, _, terminated, truncated, info = env.step(message)
        steps += 1
        calls += len(info["tool_results"])
        errors += sum(result["error"] is not None for result in info["tool_results"]) + ("parse_error" in info)
        over = terminated or truncated
        if over:
            break
    turns = info["turn_results"]
    return EpisodeRecord(
        task_id=task.id,
        category=task.category,
        domains=task.domains,
        num_turns=task.num_turns,
        turns=len(turns),
        num_steps=steps,
        calls=calls,
        errors=errors,
        success=info.get("success", False),
        error_type=info.get("error_type") if over else FORCE_TERMINATED,
        progress=sum(turn["passed"] for turn in turns) / task.num_turns,
        offer=cast(EnvtuneEnv, env.unwrapped).episode.offer,
        messages=tuple(messages[:steps]),
    )


def _environments(tasks: Sequence[Task], options: dict[str, Any]) -> dict[str, gym.Env[str, str]]:
    """Return an environment for each first domain of the tasks, which serves those of them that it is to play."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.domains[0], []).append(task)
    return {
        domain: gym.make(env_id(domain), tasks=TaskSet(group), disable_env_checker=True, **options)
        for domain, group in groups.items()
    }


def _with_average(shares: dict[str, float]) -> dict[str, float]:
    return {**shares, "average": sum(shares.values()) / len(shares)}
