"""How fast worlds and environments are, measured on the ground truths of some tasks."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any

import gymnasium as gym

from envtune_gym.calls import render_calls
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_names
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.world import World
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["Figure", "measure_calls", "measure_feedback", "measure_import", "measure_resets", "ratio"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure: a median and its spread.

    Attributes:
        name: What was measured.
        value: The median.
        low: Lower end of the spread.
        high: Upper end of the spread.
        unit: `"µs"`, or `"x"` for a ratio.
        compared_with: What a ratio compares with; empty for a time.
        bar: What a ratio has to reach, or None.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    compared_with: str = ""
    bar: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain data."""
        return asdict(self)


def ratio(name: str, values: Sequence[float], compared_with: str, bar: float | None = None) -> Figure:
    """Return the figure for a ratio measured several times; the spread is its range."""
    return Figure(name, median(values), min(values), max(values), "x", compared_with, bar)


def measure_calls(tasks: Sequence[Task], repeats: int, advance: Callable[[], object]) -> list[Figure]:
    """Time `world.call` on each call of the ground truths, by the tool's domain."""
    samples: dict[str, list[int]] = {name: [] for name in domain_names()}
    for _ in range(repeats):
        for task in tasks:
            _time_calls(task, samples)
        advance()
    return [_times(f"world.call, {name}", times) for name, times in samples.items() if times]


def measure_resets(tasks: Sequence[Task], repeats: int, advance: Callable[[], object]) -> Figure:
    """Time `env.reset` to each task, whose ground truth has been run before."""
    env = _make(tasks)
    times: list[int] = []
    for task in tasks:
        env.reset(options={"task_id": task.id})
    for _ in range(repeats):
        for task in tasks:
            start = time.perf_counter_ns()
            env.reset(options={"task_id": task.id})
            times.append(time.perf_counter_ns() - start)
        advance()
    return _times("env.reset", times)


def measure_feedback(tasks: Sequence[Task], repeats: int, advance: Callable[[], object]) -> list[Figure]:
    """Time a step whose call fails, with hints and without, in turn; nothing if no call can be made to fail."""
    plain, hinting = _make(tasks), AugmentedFeedbackWrapper(_make(tasks))
    failing = [(task, call) for task in tasks if (call := _failing_call(task)) is not None]
    ratios: list[float] = []
    for number, (task, call) in enumerate([*failing, *failing * repeats]):
        action = render_calls([call], "tool_call")
        # What runs first after the other work is slower, so the two take turns at it.
        order = (hinting, plain) if number % 2 else (plain, hinting)
        nanoseconds = {env: _time_step(env, task, action) for env in order}
        ratios.append(nanoseconds[hinting] / nanoseconds[plain])
    advance()
    if not failing:
        return []
    low, middle, high = _quartiles(ratios[len(failing) :])  # the first round fills caches
    return [Figure("step with a failing call and a hint", middle, low, high, "x", "the same step without hints")]


def measure_import(repeats: int, advance: Callable[[], object]) -> Figure:
    """Time what `import envtune_gym` adds to the import of what it depends on, each in a process of its own."""
    dependencies = "import gymnasium.spaces, gymnasium.vector, jsonschema, numpy, pydantic"
    times: list[int] = []
    for _ in range(repeats):
        alone, with_package = (_time_process(code) for code in (dependencies, f"{dependencies}, envtune_gym"))
        times.append(max(0, with_package - alone))
        advance()
    return _times("import envtune_gym, beyond its dependencies", times)


def _time_process(code: str) -> int:
    start = time.perf_counter_ns()
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 (our own interpreter and code)
    return time.perf_counter_ns() - start


def _make(tasks: Sequence[Task]) -> gym.Env[str, str]:
    env: gym.Env[str, str] = gym.make(MULTI_DOMAIN_ID, tasks=TaskSet(tasks), disable_env_checker=True)
    return env


def _time_calls(task: Task, samples: dict[str, list[int]]) -> None:
    world = World(task.domains, task.initial_config, task.long_context)
    domain_of = {name: tool.domain for name, tool in world.tools.items()}
    for text in (text for calls in task.ground_truth for text in calls):
        call = parse_call(text)
        if call.args or len(list(call.names())) > 1:  # `call` takes names and plain values
            world.run(call)
            continue
        start = time.perf_counter_ns()
        world.call(call.name, call.kwargs)
        samples[domain_of[call.name]].append(time.perf_counter_ns() - start)


def _time_step(env: gym.Env[str, str], task: Task, action: str) -> int:
    env.reset(options={"task_id": task.id})
    start = time.perf_counter_ns()
    env.step(action)
    return time.perf_counter_ns() - start


def _failing_call(task: Task) -> Call | None:
    """Return a call that fails at the start of a task: one of its ground truth with other values, or None."""
    world = World(task.domains, task.initial_config, task.long_context)
    for call in (parse_call(text) for calls in task.ground_truth for text in calls):
        altered = Call(call.name, {name: _altered(value) for name, value in call.kwargs.items()})
        if world.fork().run(altered).error is not None:
            return altered
    return None


def _altered(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value}?"
    return -1 if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def _times(name: str, nanoseconds: Sequence[int]) -> Figure:
    low, middle, high = _quartiles([time / 1000 for time in nanoseconds])
    return Figure(name, middle, low, high, "µs")


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return low, middle, high
