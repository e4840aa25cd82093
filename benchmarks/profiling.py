"""Where the time of something goes, on the GPU and on its host, in a few lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

__all__ = ["described", "finish", "profiled"]

_LAUNCH, _COPY, _WAIT = "LaunchKernel", ("Memcpy", "Memset"), "Synchronize"
"""In the names of CUDA's calls."""


def finish() -> None:
    """Wait for the GPU."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def profiled(run: Callable[[], None], top: int) -> str:
    """Run something once and return what it spent its time on, as text.

    Args:
        run: What is run.
        top: Lines of each table.
    """
    on_gpu = torch.cuda.is_available()
    with profile(activities=[ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu) as found:
        began = time.perf_counter()
        run()
        if on_gpu:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    return described(found.key_averages(), seconds, top, on_gpu=on_gpu)


def described(events: Iterable[Any], seconds: float, top: int, *, on_gpu: bool) -> str:
    """Return what a profile says, as text.

    Args:
        events: The events of torch's profiler, those of one name together.
        seconds: How long all took.
        top: Lines of each table.
        on_gpu: Whether some of it ran on a GPU.
    """
    events = list(events)
    kernels = [event for event in events if event.device_type == DeviceType.CUDA and not event.is_user_annotation]
    operators = [event for event in events if event.device_type == DeviceType.CPU]
    tables = []
    if on_gpu:
        busy = sum(map(_on_gpu, kernels))
        calls = [f"{_calls(operators, names):,} {what}" for what, names in _COUNTED.items()]
        tables.append(
            f"  {1e3 * seconds:.0f} ms while being watched, of which kernels {busy / 1e3:.0f} ms; {', '.join(calls)}\n"
        )
        tables.append(_table("operators by time on the GPU", operators, _on_gpu, top))
        tables.append(_table("kernels by time on the GPU", kernels, _on_gpu, top))
    tables.append(_table("operators by time on the host", operators, _on_host, top))
    return "".join(tables)


_COUNTED = {"launches": (_LAUNCH,), "copies and fills": _COPY, "waits": (_WAIT,)}


def _on_gpu(event: Any) -> float:
    return float(event.self_device_time_total)


def _on_host(event: Any) -> float:
    return float(event.self_cpu_time_total)


def _calls(events: Iterable[Any], names: Sequence[str]) -> int:
    """Return how often CUDA was called by such names."""
    calls = (event for event in events if event.key.startswith("cu"))
    return sum(event.count for event in calls if any(name in event.key for name in names))


def _table(title: str, events: Sequence[Any], spent: Callable[[Any], float], top: int) -> str:
    whole = sum(map(spent, events)) or 1.0
    lines = [f"  {title}, {whole / 1e3:.1f} ms in all:\n"]
    for event in sorted(events, key=spent, reverse=True)[:top]:
        microseconds = spent(event)
        if microseconds:
            share = f"{microseconds / 1e3:9.2f} ms {microseconds / whole:5.1%}"
            lines.append(f"  {share} {event.count:6} x {event.key[:80]}\n")
    return "".join(lines)
