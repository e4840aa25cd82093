"""A Ray cluster, and the episodes of an evaluation in its processes.

Those processes only play. What they need is made here and sent to them, and what comes of it is kept here. An episode
whose process was lost is played again from its beginning: a worker or a node that dies costs time and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from envtune_gym.asking import RefusedAccessError, RefusedRequestError
from envtune_gym.errors import EnvtuneError, ServerError
from envtune_gym.evaluation.runs.episode import new_record
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.runs.runner import EpisodeToPlay, Executor, Played

__all__ = ["RayExecutor", "cause_of", "cluster", "cluster_processors", "first_line"]

_OBJECT_STORE = 256 * 2**20
"""Bytes of shared memory of a local cluster; tasks and records are small, and Ray would take a third of the memory."""
_LOCAL = "local"
_PATIENCE = 10.0
"""Seconds that a cluster may take to accept a connection; Ray itself would try for minutes."""
_STARTS = 3
"""How often in a row a worker may die before it is ready."""
_TOGETHER, _ALONE = 2, 2
"""How often an episode is tried beside others, and then in a worker of its own, where no other can have killed it."""


@contextlib.contextmanager
def cluster(address: str | None = None, *, processors: int | None = None) -> Iterator[None]:
    """Join a cluster, or start a local one, and leave or end it afterwards; inside of another, this does nothing.

    Args:
        address: Where the cluster is, as `ray.init` takes it; by default what the environment variable `RAY_ADDRESS`
            names, else a local one is started.
        processors: Of a local one: how many it has; by default all.

    Raises:
        ServerError: If there is no such cluster, or it cannot be started.
    """
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS") or _LOCAL
    options: dict[str, Any] = {"logging_level": "warning"}
    if address == _LOCAL:
        options |= {"num_cpus": processors, "include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    try:
        _reach(address)
        ray.init(address, **options)
    except (ConnectionError, OSError, RuntimeError, ValueError, RayError) as error:
        raise ServerError(f"cannot join the Ray cluster {address!r}: {first_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Connect to an address of the form HOST:PORT, to see whether anybody is there; others are Ray's own affair."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()


def cluster_processors() -> int:
    """Return how many processors the cluster has now."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def cause_of(error: RayTaskError) -> Exception:
    """Return what was raised in a worker, which Ray wraps; what could not be sent is told in words."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception) and not isinstance(cause, RayError):
        return cause
    return ServerError(f"a Ray worker failed: {first_line(error)}")


class _EvaluationWorker:
    """The actor: an executor in a process of the cluster."""

    async def prepare(self, make_executor: Callable[[int], Executor], places: int) -> None:
        self._executor = make_executor(places)

    async def play(self, one: EpisodeToPlay) -> Played:
        record, error = await self._executor.play(one)
        return Played(record, error and _portable(error))


@dataclass(eq=False)
class _Worker:
    """What is known of an actor.

    Attributes:
        actor: The actor.
        places: Episodes that it may have in work.
        is_lost: Whether it died.
    """

    actor: Any
    places: int
    is_lost: bool = False


class RayExecutor:
    """Plays episodes in a cluster, with a worker on each processor; use it within `cluster`.

    An episode that several workers died of, alone in the last ones, is recorded as broken.

    Args:
        make_executor: Makes what plays in a worker, given how many episodes that one has in work; it is pickled.
        run: The settings that the records name.
        concurrency: Episodes in work at a time, in all workers.
    """

    def __init__(self, make_executor: Callable[[int], Executor], run: RunSettings, concurrency: int) -> None:
        self._make_executor = ray.put(make_executor)
        self._run = run
        self._concurrency = concurrency
        # A worker is in here once for each episode that it may still take; an error is for everybody who waits.
        self._free: asyncio.Queue[_Worker | EnvtuneError] = asyncio.Queue()
        self._workers: list[_Worker] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._alone = asyncio.Semaphore(cluster_processors())  # one death may send many episodes there
        self._has_begun = False

    async def play(self, one: EpisodeToPlay) -> Played:
        """Play an episode, again if its worker dies.

        Raises:
            EnvtuneError: If the workers cannot play at all.
        """
        if not self._has_begun:
            self._has_begun = True
            self._start_all()
        for _ in range(_TOGETHER):
            worker = await self._take()
            try:
                return await self._ask(worker, one)
            except RayError:
                self._replace(worker)
            finally:
                if not worker.is_lost:
                    self._free.put_nowait(worker)
        for _ in range(_ALONE):
            async with self._alone:
                worker = self._new(1, num_cpus=0)  # it must not wait for a processor
                try:
                    await self._prepare(worker)
                    return await self._ask(worker, one)
                except RayError:
                    continue
                finally:
                    self._end(worker)
        error = RefusedRequestError(f"the Ray workers that played it died, {_TOGETHER + _ALONE} in a row")
        record = new_record(one.task, one.sample, self._run)
        record.broken = str(error)
        return Played(record, error)

    async def aclose(self) -> None:
        """End the workers."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for worker in tuple(self._workers):
            self._end(worker)

    def _start_all(self) -> None:
        count = min(cluster_processors(), self._concurrency)
        share, rest = divmod(self._concurrency, count)
        for index in range(count):
            self._start(share + (index < rest))

    def _start(self, places: int) -> None:
        task = asyncio.ensure_future(self._make_ready(places))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _make_ready(self, places: int) -> None:
        """Start a worker, and give it out when it is there; a cluster may have no processor for it yet."""
        failure: EnvtuneError | None = None
        for _ in range(_STARTS):
            worker = self._new(places, num_cpus=1)
            try:
                await self._prepare(worker)
            except EnvtuneError as error:
                failure = error
                break
            except RayError as error:
                self._end(worker)
                failure = ServerError(f"Ray's workers die before they can play: {first_line(error)}")
            else:
                for _ in range(places):
                    self._free.put_nowait(worker)
                return
        assert failure is not None  # noqa: S101
        self._free.put_nowait(failure)

    async def _take(self) -> _Worker:
        while True:
            worker = await self._free.get()
            if isinstance(worker, EnvtuneError):
                self._free.put_nowait(worker)
                raise worker
            if not worker.is_lost:
                return worker

    def _new(self, places: int, num_cpus: int) -> _Worker:
        actor = ray.remote(_EvaluationWorker).options(num_cpus=num_cpus, max_concurrency=places).remote()
        worker = _Worker(actor, places)
        self._workers.append(worker)
        return worker

    async def _prepare(self, worker: _Worker) -> None:
        try:
            await worker.actor.prepare.remote(self._make_executor, worker.places)
        except RayTaskError as error:
            cause = cause_of(error)
            raise ServerError(f"a Ray worker cannot play this: {first_line(cause)}") from error

    async def _ask(self, worker: _Worker, one: EpisodeToPlay) -> Played:
        try:
            played: Played = await worker.actor.play.remote(one)
        except RayTaskError as error:
            raise cause_of(error) from error
        return played

    def _replace(self, worker: _Worker) -> None:
        """Start another worker in the place of one that died; each of its episodes asks for it."""
        if not worker.is_lost:
            self._end(worker)
            self._start(worker.places)

    def _end(self, worker: _Worker) -> None:
        worker.is_lost = True
        if worker in self._workers:
            self._workers.remove(worker)
            ray.kill(worker.actor)


def _portable(error: Exception) -> Exception:
    """Return an error of a kind that runs tell apart, and that can be sent; others may hold anything."""
    kind = type(error) if isinstance(error, (RefusedAccessError, RefusedRequestError)) else ServerError
    return kind(str(error))


def first_line(error: Exception) -> str:
    """Return the beginning of what an error says; Ray adds whole traces."""
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
