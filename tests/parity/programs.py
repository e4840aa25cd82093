"""Random programs: sequences of calls for one world, many of whose arguments come from that world's state.

A program is drawn whole, before anything runs. An argument that is to come from the state is drawn as `FromState`
and looked up just before its call, so that a program can use an id that it has itself made.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from envtune_gym.callsyntax import Call
from envtune_gym.official import load_tool_docs

from .known_differences import LIVE_RESULTS
from .values import (
    BOUNDED,
    FURTHER,
    INTEGERS,
    NUMBERS,
    PREPARED,
    STRINGS,
    WRONG,
    entries,
    has_source,
    official_calls,
    official_values,
    suitable,
    tools,
)

_INDICES = (0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 9)
_PARTS = 6  # of five calls on average; one long list would either be short or not shrink
_FLAWS = (*[None] * 12, *["value"] * 5, "missing", "unknown", "repeated", "surplus", "name")
_OTHER_VALUES = (*WRONG, *WRONG, *STRINGS)
_NO_TOOLS = ("no_such_tool", "_load_scenario", "__init__", "LS")
_TYPES = {"string": (str,), "integer": (int,), "float": (int, float), "boolean": (bool,)}
_TRAVEL_CLASSES = ("economy", "business", "first")


@dataclass(frozen=True)
class Scenario:
    """Where a program starts: a domain and the raw configuration of all domains."""

    domain: str
    config: Mapping[str, Any]
    long_context: bool

    def __repr__(self) -> str:
        return f"{self.domain}, long_context={self.long_context}, config={json.dumps(self.config)}"


@dataclass(frozen=True)
class FromState:
    """An argument to be taken from the present state: the `index`-th value of its type that suits it."""

    index: int
    kind: str


@dataclass(frozen=True)
class Step:
    """One call of a program before its arguments are looked up.

    Attributes:
        call: The call as its tool is documented.
        positional: How many arguments to pass by position, as far as they are given.
        flaw: What to spoil (one of `_FLAWS`), or None.
        place: Which argument to spoil.
        value: What to put there; a step is a nested call.
    """

    call: Call
    positional: int = 0
    flaw: str | None = None
    place: int = 0
    value: Any = None

    def resolve(self, state: Mapping[str, Any]) -> Call:
        """Return the call to run in a state."""
        tool = tools()[self.call.name]
        kwargs = {name: _resolve(tool.domain, name, value, state) for name, value in self.call.kwargs.items()}
        args = []
        for parameter in list(tool.signature.parameters)[: self.positional]:
            if parameter in kwargs:
                args.append(kwargs.pop(parameter))
        call = Call(self.call.name, kwargs, tuple(args))
        return call if self.flaw is None else self._spoil(call, state)

    def _spoil(self, call: Call, state: Mapping[str, Any]) -> Call:
        value = self.value.resolve(state) if isinstance(self.value, Step) else self.value
        kwargs = dict(call.kwargs)
        names = [name for name in kwargs if name not in BOUNDED]
        name = names[self.place % len(names)] if names else "unknown"
        if self.flaw == "name":
            return replace(call, name=_NO_TOOLS[self.place % len(_NO_TOOLS)])
        if self.flaw == "missing":
            kwargs.pop(name, None)
            return replace(call, kwargs=kwargs)
        if self.flaw == "repeated":
            return replace(call, args=(*call.args, value))
        if self.flaw == "surplus":
            return replace(call, args=(*call.args, *kwargs.values(), value, value), kwargs={})
        return replace(call, kwargs={**kwargs, "unknown" if self.flaw == "unknown" else name: value})


def scenarios(domain: str, long_context: bool) -> st.SearchStrategy[Scenario]:
    """Return the strategy of starting points: an official configuration, none at all, or one that lets much succeed."""
    official = [entry["initial_config"].get(domain, {}) for entry in entries("base")]
    distinct = [config for index, config in enumerate(official) if config and config not in official[:index]]
    others = [{}, *([PREPARED[domain]] if domain in PREPARED else [])]
    configs = st.one_of(st.sampled_from(others), st.sampled_from(distinct or others))
    return configs.map(lambda config: Scenario(domain, {domain: config} if config else {}, long_context))


def programs(domain: str) -> st.SearchStrategy[list[Step]]:
    """Return the strategy of programs for a domain, about two fifths of whose calls are ill-typed."""
    good = st.one_of([_calls(domain, doc) for doc in load_tool_docs(domain)])
    part = st.lists(_perhaps_flawed(good), max_size=10)
    return st.tuples(*[part] * _PARTS).map(lambda parts: [step for part in parts for step in part])


@st.composite
def _perhaps_flawed(draw: st.DrawFn, good: st.SearchStrategy[Step]) -> Step:
    step = draw(good)
    flaw = draw(st.sampled_from(_FLAWS))
    if flaw is None:
        return step
    nested = flaw == "value" and draw(st.integers(0, 7)) == 7
    value = draw(
        good.filter(lambda inner: inner.call.name not in LIVE_RESULTS) if nested else st.sampled_from(_OTHER_VALUES)
    )
    return replace(step, flaw=flaw, place=draw(st.integers(0, 5)), value=value)


def is_well_typed(call: Call) -> bool:
    """Tell whether a call keeps to the official documentation of its tool."""
    tool = tools().get(call.name)
    if tool is None:
        return False
    names = list(tool.signature.parameters)
    given = dict(zip(names, call.args, strict=False))
    if len(call.args) > len(names) or given.keys() & call.kwargs.keys():
        return False
    given.update(call.kwargs)
    schema = next(doc for doc in load_tool_docs(tool.domain) if doc["name"] == call.name)["parameters"]
    properties = schema["properties"]
    return set(schema["required"]) <= given.keys() <= properties.keys() and all(
        _fits(value, properties[name]) and (name != "travel_class" or value in _TRAVEL_CLASSES)
        for name, value in given.items()
    )


def _calls(domain: str, doc: Mapping[str, Any]) -> st.SearchStrategy[Step]:
    """Return the strategy of calls of one tool that keep to its documentation (but for what the state holds)."""
    tool, schema = doc["name"], doc["parameters"]
    arguments = {name: _argument(domain, tool, name, schema["properties"][name]) for name in schema["properties"]}
    required = {name: strategy for name, strategy in arguments.items() if name in schema["required"]}
    optional = {name: strategy for name, strategy in arguments.items() if name not in required}
    kwargs = st.fixed_dictionaries(required, optional=optional)
    if official_calls(tool):
        sensible = _sensible(domain, tool, arguments, schema["properties"])
        kwargs = st.one_of(kwargs, sensible, sensible)
    positional = st.sampled_from([0, 0, 0, 1, len(arguments)])
    return st.tuples(kwargs, positional).map(lambda drawn: Step(Call(tool, drawn[0]), drawn[1]))


def _sensible(
    domain: str, tool: str, arguments: Mapping[str, st.SearchStrategy[Any]], properties: Mapping[str, Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Return the strategy of an official call's arguments, one or none of them replaced by any other value.

    What the state has is taken from there. Without such calls a booking, which needs six right arguments at once,
    would never be made.
    """

    def adapt(drawn: tuple[dict[str, Any], int, dict[str, Any]]) -> dict[str, Any]:
        official, index, other = drawn
        kwargs = dict(official)
        for name in official:
            kind = properties[name]["type"]
            if has_source(domain, name) and kind in _TYPES:
                kwargs[name] = FromState(index, kind)
        return {**kwargs, **other}

    others = [st.fixed_dictionaries({name: strategy}) for name, strategy in arguments.items()]
    other = st.one_of([st.just({})] * len(others) + others)
    return st.tuples(st.sampled_from(official_calls(tool)), st.sampled_from(_INDICES), other).map(adapt)


