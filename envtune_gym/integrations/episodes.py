"""The environment of one episode, as the adapters to outside frameworks make it: `gym.make` and the wrappers."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium as gym

from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper, ProgressRewardWrapper

__all__ = ["EpisodeReward", "TextFormat", "episode_env", "figures"]

EpisodeReward = Literal["verdict", "progress"]
"""What the rewards of an episode add up to: the benchmark's verdict, or the share of turns passed."""
TextFormat = Literal["tool_call", "python"]
"""The action formats that stand in a message's text, where any framework finds them."""


def episode_env(
    tasks: TaskSet, *, reward: EpisodeReward = "verdict", feedback: FeedbackLevel = "off", **options: Any
) -> gym.Env[str, str]:
    """Return an environment that serves some tasks.

    Args:
        tasks: The tasks.
        reward: What its rewards add up to.
        feedback: Level of the feedback.
        **options: Further options of `gym.make`.

    Raises:
        ConfigurationError: If an option has no meaning.
    """
    if reward not in ("verdict", "progress"):
        raise ConfigurationError(f"reward must be 'verdict' or 'progress', not {reward!r}")
    env: gym.Env[str, str] = gym.make(MULTI_DOMAIN_ID, tasks=tasks, disable_env_checker=True, **options)
    env = AugmentedFeedbackWrapper(env, level=feedback)
    return ProgressRewardWrapper(env) if reward == "progress" else env


def figures(info: dict[str, Any]) -> dict[str, float]:
    """Return what an episode has come to, from its latest `info`: `success` and `progress`."""
    passed = sum(turn["passed"] for turn in info["turn_results"])
    return {"success": float(info.get("success", False)), "progress": passed / info["num_turns"]}
