"""`EnvtuneVectorEnv`: what `gym.make_vec` makes where no other vectorization is asked for."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from envtune_gym.env import EnvtuneEnv
from envtune_gym.errors import ConfigurationError, EpisodeError
from envtune_gym.vector.infos import column, stack_infos

__all__ = ["EnvtuneVectorEnv"]

Step = tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any], dict[str, Any]]


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Keep the garbage collector from running meanwhile, if it is in use.

    All that a batch makes is alive until it is returned. The collector would look through it again and again, and
    through the tasks as well, find nothing, and take more time than all else that a vector environment costs.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class EnvtuneVectorEnv(SyncVectorEnv):
    """Many episodes in one process, over one set of tasks that all of them share.

    It returns what `SyncVectorEnv` returns for the same environments, seeds and actions, and costs little more than a
    loop over them: the tasks are loaded and the environment is checked once, and `info` is put together by key.

    Environment `i` is seeded with `seed + i` and draws its tasks from its own generator, the next one at each of its
    resets, automatic or not. So the task of its k-th episode follows from `seed + i` and `k`, whatever the actions, the
    other environments and the autoreset mode; `info["task_id"]` names it in the step that shows its first request.

    Autoreset modes (Gymnasium's): `"NextStep"` resets an environment that has ended in the step after, whose action is
    ignored; `"SameStep"` at once, with the end in `info["final_obs"]` and `info["final_info"]`; `"Disabled"` leaves it
    to `reset(options={"reset_mask": …})`.

    Args:
        num_envs: How many episodes run side by side.
        env_wrappers: What to wrap each environment in, the innermost first, as `wrappers` of `gym.make_vec` for the
            other vectorizations; they may change the spaces.
        autoreset_mode: `"NextStep"`, `"SameStep"`, `"Disabled"`, or the `AutoresetMode`.
        **env_kwargs: The arguments of `EnvtuneEnv`.

    Raises:
        ConfigurationError: If an argument has no meaning, or no task is left to serve.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> envs = gym.make_vec("EnvTune/MathAPI-v0", num_envs=3, categories=["base"])
        >>> observations, infos = envs.reset(seed=0)
        >>> len(observations), infos["turn"]
        (3, array([0, 0, 0]))
    """

    def __init__(
        self,
        num_envs: int = 1,
        env_wrappers: Sequence[Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]] = (),
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **env_kwargs: Any,
    ) -> None:
        if type(num_envs) is not int or num_envs < 1:
            raise ConfigurationError(f"num_envs must be a positive integer, not {num_envs!r}")
        first = EnvtuneEnv(**env_kwargs)
        first.metadata = dict(first.metadata)  # Gymnasium 1.2 writes the autoreset mode into it

        def member() -> gym.Env[Any, Any]:
            env: gym.Env[Any, Any] = copy.copy(first)  # nothing has begun: tasks and spaces are all there is to share
            for wrapper in env_wrappers:
                env = wrapper(env)
            return env

        super().__init__([member] * num_envs, copy=False, autoreset_mode=_autoreset_mode(autoreset_mode))
        self._shown: list[Any] = []  # the last observation of each environment
        self._ended = np.zeros(num_envs, dtype=np.bool_)

    @_collection_paused()
    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each environment, or in some.

        Args:
            seed: A seed for the first environment, from which the others count on; or one for each.
            options: Those of `EnvtuneEnv`, for each environment that is reset, and `reset_mask`: an array of truth
                values that says which those are. The others go on, and their last observation is returned again.

        Raises:
            ConfigurationError: If an option has no meaning, or the seeds are of another number.
            EpisodeError: If some are to be reset before all have been once.
        """
        seeds, mask = self._seeds(seed), self._reset_mask(options or {})
        passed_on = None if options is None else {key: options[key] for key in options if key != "reset_mask"}
        shown = self._shown or [None] * self.num_envs
        infos: list[tuple[int, dict[str, Any]]] = []
        for index in np.flatnonzero(mask).tolist():
            shown[index], info = self.envs[index].reset(seed=seeds[index], options=passed_on)
            self._ended[index] = False
            infos.append((index, info))
        self._shown = shown
        return self._batch(), stack_infos(infos, self.num_envs)

    @_collection_paused()
    def step(self, actions: Any) -> Step:
        """Take one action in each environment.

        Raises:
            ConfigurationError: If there is not one action for each, or one is not a string; no episode moves then.
            EpisodeError: Before the first reset; or, without autoreset, if an episode has ended.
        """
        if not self._shown:
            raise EpisodeError("no episode has begun; call reset() first")
        mode = self.autoreset_mode
        if mode is AutoresetMode.DISABLED and self._ended.any():
            ended = np.flatnonzero(self._ended).tolist()
            raise EpisodeError(f"the episodes of {ended} have ended; reset them with options={{'reset_mask': …}}")
        waiting = self._ended.tolist() if mode is AutoresetMode.NEXT_STEP else [False] * self.num_envs
        results = list(self._played(self._actions(actions), waiting))
        self._shown, rewards, terminated, truncated, infos = map(list, zip(*results, strict=True))
        terminations = np.array(terminated, dtype=np.bool_)
        truncations = np.array(truncated, dtype=np.bool_)
        self._ended = terminations | truncations
        finals = self._begin_anew(infos) if mode is AutoresetMode.SAME_STEP else {}
        infos_by_key = finals | stack_infos(enumerate(infos), self.num_envs)
        return self._batch(), np.array(rewards, dtype=np.float64), terminations, truncations, infos_by_key

    def _played(self, actions: list[Any], waiting: list[bool]) -> Iterator[tuple[Any, Any, bool, bool, dict[str, Any]]]:
        """Step the environments, and reset those that wait for it."""
        for env, action, waits in zip(self.envs, actions, waiting, strict=True):
            if waits:
                observation, info = env.reset()
                yield observation, 0.0, False, False, info
            else:
                yield env.step(action)

    def _begin_anew(self, infos: list[dict[str, Any]]) -> dict[str, Any]:
        """Reset the environments that have just ended, and return their last observations and infos."""
        ended = np.flatnonzero(self._ended).tolist()
        if not ended:
            return {}
        observations = column(ended, [self._shown[index] for index in ended], self.num_envs)
        last = stack_infos(((index, infos[index]) for index in ended), self.num_envs)
        for index in ended:
            self._shown[index], infos[index] = self.envs[index].reset()
        return {
            "final_obs": observations,
            "_final_obs": self._ended.copy(),
            "final_info": last,
            "_final_info": self._ended.copy(),
        }

    def _batch(self) -> Any:
        """Return the last observations in the observation space."""
        space = self.single_observation_space
        empty: Any = create_empty_array(space, n=self.num_envs)
        return concatenate(space, self._shown, empty)

    def _actions(self, actions: Any) -> list[Any]:
        """Return the action of each environment.

        Raises:
            ConfigurationError: If there is not one for each, or one is not a string where text is acted in.
        """
        is_text = isinstance(self.single_action_space, Text)
        if is_text and isinstance(actions, str):
            raise ConfigurationError(f"actions are a list of strings, one for each environment, not {actions!r:.80}")
        single = list(actions if is_text else iterate(self.action_space, actions))
        if len(single) != self.num_envs:
            raise ConfigurationError(f"there are {self.num_envs} environments, but {len(single)} actions")
        if is_text and not all(isinstance(action, str) for action in single):
            wrong = next(index for index, action in enumerate(single) if not isinstance(action, str))
            raise ConfigurationError(f"an action is a string; that of environment {wrong} is {single[wrong]!r:.80}")
        return single

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """Return the seed of each environment.

        Raises:
            ConfigurationError: If there is not one for each.
        """
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + index for index in range(self.num_envs)]
        seeds = [None if one is None else int(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise ConfigurationError(f"there are {self.num_envs} environments, but {len(seeds)} seeds")
        return seeds

    def _reset_mask(self, options: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return which environments are to be reset.

        Raises:
            ConfigurationError: If the mask is no array of as many truth values, or none of them is true.
            EpisodeError: If it leaves out an environment that has not been reset yet.
        """
        if "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigurationError(f"reset_mask is an array of {self.num_envs} truth values, not {mask!r:.80}")
        if not mask.any():
            raise ConfigurationError("reset_mask names no environment to reset")
        if not self._shown and not mask.all():
            raise EpisodeError("no episode has begun; reset all environments before some of them")
        return mask


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(one.value) for one in AutoresetMode)
        raise ConfigurationError(f"autoreset_mode must be one of {known}, not {mode!r}") from None
