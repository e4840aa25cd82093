"""What long runs of episodes have in common in the terminal: how they are interrupted, and the bar that they show."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from envtune_gym.evaluation.runs.records import EvaluatedEpisode

__all__ = ["episode_progress", "until_interrupted"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Not every system and no thread but the main one has signal handlers.
_NO_HANDLERS = (NotImplementedError, RuntimeError, ValueError)


async def until_interrupted(work: Coroutine[Any, Any, None]) -> bool:
    """Do some work to its end, or stop it in good order at Ctrl-C or SIGTERM; return whether it was finished.

    A second Ctrl-C stops at once.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    is_stopped = False

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True
        task.cancel()
        _remove_handlers(loop)

    with contextlib.suppress(*_NO_HANDLERS):
        for one in _SIGNALS:
            loop.add_signal_handler(one, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not is_stopped:
            raise
        return False
    finally:
        _remove_handlers(loop)
    return True


def _remove_handlers(loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(*_NO_HANDLERS):
        for one in _SIGNALS:
            loop.remove_signal_handler(one)


@contextlib.contextmanager
def episode_progress(total: int, done: int) -> Iterator[Callable[[EvaluatedEpisode], None]]:
    """Show on stderr, if that is a terminal, how far the run is, how fast it goes and how it does; yield what counts.

    Args:
        total: Episodes in all.
        done: Episodes that were finished before; they do not count for the speed.
    """
    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[solved]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    finished = solved = 0
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        line = bar.add_task("", total=total, completed=done, rate="", solved="")

        def show(episode: EvaluatedEpisode) -> None:
            nonlocal finished, solved
            finished, solved = finished + 1, solved + episode.success
            rate = finished / max(time.monotonic() - start, 1e-6)
            speed = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
            bar.update(line, advance=1, rate=speed, solved=f"{solved / finished:.0%} solved")

        yield show
