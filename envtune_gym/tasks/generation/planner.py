"""The planner: from domains and a shape to a plan whose later goals build on earlier ones."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from envtune_gym.tasks.generation.filler import fill
from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.generation.shape import Shape
from envtune_gym.tasks.goals import Discarded, Goal, Plan, Step, Unfit, goals_of, scenario_of

__all__ = ["PlannedTask", "plan_task"]

_TRIES = 8
"""Goals that are tried at one place before the plan is given up."""
_AGAIN = 0.1
"""How much less a goal is wanted for each time that the plan has it already."""
_LINKED = 4.0
"""How much more a goal is wanted that builds on what an earlier goal has left."""
_NEW_DOMAIN = 4.0
"""How much more a goal is wanted that brings in a domain not used so far."""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A finished plan.

    Attributes:
        config: The configuration of each domain.
        turns: The steps of each user turn.
        domains: The domains involved.
    """

    config: dict[str, dict[str, Any]]
    turns: list[list[Step]]
    domains: tuple[str, ...]


def plan_task(
    domains: tuple[str, ...], shape: Shape, seed: str, filled: bool, accept: Callable[[int], bool]
) -> PlannedTask | None:
    """Plan a task.

    Args:
        domains: The domains involved; the first is the one that the first request is about.
        shape: How large it is to be.
        seed: Text that decides everything.
        filled: Whether the configuration is padded with filler; the requests stay the same.
        accept: Told a number that the configuration decides, or the calls of the first turn where there is nothing in
            it; False gives the plan up.

    Returns:
        The plan, or None if it is not accepted.

    Raises:
        Discarded: If no goal fits, or a goal's call fails.
    """
    plan = Plan(domains, seed)
    config = {domain: scenario_of(domain)(plan) for domain in domains}
    visible = _visible(config)  # before filler comes in: variants of a scenario belong to the same split
    if visible and not accept(_key(visible)):
        return None
    if filled:
        filler = Rng(f"{seed}/filler")
        for domain in domains:
            fill(domain, config[domain], filler, 1000 * shape.filler)
    plan.start(config)
    chooser = _Chooser(plan, goals_of(domains).values())
    turns: list[list[Step]] = []
    while len(turns) < shape.turns:
        begins = not turns
        turns += _next_turns(plan, chooser, shape.goals)
        if begins and not visible and not accept(_key("\n".join(call.source() for s in turns[0] for call in s.calls))):
            return None
    return PlannedTask(config, turns[: shape.turns], domains)


class _Chooser:
    """Picks the goals of a plan."""

    def __init__(self, plan: Plan, goals: Iterable[Goal]) -> None:
        self._plan = plan
        self._goals = list(goals)
        self._taken: Counter[str] = Counter()
        self._used: set[str] = set()

    def add(self) -> Step:
        """Add a goal to the plan and return what it says and does.

        Raises:
            Discarded: If no goal fits, or the goal's own call fails.
        """
        plan = self._plan
        open_goals = [goal for goal in self._goals if self._is_open(goal)]
        for _ in range(_TRIES):
            if not open_goals:
                break
            goal = plan.rng.weighted(open_goals, [self._weight(goal) for goal in open_goals])
            plan.steps.append(Step(goal.name))
            try:
                goal.write(plan)
            except Unfit:
                plan.steps.pop()
                open_goals.remove(goal)
                continue
            self._taken[goal.name] += 1
            self._used.update(goal.domains)
            return plan.steps[-1]
        raise Discarded("no goal fits", ", ".join(plan.domains))

    def _is_open(self, goal: Goal) -> bool:
        if goal.once and goal.name in self._taken:
            return False
        if not self._used and self._plan.domains[0] not in goal.domains:
            return False  # the first request is about the first domain
        return all(map(self._plan.has, goal.needs))

    def _weight(self, goal: Goal) -> float:
        weight = goal.weight * _AGAIN ** self._taken[goal.name]
        if any(map(self._plan.has_new, goal.needs)):
            weight *= _LINKED
        if not self._used.issuperset(goal.domains):
            weight *= _NEW_DOMAIN
        return weight


def _next_turns(plan: Plan, chooser: _Chooser, most: int) -> list[list[Step]]:
    """Return the steps of the next turn: one half of the time a single one.

    Two steps that draw random numbers make two turns: what each draws would depend on their order.
    """
    size = plan.rng.between(2, most) if most > 1 and plan.rng.chance(0.5) else 1
    turns: list[list[Step]] = [[]]
    for _ in range(size):
        step = chooser.add()
        if plan.draws(step) and any(map(plan.draws, turns[-1])):
            turns.append([])
        turns[-1].append(step)
    return turns


def _visible(config: dict[str, dict[str, Any]]) -> str:
    """Return what there is to see in a configuration; seeds alone make no difference."""
    seen = [{key: value for key, value in one.items() if key != "random_seed"} for one in config.values()]
    return json.dumps(seen) if any(seen) else ""


def _key(text: str) -> int:
    """Return a number that a text decides."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
