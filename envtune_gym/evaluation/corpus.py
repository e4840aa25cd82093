"""A large corpus of calls that fail: the ground truths of tasks made wrong in many ways, and calls made at random.

An episode holds the actions for one task. In each turn come, mixed into one message or several, the wrong variants of
each right call, random calls, messages that cannot be read, the right calls in reverse order and twice; then the right
calls and an answer. Much of it fails, each thing for a cause of its own; what happens to succeed leaves the world in a
state that the task never meant, in which the next calls fail for further causes. The same seed gives the same corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from envtune_gym.calls import ActionFormat, render_answer, render_calls
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class, domain_names
from envtune_gym.domains.base import Tool
from envtune_gym.tasks import Task
from envtune_gym.tooldocs import tool_schemas

__all__ = ["BrokenEpisode", "broken_episode"]

_FORMATS: tuple[ActionFormat, ...] = ("tool_call", "python", "openai")
_BATCH = 100
_RANDOM_CALLS = 4
_WRONG_VALUES: tuple[Any, ...] = (
    None,
    [],
    {},
    True,
    0,
    -1,
    2.5,
    10**9,
    10**400,
    "",
    "no_such_thing",
    "12",
    ["a", 1],
    {"a": []},
    "x" * 300,
)
_UNREADABLE = (
    "<tool_call>[",
    '<tool_call>[{"name": 1, "arguments": {}}]</tool_call>',
    '<tool_call>[{"name": "ls", "arguments": "x"}]</tool_call>',
    "<tool_call>[ls()]</tool_call>",
    "<answer>half",
    "<think>never closed",
    "<tool_call>[]</tool_call><answer>both</answer>",
)


@dataclass(frozen=True, slots=True)
class BrokenEpisode:
    """Actions for a task, most of which fail.

    Attributes:
        task: The task.
        action_format: The format that the actions are written in.
        actions: Assistant messages, in order.
    """

    task: Task
    action_format: ActionFormat
    actions: tuple[str, ...]


def broken_episode(task: Task, index: int, seed: int = 0) -> BrokenEpisode:
    """Make the episode of a task.

    Args:
        task: The task.
        index: Its place in the corpus; the action format goes by it.
        seed: Seed of all choices.
    """
    rng = Random(f"{seed} {task.id}")
    action_format = _FORMATS[index % len(_FORMATS)]
    return BrokenEpisode(task, action_format, tuple(_actions(task, action_format, rng)))


def _actions(task: Task, action_format: ActionFormat, rng: Random) -> Iterator[str]:
    tools = {name: tool for domain in task.domains for name, tool in domain_class(domain).tools.items()}
    makes = _Maker(task, tools, rng, positional=action_format == "python")
    for texts in task.ground_truth:
        named = [_with_names(parse_call(text), tools, nested=action_format == "python") for text in texts]
        right = [call for call in named if call is not None]
        wrong = [other for call in right for other in makes.variants(call)]
        wrong += [makes.random_call() for _ in range(_RANDOM_CALLS)]
        rng.shuffle(wrong)
        wrong += [*right[::-1], *right]
        for start in range(0, len(wrong), _BATCH):
            yield from _written(wrong[start : start + _BATCH], action_format)
        if action_format == "tool_call":
            yield rng.choice(_UNREADABLE)
        if right:
            yield from _written(right, action_format)
        yield render_answer("Done.", action_format)


def _written(calls: Sequence[Call], action_format: ActionFormat) -> Iterator[str]:
    """Yield calls as one message, or as several if one were too long, without what the format cannot hold."""
    try:
        yield render_calls(calls, action_format)
    except ValueError:
        if len(calls) > 1:
            middle = len(calls) // 2
            yield from _written(calls[:middle], action_format)
            yield from _written(calls[middle:], action_format)


class _Maker:
    """Makes calls that are likely to fail in one task."""

    def __init__(self, task: Task, tools: dict[str, Tool], rng: Random, *, positional: bool) -> None:
        self._tools = tools
        self._schemas = tool_schemas(task)
        self._rng = rng
        self._positional = positional
        self._values = [
            value
            for texts in task.ground_truth
            for text in texts
            for value in parse_call(text).kwargs.values()
            if not isinstance(value, Call)
        ]
        self._elsewhere = [name for domain in domain_names() for name in domain_class(domain).tools]

    def variants(self, call: Call) -> Iterator[Call]:
        """Yield wrong variants of a right call: its name, which arguments it has, and their values."""
        rng, name, kwargs = self._rng, call.name, call.kwargs
        yield Call(rng.choice((name + "s", name.upper(), name[:-1], name.replace("_", ""))), kwargs)
        yield Call(rng.choice(self._elsewhere), kwargs)
        yield Call(name, {**kwargs, rng.choice(("verbose", "mode_of_use", "user")): "x"})
        if self._positional:
            yield Call(name, {}, tuple(range(9)))
            yield Call(name, kwargs, tuple(value for value in kwargs.values())[:1])
            yield Call(name, {key: Call(name, kwargs) for key in kwargs})
        for argument in kwargs:
            others = {key: value for key, value in kwargs.items() if key != argument}
            yield Call(name, others)
            yield Call(name, {**others, argument[:-1] or "x": kwargs[argument]})
            for value in rng.sample(self._wrong_values(kwargs[argument]), 4):
                yield Call(name, {**others, argument: value})

    def random_call(self) -> Call:
        """Return a call of any tool with arguments of roughly its types."""
        rng = self._rng
        name = rng.choice(list(self._tools))
        properties = self._schemas[name]["function"]["parameters"]["properties"]
        return Call(name, {key: self._typed(schema) for key, schema in properties.items() if rng.random() < 0.9})

    def _typed(self, schema: dict[str, Any]) -> Any:
        rng = self._rng
        if self._values and rng.random() < 0.3:
            return rng.choice(self._values)
        match schema.get("type"):
            case "string":
                return rng.choice(("a", "notes.txt", "USR001", "2024-02-30", "Apple", "*.txt", "100", "start", "/"))
            case "integer":
                return rng.randint(-5, 2000)
            case "number":
                return rng.choice((rng.uniform(-10, 1e6), 0, float(rng.randint(1, 99))))
            case "boolean":
                return rng.random() < 0.5
            case "array":
                return [self._typed(schema.get("items", {"type": "string"})) for _ in range(rng.randint(0, 3))]
            case _:
                return {"status": "Open", "colour": "red"}

    def _wrong_values(self, value: Any) -> list[Any]:
        """Return values for an argument in place of the right one: like it, and wholly different ones."""
        like: list[Any] = []
        if isinstance(value, str):
            like = [value.upper(), value[:-1], f"./{value}/", f"{value}, Italy", value * 2, [value]]
        elif isinstance(value, (int, float)):
            like = [str(value), value + 1, -value, value * 1000, [value], value / 7]
        elif isinstance(value, list):
            like = [", ".join(map(str, value)), value[:1] and value[0], [str(item) for item in value], [value]]
        return [*like, *self._rng.sample(_WRONG_VALUES, 3), *self._rng.sample(self._values, min(2, len(self._values)))]


def _with_names(call: Call, tools: dict[str, Tool], *, nested: bool) -> Call | None:
    """Return a call with its arguments by name; None if it has calls within it, and the format holds none."""
    if not nested and len(list(call.names())) > 1:
        return None
    names: Sequence[str] = list(tools[call.name].signature.parameters)
    return Call(call.name, {**dict(zip(names, call.args, strict=False)), **call.kwargs})
