"""What the scripted learner knows: requests, tools on offer, results, its own calls, and the values in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.reading import (
    bounds,
    closest,
    cued,
    fits,
    likeness,
    listed,
    mentioned,
    quoted,
    request_values,
    typed,
    words,
)

__all__ = ["Memory"]

_UNNAMED = 2
_ALIKE = 0.8
_SIMILAR = 0.6
_LEAVES = 200
"""Values of one result that are kept."""


class Memory:
    """Everything that observations and schemas have said so far.

    Attributes:
        tools: The parameter schemas of the tools on offer, by name.
    """

    def __init__(self) -> None:
        self.tools: dict[str, Mapping[str, Any]] = {}
        self._requests: list[str] = []
        self._results: list[list[tuple[str, Any]]] = []
        self._used: list[tuple[str, Any]] = []

    def hear(self, request: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """Keep what the user says of a request, and the tools that came with it in place of those before.

        Lines of JSON in it document tools; the schemas say the same.
        """
        self._requests.append("\n".join(line for line in request.splitlines() if not line.startswith(("{", "["))))
        if tools:
            self.tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}

    def note_call(self, call: Call) -> None:
        """Keep the arguments of a call."""
        self._used += call.kwargs.items()

    def note_result(self, content: str) -> None:
        """Keep the values of a result."""
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = content
        self._results.append([pair for pair, _ in zip(_leaves("", value), range(_LEAVES), strict=False)])

    def arguments_of(self, tool: str) -> Mapping[str, Any]:
        """Return the schemas of a tool's arguments; none for a tool that is not on offer."""
        arguments: Mapping[str, Any] = self.tools.get(tool, {}).get("properties", {})
        return arguments

    def fill(self, call: Call, text: str, wrong: Sequence[Any] = (), *, lookup: bool = False) -> Call | None:
        """Return a call with its missing required arguments, each with the likeliest value that is known.

        Args:
            call: The call.
            text: A text whose quoted values come first.
            wrong: The values of a call that failed: first where the schema lists them as options, else last.
            lookup: Whether the call is to find out about the wrong values, which then come before what nothing names.

        Returns:
            The call, or None if a value is lacking, or none was missing though some argument was given.
        """
        kwargs = dict(call.kwargs)
        missing = [name for name in self.tools.get(call.name, {}).get("required", ()) if name not in kwargs]
        if kwargs and not missing:
            return None
        for name in missing:
            schema = self.arguments_of(call.name)[name]
            first = [value for value in wrong if value in options(schema)]
            values = (*first, *self._values(name, schema, text, wrong, lookup))
            value = next((one for one in values if one not in kwargs.values()), None)
            if value is None:
                return None
            kwargs[name] = value
        return Call(call.name, kwargs)

    def candidates(self, name: str, schema: Mapping[str, Any], text: str, present: Any) -> list[Any]:
        """Return the known values that an argument could have: those much like the present one, then by likelihood."""
        values = _unique(self._values(name, schema, text))
        return sorted(values, key=lambda value: -max(_ALIKE, likeness(value, present)))

    def news(self, name: str, schema: Mapping[str, Any], text: str, present: Any) -> list[Any]:
        """Return the values of the latest result that an argument could have, the likeliest first."""
        latest = [value for _, value in self._results[-1]] if self._results else []
        alike = closest(present, (value for value in latest if likeness(value, present) > _SIMILAR))
        raw = [*self._from_results(name, self._results[-1:]), *alike, *(latest if len(latest) == 1 else ())]
        return _unique(_fitting(raw, schema, text))

    def returned(self, name: str) -> list[Any]:
        """Return the values of the latest result under a key of exactly that name."""
        return [value for key, value in (self._results[-1] if self._results else ()) if words(key) == words(name)]

    def _values(
        self, name: str, schema: Mapping[str, Any], text: str, wrong: Sequence[Any] = (), lookup: bool = False
    ) -> Iterator[Any]:
        if schema.get("type") == "boolean":
            yield schema.get("default", False)
            return
        allowed = options(schema)
        if schema.get("type") == "array" and allowed:
            yield allowed
        stated = [value for value in (*listed(text), *quoted(text)) if value not in (*self.tools, name)]
        asked = [pair for request in reversed(self._requests) for pair in request_values(request, name)]
        # A bare number that nothing names is seldom meant as a text.
        bare = schema.get("type") == "string"
        asked.sort(key=lambda pair: pair[0] + (bare and pair[0] > 1 and pair[1].replace(".", "").isdecimal()))
        named = [value for rank, value in asked if rank < _UNNAMED]
        own = [value for key, value in reversed(self._used) if key == name]
        known: list[Any] = [
            *stated,
            *self._from_results(name, self._results[::-1]),
            *own,
            *named,
            *(wrong if lookup else ()),
            *(value for rank, value in asked if rank >= _UNNAMED),
            *allowed,
            *reversed(bounds(schema.get("description", ""))),
        ]
        raw = known if lookup else [*(value for value in known if value in own or value not in wrong), *wrong]
        yield from _fitting(raw, schema, "" if wrong else text)  # the form that a text asks for is for the failed call

    def _from_results(self, name: str, results: Sequence[Sequence[tuple[str, Any]]]) -> list[Any]:
        """Return values of results: those under a key like the name, then those that the user speaks of."""
        keyed = [value for result in results for key, value in result if _alike(key, name)]
        request = self._requests[-1]
        spoken = [
            value for result in results for _, value in result if len(str(value)) > 1 and mentioned(request, str(value))
        ]
        return keyed + spoken


def _fitting(values: Sequence[Any], schema: Mapping[str, Any], text: str) -> Iterator[Any]:
    """Yield the values that a schema, its description and a text allow, as its type."""
    described = f"{text}\n{schema.get('description', '')}"
    allowed = options(schema)
    limits = bounds(schema.get("description", ""))
    for raw in values:
        value = typed(raw, schema)
        if not fits(value, schema) or (allowed and value not in allowed and not isinstance(value, list)):
            continue
        if isinstance(value, str):
            if re.search("YYYY-MM-DD", described) and not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
                continue
            if cued("three_letters", described) and not re.fullmatch(r"[A-Z]{3}", value):
                continue
        elif isinstance(value, (int, float)) and limits and not limits[0] <= value <= limits[1]:
            continue
        yield value


def options(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema allows, by its `enum` or its description."""
    inner = schema.get("items", {})
    stated = schema.get("enum") or inner.get("enum")
    if stated:
        return list(stated)
    description = schema.get("description", "")
    return listed(description) if cued("options", description) else []


def _alike(key: str, name: str) -> bool:
    """Tell whether a key has the words of a name, or ends with them, or the other way round."""
    one, other = words(key), words(name)
    return bool(one and other) and (one[-len(other) :] == other or other[-len(one) :] == one)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(str(name), item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(key, item)
    elif value is not None:
        yield key, value


def _unique(values: Iterator[Any]) -> list[Any]:
    unique: list[Any] = []
    for value in values:
        if value not in unique:
            unique.append(value)
    return unique
