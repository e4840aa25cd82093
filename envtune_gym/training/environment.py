"""The environment of a run, before curriculum and feedback are put around it."""

from __future__ import annotations

import gymnasium as gym

from envtune_gym import TaskSet
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.training.examples import WorkedExamples
from envtune_gym.training.settings import Settings

__all__ = ["make_env"]


def make_env(settings: Settings, tasks: TaskSet, max_steps_per_turn: int) -> gym.Env[str, str]:
    """Return an environment that serves the tasks as the settings say."""
    env: gym.Env[str, str] = gym.make(
        MULTI_DOMAIN_ID,
        tasks=tasks,
        action_format=settings.action_format,
        tool_docs=settings.tool_docs,
        max_steps_per_turn=max_steps_per_turn,
        disable_env_checker=True,
    )
    return WorkedExamples(env, settings.action_format) if settings.examples else env
