"""The speed of this package in ratios to the official `bfcl-eval`, for `envtune bench --against-official`.

It runs code of the official package, which the package itself never does; that is why it stands outside. What is
compared, and what is done so that neither side is favoured:

- The two sides run one after the other in one process, pass by pass, in an order that changes each time, and are
  timed in seconds of processor time; what is reported is the ratio of each pair of passes. A first pair is not counted.
- Replay: each task's world is built from its raw configuration, and all its ground-truth calls run. The official
  function is called once a turn, as the official checker replays ground truths. Each time it builds its table of tools
  anew, so a second figure shows it at its best: with all calls of a task at once, though nothing official does that.
- New strings: the same, with our kept parses thrown away before each call, and that time counted as ours. The official
  code keeps none, so that every string is new to it.
- Check: ground-truth trajectories, one step a turn, by `multi_turn_checker` and `score_trajectory`. The latter keeps
  the runs of the ground truths, as in training; the former runs them each time, for it has no way to keep them.
- The official code keeps all worlds in a module's variables for ever. They are deleted after each pass, so that it is
  not slowed down by them.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from envtune_gym import World, score_trajectory
from envtune_gym.callsyntax import _parse_call_cached
from envtune_gym.commands.speed import Figure, ratio
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.official import INSTALL_COMMAND
from envtune_gym.tasks import Task

__all__ = ["measure"]

try:
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils
except ImportError as error:
    raise DataError(
        f"the official package cannot be run ({error}); run: {INSTALL_COMMAND}, pip install mpmath"
    ) from None

_MODEL = "official_speed"

Pass = Callable[[Sequence[Task]], None]


def measure(tasks: Sequence[Task], repeats: int, advance: Callable[[], object]) -> list[Figure]:
    """Return the ratios.

    Args:
        tasks: Official tasks.
        repeats: Pairs of passes for each ratio.
        advance: Called after each pair.

    Raises:
        ConfigurationError: If a task is not an official one.
    """
    if any(task.source != "bfcl" for task in tasks):
        raise ConfigurationError("the official package runs official tasks only: add --tasks bfcl")

    def speedups(ours: Pass, theirs: Pass) -> list[float]:
        return [_speedup(tasks, ours, theirs, index % 2 == 0, advance) for index in range(repeats + 1)][1:]

    by_turn = "bfcl-eval, executor once a turn"
    by_task = "bfcl-eval, executor once a task"
    checker = "bfcl-eval, multi_turn_checker"
    with _utc():
        return [
            ratio("replay of ground truths", speedups(_replay, _replay_officially), by_turn, 6),
            ratio("replay, official at its best", speedups(_replay, _replay_officially_at_once), by_task),
            ratio("replay, each call string new", speedups(_replay_new_strings, _replay_officially), by_turn, 3),
            ratio("check of ground truths", speedups(_check, _check_officially), checker, 10),
        ]


@contextmanager
def _utc() -> Iterator[None]:
    """Put the process into UTC: the official backends format times in the host's zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def _speedup(tasks: Sequence[Task], ours: Pass, theirs: Pass, ours_first: bool, advance: Callable[[], object]) -> float:
    """Run one pass of each side; return how many times as fast ours is."""
    seconds: dict[Pass, float] = {}
    for run in (ours, theirs) if ours_first else (theirs, ours):
        gc.collect()
        start = time.process_time()
        run(tasks)
        seconds[run] = time.process_time() - start
        _forget_official_worlds()
    advance()
    return seconds[theirs] / seconds[ours]


def _replay(tasks: Sequence[Task]) -> None:
    for task in tasks:
        world = World(task.domains, task.initial_config, task.long_context)
        for calls in task.ground_truth:
            for call in calls:
                world.execute(call)


def _replay_new_strings(tasks: Sequence[Task]) -> None:
    for task in tasks:
        world = World(task.domains, task.initial_config, task.long_context)
        for calls in task.ground_truth:
            for call in calls:
                _parse_call_cached.cache_clear()
                world.execute(call)


def _replay_officially(tasks: Sequence[Task]) -> None:
    for task in tasks:
        for calls in task.ground_truth:
            _execute_officially(task, list(calls))


def _replay_officially_at_once(tasks: Sequence[Task]) -> None:
    for task in tasks:
        _execute_officially(task, [call for calls in task.ground_truth for call in calls])


def _execute_officially(task: Task, calls: list[str]) -> None:
    multi_turn_utils.execute_multi_turn_func_call(
        calls, task.initial_config, list(task.domains), _MODEL, task.id, long_context=task.long_context
    )


def _check(tasks: Sequence[Task]) -> None:
    for task in tasks:
        score_trajectory(task, _one_step_a_turn(task))


def _check_officially(tasks: Sequence[Task]) -> None:
    for task in tasks:
        entry = {"id": task.id, "initial_config": task.initial_config, "involved_classes": list(task.domains)}
        truth = [list(calls) for calls in task.ground_truth]
        multi_turn_checker.multi_turn_checker(_one_step_a_turn(task), truth, entry, task.category, _MODEL)


def _one_step_a_turn(task: Task) -> list[list[list[str]]]:
    return [[list(calls)] if calls else [] for calls in task.ground_truth]


def _forget_official_worlds() -> None:
    variables = vars(multi_turn_utils)
    for name in [name for name in variables if name.startswith(_MODEL)]:
        del variables[name]
