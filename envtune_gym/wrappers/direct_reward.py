"""`DirectRewardWrapper`: progress with a little for the format, what direct GRPO is trained on."""

from __future__ import annotations

from typing import Any

from envtune_gym.wrappers.base import RewardWrapper

__all__ = ["DirectRewardWrapper"]

PROGRESS, FORMAT = 0.9, 0.1
"""Weights of the two parts."""


class DirectRewardWrapper(RewardWrapper):
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

    def _forget(self) -> None:
        self._steps = self._kept = 0
        self._progress = 0.0

    def _pay(self, info: dict[str, Any], is_last: bool) -> float:
        self._steps += 1
        self._kept += bool(info["format_ok"]) and "parse_error" not in info
        progress = self.unwrapped.episode.scorer.progress
        reward, self._progress = PROGRESS * (progress - self._progress), progress
        return reward + FORMAT * self._kept / self._steps if is_last else reward
