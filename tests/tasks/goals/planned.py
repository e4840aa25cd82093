"""Plans to look at, as the planner makes them."""

from dataclasses import dataclass

from envtune_gym.tasks.generation.planner import plan_task
from envtune_gym.tasks.generation.shape import Shape
from envtune_gym.tasks.goals import Discarded


@dataclass
class Told:
    """A step, and what results have shown when a call of it is made."""

    goal: str
    request: str
    shown: str


def plans(domains, count, turns=4):
    """Return plans of one or more domains; those that the planner discards are left out."""
    domains = (domains,) if isinstance(domains, str) else domains
    found = []
    for number in range(count):
        try:
            found.append(plan_task(domains, Shape(turns, goals=2), f"{domains}/{number}", False, lambda key: True))
        except Discarded:
            continue
    assert len(found) > 0.9 * count
    return found


def steps_of(plan):
    """Return the steps of all turns."""
    return [step for turn in plan.turns for step in turn]


def told_before(plan):
    """Yield each argument of each call with its step and all results before the call."""
    shown = ""
    for step in steps_of(plan):
        for call, result in zip(step.calls, step.results, strict=True):
            for name, value in call.kwargs.items():
                yield Told(step.goal, step.request, shown), name, value
            shown += result