def _argument(domain: str, tool: str, name: str, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if name in BOUNDED:
        return st.sampled_from(BOUNDED[name])
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "dict":
        fields = {key: _scalar(domain, key, inner["type"], []) for key, inner in schema["properties"].items()}
        return st.fixed_dictionaries({}, optional=fields)
    official = official_values(tool, name)
    if schema["type"] == "array":
        items = [item for value in official for item in (value if isinstance(value, list) else [value])]
        lists = st.lists(_scalar(domain, name, schema["items"]["type"], items), max_size=4)
        whole = [value for value in official if isinstance(value, list)]
        return st.one_of(lists, st.sampled_from(whole)) if whole else lists
    return _scalar(domain, name, schema["type"], official)


def _scalar(domain: str, name: str, kind: str, official: list[Any]) -> st.SearchStrategy[Any]:
    junk, free = {
        "string": (STRINGS, st.text(max_size=12)),
        "integer": (INTEGERS, st.integers(-3, 10_000)),
        "float": (NUMBERS, st.floats(allow_nan=False)),
    }[kind]
    pools = [official or junk, FURTHER.get(name, official) or junk, FURTHER.get(name, official) or junk, junk]
    if domain != "MathAPI":  # which has no state
        pools += [[FromState(index, kind) for index in _INDICES]] * (4 if has_source(domain, name) else 1)
    return st.one_of(*map(st.sampled_from, pools), free)


def _resolve(domain: str, name: str, value: Any, state: Mapping[str, Any]) -> Any:
    if isinstance(value, FromState):
        kind = _TYPES[value.kind]
        found = [item for item in suitable(domain, name, state) if isinstance(item, kind) and item is not True]
        value = found[value.index % len(found)] if found else kind[0](7)
    if isinstance(value, str):
        # The official executor rewrites what looks like a call even inside strings (see known_differences.py).
        return re.sub(r"(?<=\w)(\s*)\(", r"\1[", value)
    if isinstance(value, list):
        return [_resolve(domain, name, item, state) for item in value]
    if isinstance(value, dict):
        return {key: _resolve(domain, key, item, state) for key, item in value.items()}
    return value


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is of the documented type, with no keys but the documented ones."""
    kind = schema["type"]
    if kind == "array":
        return isinstance(value, list) and all(_fits(item, schema["items"]) for item in value)
    if kind == "dict":
        known = schema["properties"]
        return isinstance(value, dict) and all(key in known and _fits(item, known[key]) for key, item in value.items())
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
