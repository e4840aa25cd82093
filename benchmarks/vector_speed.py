"""What a vector environment costs beside a bare loop over the same environments.

The same episodes four times over, with the same actions, each of them different from all others: the oracle's for the
tasks that each environment draws, with a thought that says whose turn it is. Environments that have ended are reset in
the next step. What the four return is not kept, and only time of the processor counts:

- a loop over the environments that throws away what they return;
- the native vector environment (`vectorization_mode="vector_entry_point"`);
- Gymnasium's `SyncVectorEnv` over the environments themselves;
- the same as `gym.make_vec(..., vectorization_mode="sync")` makes it, where Gymnasium checks each step of each one.

All have the same set of tasks, whose ground truths have run before. Passes of the four take turns, in an order that
moves on each time; reported are the ratios within a round.

Run `python benchmarks/vector_speed.py`; it exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable

import gymnasium as gym
from gymnasium.vector import SyncVectorEnv, VectorEnv

from envtune_gym import TaskSet, load_tasks
from envtune_gym.env import EnvtuneEnv
from envtune_gym.evaluation import Oracle
from envtune_gym.registration import MULTI_DOMAIN_ID

MOST = 1.3
SEED = 7

Batch = tuple[str, ...]


def script(tasks: TaskSet, num_envs: int, steps: int) -> list[Batch]:
    """Return the actions of each step; those of an environment that is reset in a step are ignored there."""
    oracle = Oracle("tool_call")
    columns = []
    for index in range(num_envs):
        env, column = EnvtuneEnv(tasks=tasks), []
        _, info = env.reset(seed=SEED + index)
        while len(column) < steps:
            for message in oracle.messages(tasks.get(info["task_id"])):
                column.append(f"<think>Environment {index}, step {len(column)}.</think>\n{message}")
                env.step(column[-1])
            column.append(f"ignored: {index}, {len(column)}")
            _, info = env.reset()
        columns.append(column[:steps])
    return list(zip(*columns, strict=True))


def bare(tasks: TaskSet, num_envs: int) -> Callable[[list[Batch]], None]:
    """Return a pass of the loop."""
    envs = [EnvtuneEnv(tasks=tasks) for _ in range(num_envs)]

    def play(batches: list[Batch]) -> None:
        for index, env in enumerate(envs):
            env.reset(seed=SEED + index)
        ended = [False] * num_envs
        for batch in batches:
            for index, (env, action) in enumerate(zip(envs, batch, strict=True)):
                if ended[index]:
                    env.reset()
                    ended[index] = False
                else:
                    _, _, terminated, truncated, _ = env.step(action)
                    ended[index] = terminated or truncated

    return play


def vectorized(envs: VectorEnv) -> Callable[[list[Batch]], None]:
    """Return a pass of a vector environment."""

    def play(batches: list[Batch]) -> None:
        envs.reset(seed=SEED)
        for batch in batches:
            envs.step(batch)

    return play


def measure(num_envs: int, steps: int, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of the passes, by what ran."""
    tasks = TaskSet(list(load_tasks("generated")[: 2 * num_envs]))
    batches = script(tasks, num_envs, steps)
    if len({action for batch in batches for action in batch}) != num_envs * steps:
        raise SystemExit("two actions are the same; the figures mean nothing")

    def made(mode: str) -> VectorEnv:
        return gym.make_vec(MULTI_DOMAIN_ID, num_envs=num_envs, vectorization_mode=mode, tasks=tasks)

    passes = {
        "bare": bare(tasks, num_envs),
        "native": vectorized(made("vector_entry_point")),
        "sync, environments alone": vectorized(SyncVectorEnv([lambda: EnvtuneEnv(tasks=tasks)] * num_envs)),
        "sync, as make_vec makes it": vectorized(made("sync")),
    }
    names = list(passes)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for round_ in range(repeats + 1):  # the first one warms the caches
        for name in names[round_ % len(names) :] + names[: round_ % len(names)]:
            gc.collect()
            start = time.process_time()
            passes[name](batches)
            if round_:
                seconds[name].append(time.process_time() - start)
    return seconds


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=256, help="environments")
    parser.add_argument("--steps", type=int, default=24, help="steps of each")
    parser.add_argument("--repeats", type=int, default=7, help="rounds")
    options = parser.parse_args()
    seconds = measure(options.num_envs, options.steps, options.repeats)
    per_step = statistics.median(seconds["bare"]) / (options.num_envs * options.steps) * 1e6
    print(f"{options.num_envs} environments, {options.steps} steps each; a step of the bare loop: {per_step:.0f} µs")
    medians = {}
    for name in list(seconds)[1:]:
        ratios = [one / loop for one, loop in zip(seconds[name], seconds["bare"], strict=True)]
        medians[name] = statistics.median(ratios)
        print(f"{name}: {medians[name]:.2f} times the bare loop ({min(ratios):.2f} to {max(ratios):.2f})")
    native = medians.pop("native")
    return 0 if native <= MOST and native < min(medians.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
