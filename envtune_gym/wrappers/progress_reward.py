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

    A turn in which nothing can be done yet (no ground truth: miss_func, miss_param) passes if nothing is done, so that
    an agent that never calls a tool earns these turns, and one that cannot tell them from the others learns to stay
    idle. With `earned`, which is ours and not the paper's, they pay only once a turn with ground truth has passed.

    * `"per_turn"` pays passed / T in the step that ends a turn; over the episode that adds up to R_P.
    * `"terminal"` pays R_P in the last step that the wrapper sees (a `TimeLimit` outside it ends the episode unseen).

    Args:
        env: The environment to wrap.
        mode: `"per_turn"` or `"terminal"`.
        earned: Pay nothing to an episode in which no turn with ground truth has passed.

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

    def __init__(self, env: gym.Env[str, str], mode: ProgressMode = "per_turn", earned: bool = False) -> None:
        if mode not in ("per_turn", "terminal"):
            raise ConfigurationError(f"mode must be 'per_turn' or 'terminal', not {mode!r}")
        super().__init__(env, mode=mode, earned=earned)
        self.mode = mode
        self.earned = earned

    def _forget(self) -> None:
        self._paid = 0.0

    def _pay(self, info: dict[str, Any], is_last: bool) -> float:
        if self.mode == "terminal" and not is_last:
            return 0.0
        progress = 0.0 if self.earned and self._is_idle() else self.unwrapped.episode.scorer.progress
        reward, self._paid = progress - self._paid, progress
        return reward

    def _is_idle(self) -> bool:
        """Tell whether the task has something to do and no such turn has passed."""
        episode = self.unwrapped.episode
        to_do = {turn for turn, calls in enumerate(episode.task.ground_truth) if calls}
        return bool(to_do) and not any(result.passed and result.turn in to_do for result in episode.scorer.turns)
