"""The categories by construction: what is withheld or left unsaid, and when it comes."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.generation.speech import Manner, say
from envtune_gym.tasks.goals import Discarded, Step
from envtune_gym.tasks.task import TOOLS_ADDED_MESSAGE

__all__ = ["Turn", "make_turns"]

T = TypeVar("T")


class Turn(NamedTuple):
    """A user turn of the finished task.

    Attributes:
        message: What the user says.
        calls: The calls that answer it; empty if it cannot be answered yet.
        returned: Tools that come back with it.
    """

    message: str
    calls: tuple[str, ...]
    returned: tuple[str, ...] = ()


def make_turns(planned: list[list[Step]], category: str, manner: Manner, rng: Rng) -> list[Turn]:
    """Return the user turns of a plan as a category, or several joined by `+`, has them.

    Raises:
        Discarded: If the plan has no turn for what the category asks.
    """
    names = category.split("+")
    single = [position for position, steps in enumerate(planned) if len(steps) == 1]
    tools: dict[int, str] = {}
    unsaid: set[int] = set()
    if "miss_func" in names:
        position, tool = _pick(rng, _withholdable(planned, single), "nothing to withhold")
        tools[position] = tool
    if "miss_param" in names:
        vague = [position for position in single if planned[position][0].vague and position not in tools]
        unsaid.add(_pick(rng, vague, "nothing to leave out"))
    turns: list[Turn] = []
    for position, steps in enumerate(planned):
        requests = [steps[0].vague] if position in unsaid else [step.request for step in steps]
        turn = Turn(say(rng, manner, requests, first=not turns), _sources(steps))
        if position in tools:
            turns += [turn._replace(calls=()), Turn(TOOLS_ADDED_MESSAGE, turn.calls, (tools[position],))]
        elif position in unsaid:
            turns += [turn._replace(calls=()), turn._replace(message=steps[0].answer)]
        else:
            turns.append(turn)
    return turns


def _pick(rng: Rng, options: list[T], reason: str) -> T:
    if not options:
        raise Discarded(reason)
    return rng.pick(options)


def _withholdable(planned: list[list[Step]], single: list[int]) -> list[tuple[int, str]]:
    """Return the turns and their tools that can be withheld: no earlier turn may need the tool."""
    used: set[str] = set()
    found: list[tuple[int, str]] = []
    for position, steps in enumerate(planned):
        if position in single:
            found += [(position, tool) for tool in steps[0].withhold if tool not in used]
        used.update(call.name for step in steps for call in step.calls)
    return found


def _sources(steps: list[Step]) -> tuple[str, ...]:
    return tuple(call.source() for step in steps for call in step.calls)
