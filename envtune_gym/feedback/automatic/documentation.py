"""What the documentation of a tool says of a call: names, types and options, checked with `jsonschema`.

A schema may come from any server, so it is read with care: only keywords that are cheap to check and cannot fail
are kept. Patterns, formats and references are left out; what they forbid is not noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from typing_extensions import Self

__all__ = ["ToolDoc", "Violation"]

_DEPTH = 6
_MOST = 100
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_LARGEST = 10**15
_QUOTED = re.compile(r"[\"'`\[]([^\"'`\[\]\n,]{1,60})[\"'`\]]")


@dataclass(frozen=True, slots=True)
class Violation:
    """How a call does not fit the documentation of its tool.

    Attributes:
        kind: `missing` or `unknown` (an argument), `type`, `option` (not one of the documented) or `range`.
        argument: The argument.
        expected: Names of the types, or the options as text.
    """

    kind: Literal["missing", "unknown", "type", "option", "range"]
    argument: str
    expected: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolDoc:
    """The documentation of one tool.

    Attributes:
        name: Its name.
        description: What it is said to do.
        parameters: The JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read documentation in OpenAI's form (with or without `function` around it) or in that of MCP."""
        inner = data.get("function")
        entry = inner if isinstance(inner, Mapping) else data
        parameters = entry.get("parameters", entry.get("inputSchema"))
        description = entry.get("description")
        return cls(
            str(entry.get("name", "")),
            description if isinstance(description, str) else "",
            parameters if isinstance(parameters, Mapping) else {},
        )

    @cached_property
    def arguments(self) -> Mapping[str, Mapping[str, Any]]:
        """The schemas of the arguments, by name."""
        properties = self.parameters.get("properties")
        if not isinstance(properties, Mapping):
            return {}
        return {str(name): schema if isinstance(schema, Mapping) else {} for name, schema in properties.items()}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the arguments that no call may lack."""
        required = self.parameters.get("required")
        return tuple(name for name in required if isinstance(name, str)) if isinstance(required, (list, tuple)) else ()

    def options(self, argument: str) -> list[str]:
        """Return the values that the schema lists, and those that its description quotes."""
        schema = self.arguments.get(argument, {})
        listed = schema.get("enum")
        description = schema.get("description")
        quoted = _QUOTED.findall(description[:2000]) if isinstance(description, str) else []
        return [str(value)[:60] for value in listed[:_MOST]] if isinstance(listed, list) else quoted[:_MOST]

    def violations(self, arguments: Mapping[str, Any]) -> list[Violation]:
        """Return how a call does not fit, what is missing first."""
        found = [Violation("missing", name) for name in self.required if name not in arguments]
        if self._is_closed:
            found += [Violation("unknown", name) for name in arguments if name not in self.arguments]
        for name, value in arguments.items():
            optional = value is None and name not in self.required
            if name in self.arguments and not optional:
                found += self._of_value(name, value)
        return found

    @cached_property
    def _is_closed(self) -> bool:
        """Whether the tool takes no arguments but those that are documented."""
        return isinstance(self.parameters.get("properties"), Mapping) and not self.parameters.get(
            "additionalProperties"
        )

    def _of_value(self, name: str, value: Any) -> list[Violation]:
        check = self._checks.get(name)
        if check is None:
            check = self._checks[name] = _checker(_cheap(self.arguments[name]))
        keyword, expected = check(value)
        if keyword in ("enum", "const"):
            return [Violation("option", name, tuple(str(one)[:60] for one in expected[:_MOST]))]
        if keyword in ("type", "anyOf", "oneOf"):
            return [Violation("type", name, tuple(_types(self.arguments[name])))]
        return [Violation("range", name)] if keyword else []

    @cached_property
    def _checks(self) -> dict[str, Callable[[Any], tuple[str, list[Any]]]]:
        return {}


def _checker(schema: dict[str, Any]) -> Callable[[Any], tuple[str, list[Any]]]:
    """Return a function that gives the keyword that a value violates, empty if none, and what is expected."""
    from jsonschema import Draft202012Validator  # loaded here: it takes longer than all of this package

    validator = Draft202012Validator(schema)

    def check(value: Any) -> tuple[str, list[Any]]:
        error = next(validator.iter_errors(value), None)
        if error is None:
            return "", []
        expected = error.validator_value
        return str(error.validator), expected if isinstance(expected, list) else [expected]

    return check


def _cheap(schema: Any, depth: int = _DEPTH) -> dict[str, Any]:
    """Return what of a schema is safe to check; nothing is demanded where it makes no sense."""
    if not isinstance(schema, Mapping) or not depth:
        return {}
    kept: dict[str, Any] = {}
    kinds = _types(schema)
    if kinds:
        kept["type"] = kinds
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        kept["enum"] = schema["enum"][:_MOST]
    kept |= {key: schema[key] for key in _BOUNDS if _is_number(schema.get(key))}
    kept |= {key: schema[key] for key in _COUNTS if type(schema.get(key)) is int and 0 <= schema[key] < _LARGEST}
    if isinstance(schema.get("items"), Mapping):
        kept["items"] = _cheap(schema["items"], depth - 1)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and branches and all(isinstance(branch, Mapping) for branch in branches):
            kept["anyOf"] = [_cheap(branch, depth - 1) for branch in branches[:_DEPTH]]
    return kept


def _types(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type")
    stated: Iterable[Any] = kinds if isinstance(kinds, list) else [kinds]
    known = [kind for kind in stated if isinstance(kind, str) and kind in _TYPES]
    if known:
        return known
    branches = schema.get("anyOf", schema.get("oneOf"))
    if not isinstance(branches, list):
        return []
    return [str(b["type"]) for b in branches[:_DEPTH] if isinstance(b, Mapping) and b.get("type") in _TYPES]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST
