"""What the runner of evaluations costs: beside the environments alone, and in time that a server stands idle.

Two figures, on the 800 official tasks with their ground truths as replies:

- Overhead: the tasks by `Runner`, with an instant policy and a file, against the same actions through `reset` and
  `step` of one environment and nothing else. Passes of the two take turns; reported is the ratio of each pair.
- Busy: so many episodes at once against a server that takes every request at once and answers after a fixed delay. A
  server with as many places is as busy as its places are filled: reported is the share of place-seconds in which a
  request was there, from the first request until no episode is left to be begun. Once the server is a policy that
  sleeps, once one that speaks HTTP (`delayed_server.py`), asked by the package's own client.

Run `python benchmarks/evaluation_overhead.py`; it exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from delayed_server import Meter

from envtune_gym.evaluation import Oracle
from envtune_gym.evaluation.models import server_policy
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.files import RunFile
from envtune_gym.evaluation.runs.policies import AsyncPolicy, ModelOptions, PolicyMaker, Reply, ScriptedPolicy
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.runs.runner import EpisodeToPlay, InProcess, Runner, episodes_to_play
from envtune_gym.tasks import Task, TaskSet, load_tasks

MOST_OVERHEAD = 2.0
LEAST_BUSY = 0.95


class Scripts:
    """Makes policies that know their messages; with a meter, each message takes a fixed time."""

    name = "scripts"

    def __init__(self, tasks: Sequence[Task], run: RunSettings, meter: Meter | None = None, delay: float = 0.0) -> None:
        oracle = Oracle(run.action_format)
        self.messages = {task.id: oracle.messages(task) for task in tasks}
        self._meter = meter
        self._delay = delay

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy for an episode."""
        policy = ScriptedPolicy(self.messages[task.id])
        return policy if self._meter is None else _Delayed(policy, self._meter, self._delay)

    async def aclose(self) -> None:
        """Do nothing."""


class _Delayed:
    def __init__(self, policy: ScriptedPolicy, meter: Meter, delay: float) -> None:
        self._policy = policy
        self._meter = meter
        self._delay = delay

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        self._meter.count(+1)
        await asyncio.sleep(self._delay)
        self._meter.count(-1)
        return await self._policy.reply(messages, tools)


def overhead(tasks: TaskSet, run: RunSettings, repeats: int) -> list[float]:
    """Return the ratios of the runner's time to that of the environments alone."""
    scripts = Scripts(tasks, run)
    passes = [partial(_alone, tasks, run, scripts.messages), partial(_by_runner, tasks, run, scripts)]
    ratios = []
    for index in range(repeats + 1):  # the first pair warms the caches of tasks and ground truths
        seconds = {}
        for one in passes if index % 2 else reversed(passes):
            gc.collect()
            start = time.perf_counter()
            one()
            seconds[one] = time.perf_counter() - start
        if index:
            ratios.append(seconds[passes[1]] / seconds[passes[0]])
    return ratios


def _alone(tasks: TaskSet, run: RunSettings, messages: dict[str, list[str]]) -> None:
    env = env_maker(tasks, run)()
    for task in tasks:
        env.reset(options={"task_id": task.id})
        for message in messages[task.id]:
            env.step(message)


def _by_runner(tasks: TaskSet, run: RunSettings, scripts: Scripts) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = RunFile(Path(folder) / "run.jsonl", run)
        runner = Runner(InProcess(env_maker(tasks, run), scripts, run), file.add, concurrency=16)
        asyncio.run(runner.play(episodes_to_play(tasks, 1)))
        file.close()


def busy(
    tasks: TaskSet, run: RunSettings, maker: PolicyMaker, read: Callable[[], dict[str, float]], places: int
) -> float:
    """Return which share of so many places was filled while there were episodes to be begun.

    Args:
        tasks: The tasks; each is played twice.
        run: The settings.
        maker: Makes policies that ask the server.
        read: Returns the server's meter.
        places: The places, which is also how many episodes are in work.
    """
    reading: dict[str, float] = {}

    def waiting() -> Iterator[EpisodeToPlay]:
        yield from episodes_to_play(tasks, 2)
        reading.update(reading or read())

    async def play(file: RunFile) -> None:
        await Runner(InProcess(env_maker(tasks, run), maker, run), file.add, concurrency=places).play(waiting())
        await maker.aclose()

    with tempfile.TemporaryDirectory() as folder:
        file = RunFile(Path(folder) / "run.jsonl", run)
        asyncio.run(play(file))
        episodes = [file.episode(task, sample) for task in tasks for sample in range(2)]
        file.close()
    if any(episode is None or episode.broken for episode in episodes):
        raise SystemExit("an episode broke; the figures mean nothing")
    return reading["filled"] / (places * reading["seconds"])


def busy_policy(tasks: TaskSet, places: int, delay: float) -> float:
    """Return how busy a server would be that is a policy that sleeps."""
    run, meter = RunSettings(policy="scripts", decoder="official"), Meter()
    return busy(tasks, run, Scripts(tasks, run, meter, delay), meter.read, places)


def busy_server(tasks: TaskSet, places: int, delay: float) -> float:
    """Return how busy a server is that speaks HTTP and runs in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("delayed_server.py")), str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603  # our own file
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline() if server.stdout else 0)}"
            maker = server_policy("m", ModelOptions(base_url=f"{url}/v1", concurrency=places), "openai")

            def read() -> dict[str, float]:
                with urllib.request.urlopen(f"{url}/busy") as answer:  # noqa: S310  # an address of our own making
                    return dict(json.load(answer))

            run = RunSettings(policy="server:m", action_format="openai", decoder="official")
            return busy(tasks, run, maker, read, places)
        finally:
            server.kill()


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="pairs of passes for the overhead")
    parser.add_argument("--concurrency", type=int, default=256, help="episodes at a time")
    parser.add_argument("--delay", type=float, default=3.0, help="seconds that the server takes for an answer")
    options = parser.parse_args()
    tasks = TaskSet(list(load_tasks("bfcl")))
    ratios = overhead(tasks, RunSettings(policy="scripts", decoder="official"), options.repeats)
    median = statistics.median(ratios)
    print(
        f"overhead: {median:.2f} times env.step alone (pairs: {', '.join(f'{one:.2f}' for one in ratios)})", flush=True
    )
    shares = []
    for name, measure in (("a policy that sleeps", busy_policy), ("a server over HTTP", busy_server)):
        shares.append(measure(tasks, options.concurrency, options.delay))
        print(
            f"busy: {shares[-1]:.1%} of {options.concurrency} places of {name}, {options.delay} s an answer", flush=True
        )
    return 0 if median <= MOST_OVERHEAD and min(shares) >= LEAST_BUSY else 1


if __name__ == "__main__":
    sys.exit(main())
