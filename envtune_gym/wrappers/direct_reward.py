"""`DirectRewardWrapper`: progress with a little for the format, what direct GRPO is trained on."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from envtune_gym.wrappers.base import EnvtuneWrapper

__all__ = ["DirectRewardWrapper"]

PROGRESS, FORMAT = 0.9, 0.1
"""Weights of the two parts."""


class DirectRewardWrapper(EnvtuneWrapper):
    """Replaces the reward by 0.9 · R_P + 0.1 · R_format, in [0, 1]: the paper's baseline without a curriculum.

    R_P is the progress, paid as the turns pass; R_format = (N - C_format) / N, the share of the N steps that keep the
    letter of the format, is paid in the last step. An episode that is cut off outside the environment is not paid it.

    Args:
        env: The environment to wrap.

    Raises:
        ConfigurationError: If there is no EnvTune environment inside.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import DirectRewardWrapper
        >>> env = DirectRewardWrapper(gym.make("EnvTune/MathAPI-v0", max_steps_per_turn=1))
        >>> _ = env.reset(seed=0)
        >>> _ = env.step('<tool_call>[{"name": "add", "arguments": {"a": 1, "b": 2}}]</tool_call>')
        >>> env.step("<tool_call>[oops")[1]
        0.05
    """

    def __init__(self, env: gym.Env[str, str]) -> None:
        super().__init__(env)
        self._steps = self._kept = 0
        self._progress = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, of which nothing has been paid."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._began_episode()
        self._forget()
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step; pay for the turn if it ended one, and for the format if it was the last."""
        observation, _, terminated, truncated, info = self.env.step(action)
        if self._began_episode():
            self._forget()
        else:
            self._steps += 1
            self._kept += bool(info["format_ok"]) and "parse_error" not in info
        progress = self.unwrapped.episode.scorer.progress
        reward, self._progress = PROGRESS * (progress - self._progress), progress
        if terminated or truncated:
            reward += FORMAT * self._kept / max(self._steps, 1)
        return observation, reward, terminated, truncated, info

    def _forget(self) -> None:
        self._steps = self._kept = 0
        self._progress = 0.0
