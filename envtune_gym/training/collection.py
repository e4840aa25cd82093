"""Garbage collection during training: what stands for long is left out of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

__all__ = ["AfterFirstUpdate", "old_objects_left_alone"]

_FROZEN_BY_PYTHON = 10_000
"""More objects than Python leaves out of collections by itself: hundreds in 3.12, none in others."""


@contextmanager
def old_objects_left_alone() -> Iterator[Callable[[], None]]:
    """Spare garbage collection what stands already, and, when what is yielded is called, what stands by then.

    A full collection looks at each object, and the GPU may wait for it. Libraries and tasks are hundreds of thousands,
    and so is what compiling the model's layers leaves, which happens at the first replies. Whoever has frozen objects
    already has an order of their own, which stays.
    """
    if gc.get_freeze_count() > _FROZEN_BY_PYTHON:
        yield lambda: None
        return
    _leave_alone()
    try:
        yield _leave_alone
    finally:
        gc.unfreeze()


def _leave_alone() -> None:
    gc.collect()
    gc.freeze()


class AfterFirstUpdate(TrainerCallback):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """Does something once, after the first update that a trainer makes.

    Args:
        work: What is done.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Do it."""
        if self._work is not None:
            self._work()
        self._work = None
