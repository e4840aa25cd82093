"""Places in a task's ground truth where a call can be made wrong, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.evaluation.learner import Draft, Plan, Step
from envtune_gym.scoring import ground_truth
from envtune_gym.tasks import Task
from envtune_gym.tooldocs import offered_names, tool_schemas
from envtune_gym.world import World

__all__ = ["Effect", "Scene", "effect", "scenes"]

Effect = Literal["error", "silent", "unseen"]
"""How a mistake shows: a call or message fails, a call succeeds though it cannot have been meant, or only the outcome
differs, of which no feedback on calls can tell."""

_LONGEST_TURN = 16


@dataclass(frozen=True)
class Scene:
    """A call of a task's ground truth, in its place.

    Attributes:
        task: The task.
        turns: The calls of each turn of the ground truth, with named arguments.
        turn: The turn of the call.
        index: Its index in the turn.
        before: The world before it; fork it, never run it.
    """

    task: Task
    turns: tuple[tuple[Call, ...], ...]
    turn: int
    index: int
    before: World

    @property
    def call(self) -> Call:
        """The call itself."""
        return self.turns[self.turn][self.index]

    @property
    def said(self) -> str:
        """All that the user has said up to this turn."""
        return "\n".join(self.task.turns[: self.turn + 1])

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of the tool's arguments."""
        properties: Mapping[str, Any] = tool_schemas(self.task)[self.call.name]["function"]["parameters"]["properties"]
        return properties

    def values(self, kind: type | tuple[type, ...]) -> list[tuple[str, Any]]:
        """Return the arguments of a type, by name; a truth value is no number."""
        return [
            (name, value)
            for name, value in self.call.kwargs.items()
            if isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        ]

    def calling(self, name: str) -> Plan:
        """Return the plan with another tool's name in the call."""
        return self.replaced(Call(name, self.call.kwargs))

    def giving(self, **arguments: Any) -> Plan:
        """Return the plan with other arguments in the call."""
        return self.replaced(Call(self.call.name, {**self.call.kwargs, **arguments}))

    def replaced(self, step: Step) -> Plan:
        """Return the plan up to this turn with another step in place of the call."""
        calls = self.turns[self.turn]
        return self.with_turn((*calls[: self.index], step, *calls[self.index + 1 :]))

    def with_turn(self, steps: Sequence[Step]) -> Plan:
        """Return the plan up to this turn with other steps in it."""
        return (*self.turns[: self.turn], tuple(steps))


def scenes(task: Task) -> Iterator[Scene]:
    """Yield the calls of a task's ground truth, each in its place.

    A turn is yielded only if its calls, and all before them, are on offer and succeed: a call is corrupted when its
    ground truth works. Nested calls, which the action format cannot hold, end the scenes too, and so does a turn so
    long that a repair could meet the step limit.
    """
    world = ground_truth(task).start.fork()
    turns: tuple[tuple[Call, ...], ...] = ()
    for turn, texts in enumerate(task.ground_truth):
        if len(texts) > _LONGEST_TURN:
            return
        offered = frozenset(offered_names(task, turn, "strict"))
        named: list[Call] = []
        worlds: list[World] = []
        for text in texts:
            call = parse_call(text)
            if len(list(call.names())) > 1:
                return
            worlds.append(world.fork())
            result = world.run(call, offered)
            if result.error or result.silent:
                return
            named.append(Call(call.name, result.arguments))
        turns = (*turns, tuple(named))
        for index, before in enumerate(worlds):
            yield Scene(task, turns, turn, index, before)


def effect(task: Task, plan: Plan) -> Effect | None:
    """Run a plan and tell how it differs from the ground truth."""
    truth = ground_truth(task)
    world = truth.start.fork()
    contents: list[str] = []
    for turn, steps in enumerate(plan):
        offered = frozenset(offered_names(task, turn, "strict"))
        contents = []
        for step in steps:
            if isinstance(step, Draft):
                reply = parse_action(step.text, "tool_call")
                if reply.error is None:
                    return None
                return "error"
            result = world.run(step, offered)
            if result.error or result.silent:
                return "error" if result.error else "silent"
            contents.append(result.content)
    last = len(plan) - 1
    same = not world.differing_domains(truth.states[last]) and sorted(contents) == sorted(
        truth.results[last].elements()
    )
    return None if same else "unseen"
