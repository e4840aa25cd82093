"""Commands as processes, several at a time on each GPU."""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LOG_FILE = "log.txt"


@dataclass(frozen=True)
class Job:
    """A command.

    Attributes:
        name: What messages call it.
        command: The program and its arguments.
        directory: Where its output goes, as `log.txt`.
    """

    name: str
    command: Sequence[str]
    directory: Path


def run_jobs(jobs: Sequence[Job], at_once: int, console: Console) -> list[str]:
    """Run jobs, each on one GPU (or the CPU, where there is none), and return what to say of those that failed.

    Args:
        jobs: The jobs, in the order in which they begin.
        at_once: How many share a GPU.
        console: Where a progress bar and a line for each job go.
    """
    gpus = [str(index) for index in range(torch.cuda.device_count())] or [""]
    free = deque(gpus * at_once)
    waiting, running, failed = deque(jobs), {}, []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task("cells", total=len(jobs))
        while waiting or running:
            while waiting and free:
                job, gpu = waiting.popleft(), free.popleft()
                running[_start(job, gpu)] = (job, gpu, time.monotonic())
            ended = [process for process in running if process.poll() is not None]
            for process in ended:
                job, gpu, began = running.pop(process)
                free.append(gpu)
                bars.advance(bar)
                log = (job.directory / LOG_FILE).read_text(encoding="utf-8", errors="replace").strip()
                last = log.rpartition("\n")[2]
                console.print(f"{job.name}: {time.monotonic() - began:.0f} s; {last}", markup=False, highlight=False)
                if process.returncode:
                    failed.append(f"{job.name} ({last}; all of it in {job.directory / LOG_FILE})")
            if not ended:
                time.sleep(0.5)
    return failed


def _start(job: Job, gpu: str) -> subprocess.Popen[bytes]:
    job.directory.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} | ({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})
    with (job.directory / LOG_FILE).open("wb") as log:
        return subprocess.Popen(job.command, stdout=log, stderr=subprocess.STDOUT, env=environment)  # noqa: S603
