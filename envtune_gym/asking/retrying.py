"""Trying again what may pass at another time: with growing pauses, so often and so long."""

from __future__ import annotations

import asyncio
import email.utils
import itertools
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

__all__ = ["PassingFaultError", "persist", "wanted_pause"]

T = TypeVar("T")

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


class PassingFaultError(Exception):
    """A failure that may be gone at another time.

    Args:
        reason: What has failed.
        pause: Seconds that the server asks to wait; None: it does not say.
    """

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


async def persist(attempt: Callable[[float], Awaitable[T]], retries: int, seconds: float) -> T:
    """Return what an attempt gives, trying again after each passing fault.

    Args:
        attempt: Is given the seconds that are left.
        retries: How often it is tried again.
        seconds: How long all of it may take, pauses included.

    Raises:
        PassingFaultError: The last one, if there is no time or attempt left.
    """
    end = time.monotonic() + seconds
    for tried in itertools.count():
        try:
            return await attempt(end - time.monotonic())
        except PassingFaultError as fault:
            pause = _backoff(tried) if fault.pause is None else fault.pause
            if tried >= retries or time.monotonic() + pause >= end:
                raise
        await asyncio.sleep(pause)
    raise AssertionError


def wanted_pause(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which a server wants to be asked again, if it says so."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            pause = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return pause if pause >= 0 and not math.isnan(pause) else None
    try:
        moment = email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
    return max(0.0, moment - time.time())


def _backoff(tried: int) -> float:
    """Return a pause that doubles; a random part keeps many askers from coming back all at once."""
    return min(_FIRST_PAUSE * 2.0 ** min(tried, 16), _LONGEST_PAUSE) * random.uniform(0.75, 1.0)
