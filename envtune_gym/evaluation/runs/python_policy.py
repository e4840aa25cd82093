"""A policy that is any Python callable.

It is called once a step, as `callable(messages, tools)`: all chat messages of the episode so far, system prompt first,
and the function schemas on offer now, both in OpenAI's form and both to be read only. It returns the next assistant
message, as text in the run's action format, or a `Reply` if it also counts tokens. If it has a parameter `seed`, it is
given the episode's own.

It needs to keep nothing between calls: all that has been said is in the messages. An `async def` is awaited in the
event loop and must not block it; any other callable runs in threads, and in several at once unless the concurrency is
1. What it raises, `sys.exit()` included, breaks the episode and no other.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.evaluation.runs.policies import AsyncPolicy, Reply
from envtune_gym.tasks import Task

__all__ = ["CallableError", "PythonMaker"]


class CallableError(EnvtuneError):
    """What a policy's callable has raised, with the line that did."""


class PythonMaker:
    """Plays by a callable; the module says how it is called.

    Args:
        place: `MODULE:CALLABLE`; the module is looked for in the current directory, too.
        concurrency: Threads for a callable that is not `async`.

    Raises:
        ConfigurationError: If there is no such callable.
    """

    def __init__(self, place: str, concurrency: int) -> None:
        self.name = f"python:{place}"
        self._function = _load(place)
        self._takes_seed = _takes_seed(self._function)
        self._threads = None if _is_async(self._function) else _Threads(concurrency)

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return the policy, with the episode's seed if it takes one."""
        return _CallablePolicy(
            partial(self._function, seed=seed) if self._takes_seed else self._function, self._threads
        )

    async def aclose(self) -> None:
        """Let go of the threads."""
        if self._threads is not None:
            self._threads.close()


class _Threads:
    """Threads that do not keep the process: a callable that hangs must not outlive Ctrl-C, as in an executor it would.

    Args:
        most: The most of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._started = 0
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()

    async def call(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns; what it raises, is raised here."""
        future: Future[Any] = Future()
        self._calls.put((future, function))
        if self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, name=f"policy {self._started}", daemon=True).start()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Have each thread end after the call that it is at."""
        for _ in range(self._started):
            self._calls.put(None)

    def _work(self) -> None:
        while (one := self._calls.get()) is not None:
            future, function = one
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)


class _CallablePolicy:
    def __init__(self, function: Callable[..., Any], threads: _Threads | None) -> None:
        self._function = function
        self._threads = threads

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        try:
            if self._threads is None:
                said = await self._function(messages, tools)
            else:
                said = await self._threads.call(partial(_called, self._function, messages, tools))
        except CallableError:
            raise
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            raise CallableError(_described(error)) from error
        except (Exception, SystemExit) as error:
            raise CallableError(_described(error)) from error
        return _as_reply(said)


def _called(function: Callable[..., Any], messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
    try:
        return function(messages, tools)
    except (StopIteration, SystemExit) as error:  # a future cannot hold the one, and the other would end the event loop
        raise CallableError(_described(error)) from error


def _is_cancelled() -> bool:
    """Tell whether the episode itself is to stop; Python 3.10 cannot tell, and then it is."""
    task: Any = asyncio.current_task()
    return bool(task.cancelling()) if hasattr(task, "cancelling") else True


def _as_reply(said: Any) -> Reply:
    if isinstance(said, str):
        return Reply(said)
    if isinstance(said, Reply) and isinstance(said.text, str):
        return said
    raise CallableError(f"the policy returned {type(said).__name__}, not the assistant's message as text")


def _load(place: str) -> Callable[..., Any]:
    module_name, _, name = place.rpartition(":")
    if not module_name or not name:
        raise ConfigurationError(f"a policy in Python is named as python:MODULE:CALLABLE, not python:{place}")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module_name), name, None)
    except (Exception, SystemExit) as error:  # the module's own code runs here
        raise ConfigurationError(f"cannot import {module_name}: {_unimportable(module_name, error)}") from error
    if not callable(found):
        raise ConfigurationError(f"{module_name} has no callable named {name}")
    function: Callable[..., Any] = found
    return function


def _unimportable(module_name: str, error: BaseException) -> str:
    """Return why a module cannot be imported: there is none, or what its own code raised and where."""
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module_name}.".startswith(f"{error.name}."):
        missing = str(error).replace("No module named", "there is no module", 1)
        return f"{missing}; modules are searched in the current folder, in PYTHONPATH and among installed packages"
    return _described(error)


def _takes_seed(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # builtins have none
        return False
    return "seed" in parameters


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _described(error: BaseException) -> str:
    """Return what was raised and where; the folder of the file is nobody's business."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_between(frame.filename)]
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _is_between(filename: str) -> bool:
    """Tell whether a file only leads to the code of the callable: this one, or the interpreter's imports."""
    return filename.startswith("<frozen importlib") or filename in (__file__, importlib.__file__)
