"""What the wrappers share: they work over this package's environment, however many wrappers stand between."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from envtune_gym.env import EnvtuneEnv, Episode
from envtune_gym.errors import ConfigurationError

__all__ = ["EnvtuneWrapper", "RewardWrapper", "layers"]


class EnvtuneWrapper(gym.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Base class of the wrappers: refuses any other environment, and finds the one inside.

    Args:
        env: The environment to wrap.
        **arguments: The other arguments of the wrapper, as plain data, from which `env.spec` can make it again.

    Raises:
        ConfigurationError: If there is no EnvTune environment inside.
    """

    gives_feedback: ClassVar[bool] = False
    """Whether the wrapper rewrites results; two such wrappers in one stack would rewrite each other's text."""

    def __init__(self, env: gym.Env[str, str], **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        inside = env.unwrapped if isinstance(env, gym.Env) else env
        if not isinstance(inside, EnvtuneEnv):
            raise ConfigurationError(
                f"{type(self).__name__} wraps an EnvTune environment, such as gym.make('EnvTune/TravelAPI-v0'), "
                f"not {type(inside).__name__}"
            )
        other = next((layer for layer in layers(env) if getattr(layer, "gives_feedback", False)), None)
        if self.gives_feedback and other is not None:
            raise ConfigurationError(
                f"{type(self).__name__} cannot wrap {type(other).__name__}: both give feedback; use one of them"
            )
        gym.Wrapper.__init__(self, env)
        self._inside = inside
        self._seen: Episode | None = None

    @property
    def unwrapped(self) -> EnvtuneEnv:
        """The environment itself."""
        return self._inside

    def _began_episode(self) -> bool:
        """Tell whether another episode runs than at the last call; a wrapper inside may begin one by itself."""
        before, self._seen = self._seen, self._inside.episode
        return self._seen is not before


class RewardWrapper(EnvtuneWrapper):
    """Base class of the wrappers that replace the reward by one that depends on the episode so far.

    A subclass says in `_forget` how an account begins, and in `_pay` what a step is worth.

    Args:
        env: The environment to wrap.
        **arguments: The other arguments of the wrapper, as plain data.

    Raises:
        ConfigurationError: If there is no EnvTune environment inside.
    """

    def __init__(self, env: gym.Env[str, str], **arguments: Any) -> None:
        super().__init__(env, **arguments)
        self._forget()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, of which nothing has been paid."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._began_episode()
        self._forget()
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step and pay for it; one that began another episode is paid nothing."""
        observation, _, terminated, truncated, info = self.env.step(action)
        info.pop("reward_parts", None)  # of a wrapper inside, whose reward this one replaces
        if self._began_episode():
            self._forget()
            return observation, 0.0, terminated, truncated, info
        return observation, self._pay(info, terminated or truncated), terminated, truncated, info

    @abstractmethod
    def _forget(self) -> None:
        """Begin the account of an episode."""

    @abstractmethod
    def _pay(self, info: dict[str, Any], is_last: bool) -> float:
        """Take note of a step and return its reward.

        Args:
            info: What the step came with; a reward that is a sum of terms enters them as `reward_parts`.
            is_last: Whether the episode ended with it.
        """


def layers(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    """Yield an environment and all that it wraps, the outermost first."""
    yield env
    while isinstance(env, gym.Wrapper):
        env = env.env
        yield env
