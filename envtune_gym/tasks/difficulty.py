"""How hard a task is, measured on the task itself: any task, official, generated or of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from envtune_gym.callsyntax import parse_call
from envtune_gym.domains import domain_class
from envtune_gym.tasks.task import Task
from envtune_gym.world import World

__all__ = ["Difficulty", "measure_difficulty"]

_CHARACTERS_A_TOKEN = 4
_TELLING = 3
"""Shorter values (a small number, a letter) stand in results by chance."""


class Difficulty(NamedTuple):
    """What makes a task hard, in numbers.

    Attributes:
        turns: User turns with something to do.
        calls: Calls of the ground truth.
        depth: The longest chain of calls each of which takes a value that the one before it has shown.
        domains: Domains involved.
        tools: Tools on offer at the end.
        distance: The most turns between a value's first appearance (said or shown) and its use in a call.
        context_tokens: About how many tokens a solver reads beside the tools' documentation: requests and results, four
            characters each.
    """

    turns: int
    calls: int
    depth: int
    domains: int
    tools: int
    distance: int
    context_tokens: int


class _Shown(NamedTuple):
    """A text that the solver has seen: in which turn, and how many calls its values took."""

    text: str
    turn: int
    depth: int


def measure_difficulty(task: Task) -> Difficulty:
    """Return how hard a task is, by running its ground truth."""
    world = World(task.domains, task.initial_config, task.long_context)
    seen: list[_Shown] = []
    deepest = distance = 0
    for turn, texts in enumerate(task.ground_truth):
        seen.append(_Shown(task.turns[turn], turn, 0))
        for text in texts:
            call = parse_call(text)
            depth = 1
            for value in _values([*call.args, *call.kwargs.values()]):
                source = next((shown for shown in seen if value in shown.text), None)  # where it first appeared
                if source is not None:
                    depth = max(depth, source.depth + 1)
                    distance = max(distance, turn - source.turn)
            deepest = max(deepest, depth)
            seen.append(_Shown(world.run(call).content, turn, depth))
    return Difficulty(
        turns=sum(map(bool, task.ground_truth)),
        calls=sum(map(len, task.ground_truth)),
        depth=deepest,
        domains=len(task.domains),
        tools=sum(len(domain_class(domain).tools) for domain in task.domains),
        distance=distance,
        context_tokens=sum(len(shown.text) for shown in seen) // _CHARACTERS_A_TOKEN,
    )


def _values(value: Any) -> Iterator[str]:
    """Yield the values within an argument as results print them; those that say nothing are left out."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _values(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        text = value if isinstance(value, str) else json.dumps(value)
        if len(text) >= _TELLING:
            yield text
