"""The run over tasks: so many episodes in work at a time, each kept as soon as it is finished.

Environments are work for the processor, and they run in the event loop, between the replies: a step takes a tenth of a
millisecond, a model's reply many. What takes longer does not happen in the loop's way: environments are made once for
each episode in work and used again, the file is written through to the disk once in a while (`RunFile`), and nothing
is gathered in batches, so that an answered episode asks again without waiting for others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import gymnasium as gym

from envtune_gym.asking import RefusedAccessError, RefusedRequestError
from envtune_gym.evaluation.runs.episode import MakeEnv, new_record, play_episode
from envtune_gym.evaluation.runs.policies import PolicyMaker, episode_seed
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.tasks import Task

__all__ = ["EpisodeToPlay", "Executor", "InProcess", "Played", "Runner", "episodes_to_play"]

_PATIENCE = 16
"""Episodes beyond those in work that may break in a row before the run stops."""


@dataclass(frozen=True)
class EpisodeToPlay:
    """A task, and which of its episodes."""

    task: Task
    sample: int


def episodes_to_play(tasks: Iterable[Task], samples: int) -> Iterator[EpisodeToPlay]:
    """Yield the episodes of a run; those of a task stand together, for servers keep what they have read lately."""
    for task in tasks:
        for sample in range(samples):
            yield EpisodeToPlay(task, sample)


class Played(NamedTuple):
    """A finished episode.

    Attributes:
        record: What is kept of it.
        error: What broke it, or None.
    """

    record: EvaluatedEpisode
    error: Exception | None


class Executor(Protocol):
    """Where episodes are played."""

    async def play(self, one: EpisodeToPlay) -> Played:
        """Play an episode to its end; many are asked for at once."""

    async def aclose(self) -> None:
        """Give back what is kept between episodes."""


class InProcess:
    """Plays episodes in this process.

    Args:
        make_env: Makes an environment that serves all tasks.
        maker: Makes the policies; it is closed with this.
        run: The settings that the records name.
    """

    def __init__(self, make_env: MakeEnv, maker: PolicyMaker, run: RunSettings) -> None:
        self._make_env = make_env
        self._maker = maker
        self._run = run
        self._idle: list[gym.Env[str, str]] = []

    async def play(self, one: EpisodeToPlay) -> Played:
        """Play an episode, in an environment that no other one uses meanwhile."""
        env = self._idle.pop() if self._idle else self._make_env()
        try:
            record = new_record(one.task, one.sample, self._run)
            seed = episode_seed(self._run.seed, one.task.id, one.sample)
            error = await play_episode(env, one.task, record, partial(self._maker.make, one.task, one.sample, seed))
        finally:
            self._idle.append(env)
        return Played(record, error)

    async def aclose(self) -> None:
        """Close the environments and the policies."""
        for env in self._idle:
            env.close()
        self._idle.clear()
        await self._maker.aclose()


class Runner:
    """Has episodes played, several at a time.

    Args:
        executor: Plays them.
        keep: Called with each finished episode, before the next one is begun.
        concurrency: Episodes in work at a time.

    Attributes:
        stopped: Why no further episode was begun, if the policies could not go on at all; else None.
    """

    def __init__(self, executor: Executor, keep: Callable[[EvaluatedEpisode], object], *, concurrency: int = 1) -> None:
        self.stopped: str | None = None
        self._executor = executor
        self._keep = keep
        self._concurrency = concurrency
        self._broken_in_a_row = 0

    async def play(self, episodes: Iterable[EpisodeToPlay]) -> None:
        """Play episodes until all are finished, or nothing but broken ones has come for long.

        Raises:
            DataError: If an episode cannot be kept. Those that were kept are safe.
        """
        waiting = iter(episodes)
        workers = [asyncio.ensure_future(self._work(waiting)) for _ in range(self._concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, waiting: Iterator[EpisodeToPlay]) -> None:
        for one in waiting:
            await asyncio.sleep(0)  # a policy that never waits must not keep the loop from signals
            record, error = await self._executor.play(one)
            if isinstance(error, RefusedAccessError):  # says nothing of this episode
                self.stopped = str(error)
            else:
                self._keep(record)
                self._count(error)
            if self.stopped is not None:
                return

    def _count(self, error: Exception | None) -> None:
        """Stop the run once nothing but broken episodes comes, of causes that are not their own."""
        if error is None:
            self._broken_in_a_row = 0
        elif not isinstance(error, RefusedRequestError):
            self._broken_in_a_row += 1
            if self._broken_in_a_row > self._concurrency + _PATIENCE:
                self.stopped = f"the last {self._broken_in_a_row} episodes all broke, this one by: {error}"
