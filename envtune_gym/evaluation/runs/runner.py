"""The run over tasks: so many episodes in work at a time, each kept as soon as it is finished.

Environments are work for the processor, and they run in the event loop, between the replies: a step takes a tenth of a
millisecond, a model's reply many. What takes longer does not happen in the loop's way: environments are made once for
each place of the crowd and used again, the file is written through to the disk once in a while (`RunFile`), and nothing
is gathered in batches, so that an answered episode asks again without waiting for others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from envtune_gym.asking import RefusedAccessError, RefusedRequestError
from envtune_gym.evaluation.runs.episode import MakeEnv, new_record, play_episode
from envtune_gym.evaluation.runs.policies import PolicyMaker, episode_seed
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.tasks import Task

__all__ = ["EpisodeToPlay", "Runner", "episodes_to_play"]

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


class Runner:
    """Plays episodes, several at a time.

    Args:
        make_env: Makes an environment that serves all tasks.
        maker: Makes the policies.
        run: The settings that the records name.
        keep: Called with each finished episode, before the next one is begun.
        concurrency: Episodes in work at a time.

    Attributes:
        stopped: Why no further episode was begun, if the policies could not go on at all; else None.
    """

    def __init__(
        self,
        make_env: MakeEnv,
        maker: PolicyMaker,
        run: RunSettings,
        keep: Callable[[EvaluatedEpisode], object],
        *,
        concurrency: int = 1,
    ) -> None:
        self.stopped: str | None = None
        self._make_env = make_env
        self._maker = maker
        self._run = run
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
        env = None
        try:
            for one in waiting:
                await asyncio.sleep(0)  # a policy that never waits must not keep the loop from signals
                env = env or self._make_env()
                record = new_record(one.task, one.sample, self._run)
                seed = episode_seed(self._run.seed, one.task.id, one.sample)
                error = await play_episode(env, one.task, record, partial(self._maker.make, one.task, one.sample, seed))
                if isinstance(error, RefusedAccessError):  # says nothing of this episode
                    self.stopped = str(error)
                else:
                    self._keep(record)
                    self._count(error)
                if self.stopped is not None:
                    return
        finally:
            if env is not None:
                env.close()

    def _count(self, error: Exception | None) -> None:
        """Stop the run once nothing but broken episodes comes, of causes that are not their own."""
        if error is None:
            self._broken_in_a_row = 0
        elif not isinstance(error, RefusedRequestError):
            self._broken_in_a_row += 1
            if self._broken_in_a_row > self._concurrency + _PATIENCE:
                self.stopped = f"the last {self._broken_in_a_row} episodes all broke, this one by: {error}"
