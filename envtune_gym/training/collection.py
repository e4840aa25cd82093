"""Garbage collection during training: what stood before is left out of it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["old_objects_left_alone"]

_FROZEN_BY_PYTHON = 10_000
"""More objects than Python leaves out of collections by itself: hundreds in 3.12, none in others."""


@contextmanager
def old_objects_left_alone() -> Iterator[None]:
    """Spare garbage collection what stands already: libraries and tasks are hundreds of thousands of objects.

    A full collection looks at each of them, which takes a quarter of a second, once in some ten batches. Whoever has
    frozen objects already has an order of their own, which stays.
    """
    if gc.get_freeze_count() > _FROZEN_BY_PYTHON:
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
