"""What a domain is: plain-data state, tools marked on methods, and errors that are typed values.

A domain knows nothing of Gym, tasks, hints or rewards. To add one, subclass `Domain`, give it its state in
`__init__`, name the state in `state_fields`, and mark each tool with `@tool`; the JSON schema that a model
sees comes from the method's signature and docstring.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from typing_extensions import Self

from envtune_gym.domains.schema import tool_schema

__all__ = [
    "TODAY",
    "TOO_DEEP",
    "Domain",
    "LazyRandom",
    "Tool",
    "ToolError",
    "ToolFailure",
    "copy_plain",
    "to_plain",
    "tool",
]

F = TypeVar("F", bound=Callable[..., Any])

TODAY = date(2026, 3, 23)
"""The day it is in every world: where an official tool reads the host's clock, ours has the benchmark's own date."""

TOO_DEEP = "(nested too deeply)"
"""What stands for data that cannot be gone through."""

_PRINTABLE_BITS = 14_000  # 4,300 digits, Python's limit, are 14,281 bits
_CONTAINERS = frozenset((dict, list, set, tuple))


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a call failed, as data; hints are computed from it and never from the official text.

    Attributes:
        code: Stable name of the cause, unique within the tool's domain, for example `"file_not_found"`.
        tool: Name of the tool that was called.
        argument: Name of the offending argument, or None if the cause is a state.
        value: What that argument held (plain data).
        details: Further values that a hint may need, by name (plain data).
    """

    code: str
    tool: str
    argument: str | None = None
    value: Any = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the error as fresh plain data, as it appears in `info["tool_results"]`."""
        return {
            "code": self.code,
            "tool": self.tool,
            "argument": self.argument,
            "value": to_plain(self.value),
            "details": to_plain(dict(self.details)),
        }


class ToolFailure(Exception):
    """Raised by a tool to end with an official error result.

    Args:
        code: Stable name of the cause (see `ToolError.code`).
        official: What the official tool returns. A `str` is short for `{"error": text}`, an exception is one
            that the official tool raises; anything else is the result itself.
        argument: Name of the offending argument, if it was one.
        value: What that argument held.
        silent: The official tool reports no error here though the call cannot have been meant (a lookup that
            answers "not found" as if that were a result). The result then counts as a success and the cause
            is kept in `ToolResult.silent`.
        **details: Further values for hints.
    """

    def __init__(
        self,
        code: str,
        official: object,
        *,
        argument: str | None = None,
        value: object = None,
        silent: bool = False,
        **details: object,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.official = {"error": official} if isinstance(official, str) else official
        self.argument = argument
        self.value = value
        self.silent = silent
        self.details = details

    def error(self, tool_name: str) -> ToolError:
        """Return the typed error, with the name of the tool that was called."""
        return ToolError(self.code, tool_name, self.argument, copy_plain(self.value), copy_plain(self.details))


@dataclass(frozen=True)
class Tool:
    """A tool as a domain declares it: its name and the function behind it."""

    name: str
    function: Callable[..., Any]
    domain: str

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature without `self`."""
        signature = inspect.signature(self.function)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The tool as an OpenAI function schema; shared, so copy it before changing anything."""
        return tool_schema(self.name, self.function)


def tool(function: F) -> F:
    """Mark a method as a tool: its name, typed signature and Google docstring become the tool's schema."""
    function.__dict__["is_tool"] = True
    return function


class LazyRandom:
    """A `random.Random` that is made at the first draw; most episodes never draw, and seeding costs 10 µs."""

    __slots__ = ("_generator", "_seed")

    def __init__(self, seed: Any) -> None:
        self._seed = seed
        self._generator: random.Random | None = None

    @property
    def generator(self) -> random.Random:
        """The generator itself, seeded when first used."""
        if self._generator is None:
            self._generator = random.Random(self._seed)
        return self._generator

    def fork(self) -> LazyRandom:
        """Return an independent generator that will draw the same numbers from here on."""
        copy = LazyRandom(self._seed)
        if self._generator is not None:
            copy._generator = random.Random()
            copy._generator.setstate(self._generator.getstate())
        return copy


