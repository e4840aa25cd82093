"""How often a scripted learner gets from a corrupted call to what was intended, with the feedback that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np

from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.corruption import KINDS, Corruption, corrupt
from envtune_gym.evaluation.learner import Learner, Outcome
from envtune_gym.evaluation.scenes import Scene, scenes
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.tasks.scenarios import scenario_of

__all__ = ["MakeEnv", "Rate", "RepairReport", "draw_corruptions", "is_repaired", "repair_rate"]

MakeEnv = Callable[[TaskSet], gym.Env[str, str]]

_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its interval.

    Attributes:
        share: Repaired cases divided by all.
        low: Lower end of the 95 % interval: percentile bootstrap over scenarios.
        high: Upper end.
        cases: Number of cases.
    """

    share: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a learner repaired.

    Attributes:
        total: All cases together.
        by_kind: The cases of each kind that occurred.
    """

    total: Rate
    by_kind: dict[str, Rate]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


def repair_rate(
    tasks: Sequence[Task], kinds: Sequence[str], make_env: MakeEnv, seed: int = 0, *, per_kind: int = 30
) -> RepairReport:
    """Measure how many corrupted calls the learner repairs within three further steps.

    A case is repaired if at the end of its turn the state is that of the ground truth and the intended results have
    appeared; where the turn cannot be solved yet, if the learner left off and the state is untouched.

    Args:
        tasks: The tasks whose ground truths are corrupted.
        kinds: Names of kinds of corruption.
        make_env: Makes the environment, with its wrappers, that serves the tasks it is given. It must act in the
            `tool_call` format; with `offer="strict"` a tool that is withheld fails.
        seed: Seed of the corruptions and of the bootstrap.
        per_kind: Cases of a kind, at most.

    Raises:
        ConfigurationError: If a kind is unknown or no corruption applies.
    """
    cases = [case for kind in kinds for case in draw_corruptions(tasks, kind, seed, per_kind)]
    if not cases:
        raise ConfigurationError("no corruption applies; give more tasks or other kinds")
    env = make_env(TaskSet({case.task.id: case.task for case in cases}.values()))
    try:
        repaired = [is_repaired(env, case) for case in cases]
    finally:
        env.close()
    by_kind: dict[str, list[tuple[str, bool]]] = {}
    for case, success in zip(cases, repaired, strict=True):
        by_kind.setdefault(case.kind, []).append((scenario_of(case.task.id, case.task.source), success))
    everything = [result for results in by_kind.values() for result in results]
    rates = {kind: _rate(results, seed) for kind, results in by_kind.items()}
    return RepairReport(_rate(everything, seed), rates)


def draw_corruptions(tasks: Sequence[Task], kind: str, seed: int, limit: int) -> list[Corruption]:
    """Corrupt one call in each of some tasks, where a failure or a visible mistake comes of it.

    Raises:
        ConfigurationError: If the kind is unknown.
    """
    if kind not in KINDS:
        raise ConfigurationError(f"unknown kind of corruption {kind!r}; known: {', '.join(KINDS)}")
    order = list(range(len(tasks)))
    rng = Random(f"{seed} {kind}")
    rng.shuffle(order)
    cases: list[Corruption] = []
    for index in order:
        case = _first_visible(tasks[index], kind, rng)
        if case is not None:
            cases.append(case)
        if len(cases) == limit:
            break
    return cases


def is_repaired(env: gym.Env[str, str], case: Corruption) -> bool:
    """Play a corrupted plan with the learner and tell whether what was intended has come about."""
    learner = Learner(env)
    learner.begin(case.task.id)
    turn: Mapping[str, Any] = {}
    for number, steps in enumerate(case.plan):
        outcome = learner.play_turn(steps)
        expected = Outcome.ANSWER if case.unsolvable and number + 1 == len(case.plan) else Outcome.DONE
        if outcome is not expected:
            return False
        turn = learner.answer()["turn_results"][-1]
    return bool(turn["state_ok"] and (case.unsolvable or turn["response_ok"]))


def _first_visible(task: Task, kind: str, rng: Random) -> Corruption | None:
    places: list[Scene] = list(scenes(task))
    rng.shuffle(places)
    made: Iterator[Corruption | None] = (corrupt(scene, kind, rng) for scene in places)
    return next((case for case in made if case is not None and case.effect != "unseen"), None)


def _rate(results: Sequence[tuple[str, bool]], seed: int) -> Rate:
    groups: dict[str, list[bool]] = {}
    for scenario, success in results:
        groups.setdefault(scenario, []).append(success)
    counts = np.array([(sum(group), len(group)) for group in groups.values()])
    drawn = np.random.default_rng(seed).integers(len(counts), size=(_RESAMPLES, len(counts)))
    sums = counts[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    share = counts[:, 0].sum() / counts[:, 1].sum()
    return Rate(float(share), float(low), float(high), len(results))
