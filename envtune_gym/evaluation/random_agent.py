"""An agent that calls anything on offer with anything that fits the schema: what tasks are worth to luck alone."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from random import Random
from string import ascii_lowercase
from typing import Any

from envtune_gym.calls import ActionFormat, render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.reading import fits
from envtune_gym.evaluation.script import DONE

__all__ = ["RandomPolicy"]

_CALLS_A_TURN = 3
_ITEMS = 3
_OPTIONAL = 0.5
_FAMILIAR = 0.8
"""How often an argument is a value seen before, where one is of its type."""
_READ = 20_000
"""Characters of a result or request that are read."""
_KEPT = 500
_VALUE = re.compile(
    r"(?<!\w)'([^'\n]{1,80})'|\"([^\"\n]{1,80})\"|(?<![\w.-])(-?\d{1,12}(?:\.\d{1,6})?)(?![\w-]|\.\d)|([\w.@#/-]{1,39}\w)"
)


class RandomPolicy:
    """Calls one to three tools in each turn, one a message, then answers; never looks at what came of it.

    Tools are drawn from those on offer, and arguments from their schemas: each required one and every other optional
    one, with values that observations have had where these are of the type.

    Args:
        seed: Seed of all that it draws.
        action_format: The format of its messages.
    """

    def __init__(self, seed: int | str = 0, action_format: ActionFormat = "tool_call") -> None:
        self._rng = Random(seed)
        self._format = action_format
        self._tools: list[Mapping[str, Any]] = []
        self._seen: deque[Any] = deque(maxlen=_KEPT)
        self._turn = -1
        self._calls_left = 0

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """Return the next message."""
        self._tools = info.get("tools", self._tools)
        self._seen.extend(_values(observation))
        if info["turn"] != self._turn:
            self._turn = info["turn"]
            self._calls_left = self._rng.randint(1, _CALLS_A_TURN)
        if not self._calls_left or not self._tools:
            return render_answer(DONE, self._format)
        self._calls_left -= 1
        tool = self._rng.choice(self._tools)["function"]
        return render_calls([Call(tool["name"], self._object(tool["parameters"]))], self._format)

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            name: self._value(inner)
            for name, inner in schema.get("properties", {}).items()
            if name in required or self._rng.random() < _OPTIONAL
        }

    def _value(self, schema: Mapping[str, Any]) -> Any:
        """Return a value that a schema allows."""
        rng = self._rng
        if "enum" in schema:
            return rng.choice(schema["enum"])
        kind = schema.get("type", "string")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return [self._value(schema.get("items", {})) for _ in range(rng.randint(1, _ITEMS))]
        if kind == "boolean":
            return rng.random() < 1 / 2
        familiar = [value for value in self._seen if fits(value, schema)]
        if familiar and rng.random() < _FAMILIAR:
            return rng.choice(familiar)
        if kind == "integer":
            return rng.randint(0, 100)
        if kind == "number":
            return round(rng.uniform(0, 100), 2)
        return "".join(rng.choices(ascii_lowercase, k=6))


def _values(observation: str) -> Iterator[Any]:
    """Yield the quoted texts, numbers and words in an observation, in order."""
    for text in _texts(observation):
        for one, other, number, word in _VALUE.findall(text[:_READ]):
            if number:
                yield float(number) if "." in number else int(number)
            else:
                yield one or other or word


def _texts(observation: str) -> list[str]:
    """Return the results in an observation; the observation itself if it holds none."""
    try:
        results = json.loads(observation)
    except (ValueError, RecursionError):
        return [observation]
    if not isinstance(results, list):
        return [observation]
    return [str(result.get("content")) if isinstance(result, dict) else str(result) for result in results]
