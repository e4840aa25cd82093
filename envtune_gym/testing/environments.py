"""The environment of a domain: what Gymnasium asks of any, and that it serves the domain."""

from __future__ import annotations

import warnings

import gymnasium as gym
from gymnasium.utils.env_checker import check_env

from envtune_gym.registration import env_id
from envtune_gym.testing.base import Suite

__all__ = ["EnvironmentSuite"]


class EnvironmentSuite(Suite):
    """`gym.make` of the domain's id gives an environment like any other."""

    def test_the_environment_passes_gymnasiums_checker_without_a_warning(self) -> None:
        """Spaces, seeding, reset, step and rendering are as Gymnasium wants them."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(gym.make(env_id(self.domain), tasks=self.tasks).unwrapped)

    def test_the_environment_serves_tasks_of_the_domain(self) -> None:
        """Each involves it, and has its tools on offer."""
        env = gym.make(env_id(self.domain), tasks=self.tasks)
        for seed in range(5):
            _, info = env.reset(seed=seed)
            assert self.domain in info["domains"]
            offered = {tool["function"]["name"] for tool in info["tools"]}
            assert offered & set(self.domain_class().tools)
