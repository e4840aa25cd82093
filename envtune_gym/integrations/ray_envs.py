"""Environments in the processes of a Ray cluster, for a trainer that resets and steps them here.

An environment there follows from what it was told since its last reset: the state of a curriculum, the seed, the task,
the actions. That is kept here, so that one whose process was lost is made again elsewhere, and told it all again.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import gymnasium as gym
import ray
from ray.exceptions import RayError, RayTaskError
from typing_extensions import Self

from envtune_gym.errors import ConfigurationError, EpisodeError, ServerError
from envtune_gym.integrations.ray import cause_of, cluster_processors, first_line

__all__ = ["RayEnv", "RayEnvs"]

MakeEnv = Callable[[], gym.Env[str, str]]
_Outcome = tuple[Any, ...]

_ATTEMPTS = 4
"""How many processes a step may cost."""


@dataclass(frozen=True)
class _Episode:
    """All that an episode follows from.

    Attributes:
        state: The state of a curriculum that the environment goes back to first, if it has one.
        seed: The seed of the reset.
        options: Its options.
        actions: The actions so far.
    """

    state: Mapping[str, Any] | None
    seed: int | None
    options: dict[str, Any] | None
    actions: list[str] = field(default_factory=list)


class _EnvHost:
    """The actor: some environments in a process of the cluster, by their numbers."""

    def __init__(self, make_env: MakeEnv) -> None:
        self._make_env = make_env
        self._envs: dict[int, gym.Env[str, str]] = {}

    def describe(self) -> dict[str, Any]:
        env = self._make_env()
        spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
        return {**spaces, "action_format": getattr(env.unwrapped, "action_format", None)}

    def play(self, number: int, episode: _Episode) -> _Outcome:
        """Begin an episode and take its actions; return the last outcome."""
        if number not in self._envs:
            self._envs[number] = self._make_env()
        env = self._envs[number]
        if episode.state is not None:
            env.get_wrapper_attr("load_state_dict")(episode.state)
        outcome: _Outcome = env.reset(seed=episode.seed, options=episode.options)
        for action in episode.actions:
            outcome = env.step(action)
        return outcome

    def step(self, number: int, action: str) -> _Outcome:
        return self._envs[number].step(action)

    def drop(self, number: int) -> None:
        env = self._envs.pop(number, None)
        if env is not None:
            env.close()


class _Host:
    """A process of the cluster, and the one after it if it dies.

    Attributes:
        actor: The actor in it.
        life: How many have died before.
    """

    def __init__(self, make_env: Any) -> None:
        self._make_env = make_env
        self.life = 0
        self.actor = self._new()

    def outcome(self, sent: Any, life: int, again: Callable[[], Any]) -> Any:
        """Return what a call has come to; if its process died, what it has come to in another.

        Args:
            sent: The call.
            life: The life in which it was made.
            again: Makes it again.

        Raises:
            ServerError: If one process after the other dies of it.
            Exception: What the environment raises.
        """
        for attempt in range(_ATTEMPTS):
            if attempt:
                life, sent = self.life, again()
            try:
                return ray.get(sent)
            except RayTaskError as error:
                raise cause_of(error) from None
            except RayError as error:
                failure = error
                self._replace(life)
        raise ServerError(f"the process of an environment died {_ATTEMPTS} times in a row: {first_line(failure)}")

    def describe(self) -> Any:
        """Ask what its environments are like; all are alike."""
        return self.actor.describe.remote()

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(RayError):
            ray.kill(self.actor)

    def _replace(self, life: int) -> None:
        """Start another process, if that has not been done since that life."""
        if life == self.life:
            self.close()
            self.life += 1
            self.actor = self._new()

    def _new(self) -> Any:
        # It reserves no processor, for it works between two replies only, while others may wait for one for ever.
        return ray.remote(_EnvHost).options(num_cpus=0, scheduling_strategy="SPREAD").remote(self._make_env)


class RayEnvs:
    """Makes environments that live in the processes of a Ray cluster; call it as the trainer calls `make_env`.

    Use it within `envtune_gym.integrations.ray.cluster`, and in a `with` statement, or close it.

    Args:
        make_env: Makes an environment, wrappers included; it is pickled, and so is what it refers to.
        processes: How many processes; by default one a processor of the cluster.
    """

    def __init__(self, make_env: MakeEnv, processes: int | None = None) -> None:
        self._make_env = ray.put(make_env)
        self._hosts = [_Host(self._make_env) for _ in range(processes or cluster_processors())]
        self._numbers = itertools.count()
        self._described: dict[str, Any] | None = None

    def __call__(self) -> RayEnv:
        """Return one more environment; the processes take turns."""
        number = next(self._numbers)
        host = self._hosts[number % len(self._hosts)]
        if self._described is None:
            self._described = host.outcome(host.describe(), host.life, host.describe)
        return RayEnv(host, number, **self._described)

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the processes."""
        for host in self._hosts:
            host.close()


class RayEnv(gym.Env[str, str]):
    """An environment in another process, with what all that is done in several at once needs: `AsynchronousEnv`.

    Its outcomes are those that the environment would have here. A reset names the seed, so that the episode can be
    repeated, and what an environment carries over from one episode to the next must be told by `load_state_dict`.

    Args:
        host: The process.
        number: Its number there.
        observation_space: Its space of observations.
        action_space: Its space of actions.
        action_format: How its actions write calls.
    """

    def __init__(
        self,
        host: _Host,
        number: int,
        observation_space: gym.Space[str],
        action_space: gym.Space[str],
        action_format: str | None,
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.action_format = action_format
        self._host = host
        self._number = number
        self._life = -1
        self._state: Mapping[str, Any] | None = None
        self._episode: _Episode | None = None
        self._sent: Any = None
        self._dropped = weakref.finalize(self, _drop, host, number)
        self._dropped.atexit = False

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Have each episode from now on begin in this state of a curriculum (`CurriculumWrapper.state_dict`)."""
        self._state = state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Raises:
            ConfigurationError: If there is no seed.
        """
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        self.step_async(action)
        return self.step_wait()

    def reset_async(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin to reset.

        Raises:
            ConfigurationError: If there is no seed.
        """
        if seed is None:
            raise ConfigurationError("reset an environment in a Ray cluster with a seed, so that it can be repeated")
        self._episode = _Episode(self._state, seed, options)
        self._sent = self._send_episode()

    def reset_wait(self) -> tuple[str, dict[str, Any]]:
        """Return what the reset has come to."""
        observation, info = self._outcome()
        return observation, info

    def step_async(self, action: str) -> None:
        """Begin to take a step.

        Raises:
            EpisodeError: If no episode has begun.
        """
        if self._episode is None:
            raise EpisodeError("no episode has begun; call reset() first")
        self._episode.actions.append(action)
        is_there = self._life == self._host.life
        self._sent = self._host.actor.step.remote(self._number, action) if is_there else self._send_episode()

    def step_wait(self) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Return what the step has come to."""
        observation, reward, terminated, truncated, info = self._outcome()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Let go of the environment there."""
        self._dropped()

    def _send_episode(self) -> Any:
        self._life = self._host.life
        return self._host.actor.play.remote(self._number, self._episode)

    def _outcome(self) -> _Outcome:
        outcome: _Outcome = self._host.outcome(self._sent, self._life, self._send_episode)
        return outcome


def _drop(host: _Host, number: int) -> None:
    """Let go of an environment, which is no more if its process or its cluster has ended."""
    if ray.is_initialized():
        with contextlib.suppress(Exception):  # of another cluster Ray says so by a plain one
            host.actor.drop.remote(number)
