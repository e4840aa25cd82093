"""How long a device stands still while its host does something else than give it work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["IdleTime"]


class IdleTime:
    """Sums up, over rounds of work for a device and work for its host, how long the device waited for the host.

    A round is `device_works`, then `host_works`, then `settle`; `begin` comes before the first of several.

    Args:
        device: The device. A CPU does the device's work at once, and so waits for all of the host's.

    Attributes:
        seconds: The sum.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds = 0.0
        self._device = device
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if device.type == "cuda" else []
        self._began = 0.0
        self._host: tuple[float, float] | None = None

    def begin(self) -> None:
        """Leave out a round that was broken off."""
        self._host = None

    @contextmanager
    def device_works(self) -> Iterator[None]:
        """Give the device, which has nothing to do, its work."""
        self._began = time.monotonic()
        for event in self._events[:1]:
            event.record()
        yield
        for event in self._events[1:]:
            event.record()

    @contextmanager
    def host_works(self) -> Iterator[None]:
        """Do the host's work."""
        began = time.monotonic()
        yield
        self._host = began, time.monotonic()

    def settle(self) -> None:
        """Wait for the device, and add what it waited in the round that is over, if there was one."""
        if self._host is None:
            return
        (began, ended), self._host = self._host, None
        if self._events:
            first, last = self._events
            last.synchronize()
            busy = self._began + first.elapsed_time(last) / 1e3
            began = max(began, busy)
        self.seconds += max(0.0, ended - began)

    def wait(self) -> None:
        """Wait until the device has done all."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
