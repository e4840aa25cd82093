"""`ProgressRewardWrapper`: pays for each turn of the task that passes."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium as gym

from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers.base import RewardWrapper

__all__ = ["ProgressMode", "ProgressRewardWrapper"]

ProgressMode = Literal["per_turn", "terminal"]


class ProgressRewardWrapper(RewardWrapper):
    """Replaces the reward by the progress reward R_P of the paper (section 3): passed turns / turns of the task.

    The denominator is the number of turns of the task, whether they are reached or not, so that being cut off never
    pays. Which turns pass is said in `envtune_gym.scoring.TurnResult`.

    * `"per_turn"` pays passed / T in the step that ends a turn; over the episode that adds up to R_P.
    * `"terminal"` pays R_P in the last step that the wrapper sees (a `TimeLimit` outside it ends the episode unseen).

    Args:
        env: The environment to wrap.
        mode: `"per_turn"` or `"terminal"`.

    Raises:
        ConfigurationError: If the mode is unknown, or there is no EnvTune environment inside.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import ProgressRewardWrapper
        >>> env = ProgressRewardWrapper(gym.make("EnvTune/MathAPI-v0", categories=["base"]))
        >>> _ = env.reset(seed=0)
        >>> env.step("<answer>I have done nothing.</answer>")[1]
        0.0
    """

    def __init__(self, env: gym.Env[str, str], mode: ProgressMode = "per_turn") -> None:
        if mode not in ("per_turn", "terminal"):
            raise ConfigurationError(f"mode must be 'per_turn' or 'terminal', not {mode!r}")
        super().__init__(env, mode=mode)
        self.mode = mode

    def _forget(self) -> None:
        self._paid = 0.0

    def _pay(self, info: dict[str, Any], is_last: bool) -> float:
        if self.mode == "terminal" and not is_last:
            return 0.0
        progress = self.unwrapped.episode.scorer.progress
        reward, self._paid = progress - self._paid, progress
        return reward