def copy_plain(value: Any) -> Any:
    """Copy plain data (dicts, lists, sets, tuples of scalars) so that nothing mutable is shared."""
    kind = type(value)
    if kind is dict:
        if _CONTAINERS.isdisjoint(map(type, value.values())):
            return value.copy()
        return {k: copy_plain(v) if type(v) in _CONTAINERS else v for k, v in value.items()}
    if kind is list:
        if _CONTAINERS.isdisjoint(map(type, value)):
            return value.copy()
        return [copy_plain(v) if type(v) in _CONTAINERS else v for v in value]
    if kind is tuple:
        return tuple([copy_plain(v) if type(v) in _CONTAINERS else v for v in value])
    if kind is set:
        return set(value)
    return value


def to_plain(value: Any) -> Any:
    """Return fresh JSON-like data: tuples become lists, sets sorted lists, what is not JSON its `repr`.

    An integer of more digits than Python prints becomes hexadecimal text, and what is nested too deeply to be read
    `TOO_DEEP`.
    """
    try:
        return _plain(value)
    except RecursionError:
        return TOO_DEEP


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _PRINTABLE_BITS else hex(value)
    if isinstance(value, Mapping):
        return {k if isinstance(k, (str, int)) else str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(v) for v in value), key=lambda item: (str(type(item)), str(item)))
    return repr(value)


def _nothing(domain: Domain) -> tuple[()]:
    """Return the public state of a domain that has none."""
    return ()


class Domain:
    """Base class of the domains.

    Subclasses are built as `SomeDomain(config, filler)`: the raw configuration of one task (it belongs to the
    task: copy with `copy_plain` whatever is kept) and, for long-context tasks, the official filler constants
    by name, else None. A missing key in the configuration means the domain's default. The arguments that a tool
    gets are its own to keep: `World`, the only caller, copies what is not a scalar and bounds nested results.

    Class attributes:
        state_fields: Names of the public attributes, which are compared between two worlds.
        hidden_fields: Names of further attributes that a copy needs (a working directory, a generator).
        random_tools: Names of tools that draw from the domain's generator, so that an extra call changes what
            a later one returns.
        moving_tools: Names of tools after which others act elsewhere, though neither results nor the public state
            show it. (What shows need not be said: whoever wants to know runs the tool and compares.)
    """

    state_fields: ClassVar[tuple[str, ...]] = ()
    hidden_fields: ClassVar[tuple[str, ...]] = ()
    random_tools: ClassVar[frozenset[str]] = frozenset()
    moving_tools: ClassVar[frozenset[str]] = frozenset()
    tools: ClassVar[Mapping[str, Tool]] = {}
    _public_state: ClassVar[staticmethod[[Any], Any]]

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        """Build the state from a task's configuration."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the methods marked as tools, in the order of their definition."""
        super().__init_subclass__(**kwargs)
        marked = {
            name: function
            for name, function in vars(cls).items()
            if inspect.isfunction(function) and function.__dict__.get("is_tool")
        }
        inherited = {name: tool.function for name, tool in cls.tools.items()}
        functions: dict[str, Callable[..., Any]] = {**inherited, **marked}
        cls.tools = {name: Tool(name, function, cls.__name__) for name, function in functions.items()}
        cls._public_state = staticmethod(attrgetter(*cls.state_fields) if cls.state_fields else _nothing)

    def state(self) -> dict[str, Any]:
        """Return the public state as fresh plain data, by attribute."""
        return {name: to_plain(getattr(self, name)) for name in self.state_fields}

    def same_state(self, other: Self) -> bool:
        """Tell whether the public state equals that of another instance, by Python's `==` on each attribute."""
        return bool(self._public_state(self) == self._public_state(other))

    def fork(self) -> Self:
        """Return an independent copy that will behave the same from here on."""
        copy = type(self).__new__(type(self))
        ours, theirs = self.__dict__, copy.__dict__
        for name in (*self.state_fields, *self.hidden_fields):
            value = ours[name]
            kind = type(value)
            if kind in _CONTAINERS:
                value = copy_plain(value)
            elif kind is LazyRandom:
                value = value.fork()
            theirs[name] = value
        return copy
