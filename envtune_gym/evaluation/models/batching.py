"""Many askers, one machine that answers several at a time: what waits together is answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Batches"]

Q = TypeVar("Q")
A = TypeVar("A")

_QUIET = 8
"""Rounds of the event loop without a new question after which no more are expected."""


class Batches(Generic[Q, A]):
    """Gathers questions that are asked at about the same time, and has them answered in another thread.

    While one batch is answered the next one gathers, so that nobody waits for a batch to become full.

    Args:
        answer: Answers a batch, in order.
        size: The most questions of a batch.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]], size: int) -> None:
        self._answer = answer
        self._size = size
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._work: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """Return the answer to a question; what answering its batch raises, is raised here."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await future

    async def aclose(self) -> None:
        """Answer nothing more; a batch in work is seen to its end, for a thread cannot be stopped."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def _answer_all(self) -> None:
        while self._waiting:
            await self._gather()
            batch, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
            batch = [(question, future) for question, future in batch if not future.done()]  # some gave up
            if batch:
                await self._settle(batch)

    async def _gather(self) -> None:
        """Let all others run until no question has come for a while."""
        quiet = 0
        while quiet < _QUIET and len(self._waiting) < self._size:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

    async def _settle(self, batch: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            answers = await asyncio.to_thread(self._answer, [question for question, _ in batch])
        except Exception as error:  # of whatever kind: it belongs to those who asked
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)
