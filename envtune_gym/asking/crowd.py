"""Several questions in work at once, until all are answered or the server stops answering."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from envtune_gym.asking.chat import RefusedRequestError
from envtune_gym.errors import ServerError

__all__ = ["Outcome", "ask_all"]

Q = TypeVar("Q")
A = TypeVar("A")
K = TypeVar("K")


@dataclass
class Outcome(Generic[K]):
    """What a run has come to.

    Attributes:
        unanswered: Questions, by their keys, that the server gave no answer to, with what it said; they are open still.
        stopped: Why no further question was begun, if something stopped the run.
    """

    unanswered: dict[K, str] = field(default_factory=dict)
    stopped: str | None = None


async def ask_all(
    questions: Iterable[Q],
    answer: Callable[[Q], Awaitable[A]],
    key: Callable[[Q], K],
    on_answer: Callable[[A], object],
    *,
    concurrency: int,
) -> Outcome[K]:
    """Answer questions, several at once.

    If the server fails, the questions in work are seen to their end and no further one is begun; if it refuses a
    request for what is in it, the others go on.

    Args:
        questions: The questions.
        answer: Answers one; raises `ServerError` where the server gives no answer.
        key: The name of a question in the outcome.
        on_answer: Called with each answer, before the next question is begun.
        concurrency: Questions in work at a time.
    """
    outcome: Outcome[K] = Outcome()
    waiting = iter(questions)

    async def work() -> None:
        for question in waiting:
            try:
                on_answer(await answer(question))
            except ServerError as error:
                outcome.unanswered[key(question)] = str(error)
                if not isinstance(error, RefusedRequestError):
                    outcome.stopped = str(error)
            if outcome.stopped is not None:
                return

    workers = [asyncio.ensure_future(work()) for _ in range(concurrency)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    return outcome
