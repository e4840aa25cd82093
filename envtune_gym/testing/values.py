"""Random calls: arguments that fit a tool's schema, ones that nearly do, and any JSON at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from envtune_gym.callsyntax import Call
from envtune_gym.domains.base import Tool
from envtune_gym.evaluation.reading import fits

__all__ = ["fitting_calls", "json_values", "programs", "scalars_in"]

_FAMILIAR = 200
_LONGEST = 8
_DEEP: Any = "bottom"
for _ in range(60):
    _DEEP = [_DEEP]
_NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**25, 10**400, -(10**400), 2.5, -0.0, 1e308, float("inf"), float("nan"), "", " ", "0",
    "\x00", "\ud800", "\u202e", "x" * 5_000, "../..", "__class__", "{value}", "%s", "'", '"', [], {}, [[]], [None],
    {"a": {"b": [1]}}, {"__class__": 1}, [1, "a", None], _DEEP,
)  # fmt: skip

Schema = Mapping[str, Any]


def json_values() -> SearchStrategy[Any]:
    """Return what a model may send as an argument: any JSON, with the numbers and texts that Python's reader admits."""
    leaves = st.sampled_from(_NASTY) | st.integers() | st.floats() | _texts() | st.booleans()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts(), inner, max_size=3),
        max_leaves=6,
    )


def fitting_calls(tools: Mapping[str, Tool], familiar: Sequence[Any]) -> SearchStrategy[Call]:
    """Return calls whose arguments fit the tools' schemas.

    Args:
        tools: The tools.
        familiar: Values to take where they are of the type, such as ids that are there.
    """
    calls = [
        _object(tool.schema["function"]["parameters"], familiar).map(_calling(name)) for name, tool in tools.items()
    ]
    return st.one_of(calls)


def programs(
    tools: Mapping[str, Tool], familiar: Sequence[Any], solution: Sequence[Call] = ()
) -> SearchStrategy[list[Call]]:
    """Return sequences of calls, right, nearly right and wrong.

    Args:
        tools: The tools to call.
        familiar: Values to take where they are of the type.
        solution: Calls that succeed in this order, for a start.
    """
    names = sorted(tools)
    keys = _texts() | st.sampled_from(("self", "__class__"))
    anything = st.builds(Call, st.sampled_from(names), st.dictionaries(keys, json_values(), max_size=3))
    fitting = fitting_calls(tools, familiar)
    wrong = fitting.flatmap(lambda call: _altered(call, tools[call.name]))
    calls = st.lists(st.one_of(fitting, wrong, anything), max_size=_LONGEST)
    if not solution:
        return calls
    begun = st.integers(0, len(solution)).map(lambda count: list(solution[:count]))
    return st.tuples(begun, calls).map(lambda parts: parts[0] + parts[1])


def scalars_in(value: Any) -> list[Any]:
    """Return some of the strings and numbers in plain data, keys included, each once."""
    found: dict[tuple[type, Any], Any] = {}
    pending = [value]
    while pending and len(found) < _FAMILIAR:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += [*item, *item.values()]
        elif isinstance(item, (list, tuple, set)):
            pending += item
        elif item is not None:
            found[type(item), item] = item
    return list(found.values())


def _texts() -> SearchStrategy[str]:
    return st.text(st.characters(), max_size=12)


def _calling(name: str) -> Any:
    return lambda arguments: Call(name, arguments)


def _object(schema: Schema, familiar: Sequence[Any]) -> SearchStrategy[dict[str, Any]]:
    properties = {name: _fitting(inner, familiar) for name, inner in schema.get("properties", {}).items()}
    required = schema.get("required", ())
    return st.fixed_dictionaries(
        {name: value for name, value in properties.items() if name in required},
        optional={name: value for name, value in properties.items() if name not in required},
    )


def _fitting(schema: Schema, familiar: Sequence[Any]) -> SearchStrategy[Any]:
    """Return values that a schema admits, those that are there already more often than not."""
    kind = schema.get("type")
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if kind == "object":
        return _object(schema, familiar)
    if kind == "array":
        return st.lists(_fitting(schema.get("items", {}), familiar), max_size=3)
    if kind == "boolean":
        return st.booleans()
    known = [value for value in familiar if fits(value, schema)]
    fresh: SearchStrategy[Any] = _texts()
    if kind == "integer":
        fresh = st.integers(-1_000, 1_000_000)
    elif kind == "number":
        fresh = st.integers(-1_000, 1_000_000) | st.floats(-1e9, 1e9)
    return st.sampled_from(known) | st.sampled_from(known) | fresh if known else fresh


def _altered(call: Call, tool: Tool) -> SearchStrategy[Call]:
    """Return a call with one argument replaced, left out or added."""
    given = dict(call.kwargs)
    parameters = list(tool.schema["function"]["parameters"]["properties"])
    added = st.tuples(_texts(), json_values()).map(lambda pair: {**given, pair[0]: pair[1]})
    options = [added]
    if parameters:
        replaced = st.tuples(st.sampled_from(parameters), json_values()).map(lambda pair: {**given, pair[0]: pair[1]})
        options += [replaced, replaced, replaced]
    if given:
        names = sorted(given)
        options.append(st.sampled_from(names).map(lambda name: {key: given[key] for key in names if key != name}))
    return st.one_of(options).map(_calling(call.name))
