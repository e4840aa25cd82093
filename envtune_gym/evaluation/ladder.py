"""Whether tasks get harder as their difficulty says: three agents of known ability play whole tasks of each level.

The *oracle* plays the ground truth; anything below 100 % is a broken task. The *random* agent shows what luck is worth.
The *learner* is in between, and as able in an easy task as in a hard one:

- It means to make the calls of the ground truth, one a message. In each turn that has calls one mistake takes the place
  of a call or of their order: a kind is drawn from all kinds of corruption, and then the place, until a failure or a
  visible mistake comes of it. What no feedback could tell of, it does not do.
- It repairs the mistake from what it observes alone, with at most three further calls. Where that fails it gives up the
  turn, and goes on to the next, in whatever state the world is.
- A turn that cannot be answered yet has no calls, and it makes none: R_P counts any call there as wrong for good, so a
  mistake could not be repaired, and would weigh most in the shortest tasks.
- Mistakes are drawn from the ground truth, the seed and the id of the task before it begins. They are the same whatever
  the feedback, so that its levels can be compared task by task.

The learner is told the right calls of each turn, values that other calls show included. What makes a task harder for it
is more turns to get through without loss, more tools and values to confuse, and states that an earlier mistake has
spoilt. That an agent has to find out what to do at all is not in it, nor what withheld tools and unsaid values do to an
agent: its figures are no forecast of a language model's, and it has little to say on categories. It takes a result in
plain text that has a word like "error" in it for a failure, and so it loses one or two tasks in a hundred by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym

from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.corruption import KINDS, corrupt
from envtune_gym.evaluation.learner import Plan, Step
from envtune_gym.evaluation.paired import Interval, paired_shares
from envtune_gym.evaluation.policies import LearnerPolicy, OraclePolicy, Played, Policy, play
from envtune_gym.evaluation.random_agent import RandomPolicy
from envtune_gym.evaluation.scenes import Scene, scenes
from envtune_gym.tasks import CATEGORIES, Task, TaskSet
from envtune_gym.tasks.scenarios import scenario_of

__all__ = ["AGENTS", "Ladder", "Rung", "climb", "slipping_plan"]

AGENTS: Mapping[str, Callable[[Task, str], Policy]] = {
    "oracle": lambda task, seed: OraclePolicy(task),
    "learner": lambda task, seed: LearnerPolicy(task.id, slipping_plan(task, Random(seed))),
    "random": lambda task, seed: RandomPolicy(seed),
}
"""What plays, by name: makes a policy from the task and a seed."""


@dataclass(frozen=True, slots=True)
class Rung:
    """What the agents came to on some tasks.

    Attributes:
        name: What the tasks have in common.
        tasks: Their number.
        success: For each agent the share that the benchmark calls valid.
        progress: For each agent the mean of R_P.
    """

    name: str
    tasks: int
    success: dict[str, Interval]
    progress: dict[str, Interval]


@dataclass(frozen=True, slots=True)
class Ladder:
    """What the agents came to by level of difficulty, by category, and on all tasks."""

    levels: tuple[Rung, ...]
    categories: tuple[Rung, ...]
    total: Rung

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


class _Case(NamedTuple):
    level: int
    task: Task
    played: dict[str, Played]


def climb(
    tasks: Mapping[int, Sequence[Task]],
    make_env: Callable[[TaskSet], gym.Env[str, str]],
    seed: int = 0,
    *,
    on_task: Callable[[], object] = lambda: None,
) -> Ladder:
    """Let the agents play generated tasks.

    Args:
        tasks: Generated tasks by level.
        make_env: Makes the environment, with its wrappers, that serves the tasks it is given; it must act in the
            `tool_call` format.
        seed: Seed of what the agents draw, and of the bootstrap.
        on_task: Called after each task.

    Raises:
        ConfigurationError: If there is no task.
    """
    if not any(tasks.values()):
        raise ConfigurationError("the ladder needs at least one task")
    env = make_env(TaskSet(chain.from_iterable(tasks.values())))
    cases: list[_Case] = []
    try:
        for level, of_level in tasks.items():
            for task in of_level:
                drawn = f"{seed} {task.id}"
                played = {name: play(env, make(task, drawn), task.id) for name, make in AGENTS.items()}
                cases.append(_Case(level, task, played))
                on_task()
    finally:
        env.close()
    return Ladder(
        tuple(_rung(str(level), [case for case in cases if case.level == level], seed) for level in tasks),
        tuple(_rung(name, [case for case in cases if case.task.category == name], seed) for name in _categories(cases)),
        _rung("all", cases, seed),
    )


def slipping_plan(task: Task, rng: Random) -> Plan:
    """Return the calls of a task's ground truth with one mistake in each turn where any kind of mistake shows.

    Args:
        task: A generated task. (Turns are left empty from the first call on that fails or is nested in another.)
        rng: Where kinds and places come from.
    """
    places = list(scenes(task))
    truth = places[-1].turns if places else ()
    slips = [_slip([place for place in places if place.turn == turn], rng) or calls for turn, calls in enumerate(truth)]
    return (*slips, *((),) * (task.num_turns - len(slips)))


def _slip(places: Sequence[Scene], rng: Random) -> tuple[Step, ...] | None:
    """Return the steps of a turn with a mistake that shows, or None if there is none.

    Args:
        places: The calls of the turn.
        rng: Where the mistake comes from.
    """
    for kind in rng.sample(sorted(KINDS), len(KINDS)):
        for place in rng.sample(places, len(places)):
            case = corrupt(place, kind, rng)
            # Some kinds change other turns than that of the call.
            if case is not None and case.effect != "unseen" and case.plan[:-1] == place.turns[: place.turn]:
                return case.plan[-1]
    return None


def _categories(cases: Sequence[_Case]) -> list[str]:
    """Return the categories that occur, the plain ones first."""
    found = dict.fromkeys(case.task.category for case in cases)
    return [*(name for name in CATEGORIES if name in found), *(name for name in found if name not in CATEGORIES)]


def _rung(name: str, cases: Sequence[_Case], seed: int) -> Rung:
    scenarios = [scenario_of(case.task.id, case.task.source) for case in cases]

    def intervals(measure: Callable[[Played], float]) -> dict[str, Interval]:
        outcomes = {agent: [measure(case.played[agent]) for case in cases] for agent in AGENTS}
        return {agent: paired.share for agent, paired in paired_shares(scenarios, outcomes, "oracle", seed).items()}

    return Rung(name, len(cases), intervals(lambda one: one.success), intervals(lambda one: one.progress))
