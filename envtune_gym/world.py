"""Domains composed: the only way to run a tool. A world shares nothing that can change with any other."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from typing_extensions import Self

from envtune_gym.callsyntax import BrokenCall, Call, CallSyntaxError, parse_call
from envtune_gym.domains import domain_class
from envtune_gym.domains.base import TOO_DEEP, Domain, Tool, ToolError, ToolFailure, copy_plain, to_plain
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.official import load_filler
from envtune_gym.rendering import render

__all__ = ["Snapshot", "ToolResult", "World", "name_arguments"]

MAX_NESTED_ITEMS = 50_000
MAX_NESTED_CHARACTERS = 2**20
MAX_NESTED_DEPTH = 32
"""What the results of nested calls that become arguments may hold, in all calls of a world together; depth of each."""
MAX_RESULT_LENGTH = 2**21
"""Characters of the longest result text."""

_SCALARS = frozenset((str, int, float, bool, type(None)))


@dataclass(slots=True)
class ToolResult:
    """What came of one call.

    Attributes:
        name: The tool as it was called.
        arguments: Its arguments by name (a positional argument beyond the signature by its index).
        content: The official result text.
        error: The typed cause if the call failed, else None.
        silent: The typed cause if the official tool took a call that cannot have been meant for a success.
    """

    name: str
    arguments: dict[str, Any]
    content: str
    error: ToolError | None = None
    silent: ToolError | None = None


class Snapshot(NamedTuple):
    """The state of a world at one moment; opaque, made by `World.snapshot`."""

    domains: Mapping[str, Domain]


class World:
    """The tools and the state of one task.

    Args:
        domains: Names of the domains involved, for example `["TravelAPI", "MathAPI"]`.
        initial_config: Configuration by domain. A missing domain has its defaults, one that is not involved is
            ignored. Nothing of it is kept by reference.
        long_context: Whether the domains are filled with the official long-context filler.

    Raises:
        ConfigurationError: If a domain is unknown or named twice.
        TaskError: If a domain cannot be built from its configuration.
        DataError: If the filler is asked for and the official data is not installed.
    """

    def __init__(self, domains: Sequence[str], initial_config: Mapping[str, Any], long_context: bool = False) -> None:
        filler = load_filler() if long_context else None
        built: dict[str, Domain] = {}
        for name in domains:
            if name in built:
                raise ConfigurationError(f"domain {name!r} is named twice; name each involved domain once")
            make = domain_class(name)
            try:
                built[name] = make(initial_config.get(name, {}), filler)
            except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
                raise TaskError(f"initial_config[{name!r}] is not a configuration of that domain: {error!r}") from error
        self._attach(built, shared=False)
        self._nested = (0, 0)

    def _attach(self, domains: Mapping[str, Domain], shared: bool) -> None:
        self._domains = dict(domains)
        # Copies are made late: a domain that a fork or a snapshot holds too is copied before its first call here.
        self._shared = set(domains) if shared else set()
        self._tools = _tools_of(tuple(map(type, domains.values())))

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains involved."""
        return tuple(self._domains)

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools of all domains involved, by name."""
        return dict(self._tools)

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool with named arguments.

        Whatever the tool or Python makes of the arguments becomes the result's text and typed error; a call
        never raises.
        """
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            error = ToolError("bad_call", str(name), value=to_plain(arguments))
            return ToolResult(str(name), {}, "Error during execution: a call is a name and arguments by name", error)
        return self._run(name, (), arguments)

    def run(self, call: Call, offered: Container[str] | None = None) -> ToolResult:
        """Run a call that has been parsed; nested calls run first, in Python's order.

        Args:
            call: The call.
            offered: Names of the tools that may run, nested ones included; any other is refused as unknown. None
                lets all tools of the domains run.
        """
        if offered is not None:
            refused = next((name for name in call.names() if name not in offered), None)
            if refused is not None:
                return self._unknown_tool(call, refused)
        if isinstance(call, BrokenCall):
            error = ToolError("bad_syntax", call.name, details={"message": call.fault})
            return ToolResult(call.name, {}, f"Error during execution: {call.fault}", error)
        return self._run(call.name, call.args, call.kwargs)

    def execute(self, text: str) -> str:
        """Run a call in BFCL's Python syntax and return the official result text.

        Example:
            >>> World(["MathAPI"], {}).execute("add(a=2, b=3)")
            '{"result": 5}'
        """
        try:
            call = parse_call(text)
        except CallSyntaxError as error:
            return f"Error during execution: {error.official}"
        if call.name not in self._tools:
            return self._unknown_tool(call, call.name).content
        return self._invoke(call.name, call.args, call.kwargs)[0]

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the public state as fresh plain data: domain, then attribute."""
        return {name: domain.state() for name, domain in self._domains.items()}

    def same_state(self, other: Self | Snapshot) -> bool:
        """Tell whether every domain's public state equals that of another world with the same domains."""
        return not self.differing_domains(other)

    def differing_domains(self, other: Self | Snapshot) -> list[str]:
        """Return the names of the domains whose public state differs from that of another world."""
        theirs = other.domains if isinstance(other, Snapshot) else other._domains
        return [
            name
            for name, domain in self._domains.items()
            if domain is not theirs[name] and not domain.same_state(theirs[name])
        ]

    def snapshot(self) -> Snapshot:
        """Return the present state, to go back to with `restore` as often as wanted."""
        self._shared.update(self._domains)
        return Snapshot(dict(self._domains))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state of this world or of one with the same domains."""
        if tuple(snapshot.domains) != tuple(self._domains):
            raise ConfigurationError(
                f"the snapshot is of {list(snapshot.domains)}, this world has {list(self._domains)}"
            )
        self._attach(snapshot.domains, shared=True)

    def fork(self) -> Self:
        """Return an independent world in the same state, which will behave the same from here on."""
        copy = type(self).__new__(type(self))
        copy._attach(self.snapshot().domains, shared=True)
        copy._nested = self._nested
        return copy

    def _own(self, name: str) -> Domain:
        """Return a domain that a tool may change."""
        domain = self._domains[name]
        if name in self._shared:
            domain = self._domains[name] = domain.fork()
            self._shared.discard(name)
        return domain

    def _run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolResult:
        if name not in self._tools:
            return self._unknown_tool(Call(name, kwargs, args), name)
        content, failure = self._invoke(name, args, kwargs)
        error = silent = None
        if isinstance(failure, ToolFailure):
            if failure.silent:
                silent = failure.error(name)
            else:
                error = failure.error(name)
        elif failure is not None:
            error = _python_error(self._tools[name], args, kwargs, failure)
        return ToolResult(name, self._named(name, args, kwargs), content, error, silent)

    def _invoke(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, Exception | None]:
        """Run a known tool; return the official text and, of a failure, the exception that says why."""
        tool = self._tools[name]
        failure: Exception | None = None
        try:
            try:
                if args or not _SCALARS.issuperset(map(type, kwargs.values())):
                    args = tuple([self._value(value) for value in args])
                    kwargs = {key: self._value(value) for key, value in kwargs.items()}
                result = tool.function(self._own(tool.domain), *args, **kwargs)
            except ToolFailure as error:
                failure, result = error, error.official
                if isinstance(result, Exception):
                    result = f"Error during execution: {result}"
            content = render(result)
            if len(content) > MAX_RESULT_LENGTH:
                raise ToolFailure("too_large", f"The result is longer than {MAX_RESULT_LENGTH} characters.")
            return content, failure
        except ToolFailure as error:
            return render(error.official), error
        except Exception as error:
            return f"Error during execution: {error}", error

    def _value(self, value: Any) -> Any:
        """Return an argument ready to be passed: copied, and a nested call replaced by its result."""
        if isinstance(value, Call):
            tool = self._tools.get(value.name)
            if tool is None:
                raise NameError(f"name '{value.name}' is not defined")
            args = [self._value(argument) for argument in value.args]
            kwargs = {key: self._value(argument) for key, argument in value.kwargs.items()}
            try:
                result = tool.function(self._own(tool.domain), *args, **kwargs)
            except ToolFailure as failure:
                if isinstance(failure.official, Exception):
                    raise
                result = failure.official
            self._count_nested(result)
            return copy_plain(result)
        if type(value) in _SCALARS:
            return value
        if isinstance(value, (list, tuple)):
            return type(value)([self._value(item) for item in value])
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items()}
        return copy_plain(value)

    def _count_nested(self, result: Any) -> None:
        """Count what nested calls have handed on as arguments, and refuse what goes beyond the bounds.

        What a model writes is short, but a tool can be handed what another returned, state included, and keep it:
        without bounds the state could double with every call (`follow_user(list_all_following())`).

        Raises:
            ToolFailure: `too_large`.
        """
        items, characters, depth = _size(result)
        items, characters = items + self._nested[0], characters + self._nested[1]
        if items > MAX_NESTED_ITEMS or characters > MAX_NESTED_CHARACTERS or depth > MAX_NESTED_DEPTH:
            raise ToolFailure("too_large", "The results of nested calls are too large to be arguments.")
        self._nested = items, characters

    def _unknown_tool(self, call: Call, name: Any) -> ToolResult:
        """Refuse a call, with the name in it that is not a tool here."""
        error = ToolError("unknown_tool", str(call.name), None, str(name))
        content = f"Error during execution: name '{name}' is not defined"
        return ToolResult(str(call.name), self._named(call.name, call.args, call.kwargs), content, error)

    def _named(self, name: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, as fresh plain data; a nested call appears in Python syntax."""
        named: dict[str, Any] = {}
        if args:
            tool = self._tools.get(name)
            parameters = list(tool.signature.parameters) if tool else []
            for index, value in enumerate(args):
                named[parameters[index] if index < len(parameters) else str(index)] = _shown(value)
        for key, value in kwargs.items():
            named[key if type(key) is str else str(key)] = value if type(value) in _SCALARS else _shown(value)
        return named


def name_arguments(call: Call, domains: Sequence[str]) -> Call:
    """Return a call with every argument named; one that has more arguments than the tool, or no tool, as it is.

    Args:
        call: The call.
        domains: The domains that may have its tool.
    """
    tool = _tools_of(tuple(map(domain_class, domains))).get(call.name)
    if tool is None or len(call.args) > len(tool.signature.parameters):
        return call
    return Call(call.name, {**dict(zip(tool.signature.parameters, call.args, strict=False)), **call.kwargs})


@lru_cache(maxsize=1024)
def _tools_of(domains: tuple[type[Domain], ...]) -> Mapping[str, Tool]:
    """Return the tools of some domains by name.

    A tool is found here or not at all: no attribute is ever looked up by a name that a model wrote.
    """
    return {name: tool for domain in domains for name, tool in domain.tools.items()}


def _size(value: Any) -> tuple[int, int, int]:
    """Return how many items and characters a value holds, and how deep it is; no more than the bounds are counted."""
    items = characters = deepest = 0
    pending: list[tuple[Any, int]] = [(value, 1)]
    while pending and items <= MAX_NESTED_ITEMS:
        item, depth = pending.pop()
        items += 1
        deepest = max(deepest, depth)
        if isinstance(item, str):
            characters += len(item)
        elif isinstance(item, Mapping):
            pending += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, (list, tuple, set)):
            pending += [(part, depth + 1) for part in item]
    return items, characters, deepest


def _shown(value: Any) -> Any:
    """Return an argument as fresh plain data, with nested calls in Python syntax."""
    try:
        return _spelt_out(value)
    except RecursionError:
        return TOO_DEEP


def _spelt_out(value: Any) -> Any:
    if isinstance(value, Call):
        return value.source()
    if isinstance(value, (list, tuple)):
        return [_spelt_out(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _spelt_out(item) for key, item in value.items()}
    return to_plain(value)


def _python_error(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any], exception: Exception) -> ToolError:
    """Say what Python's exception was about: the call's shape, or a value that the tool could not handle."""
    name = tool.name
    if isinstance(exception, TypeError):
        parameters = tool.signature.parameters
        given = {*list(parameters)[: len(args)], *kwargs}
        for argument in kwargs:
            if argument not in parameters:
                return ToolError("unknown_argument", name, str(argument), to_plain(kwargs[argument]))
        for argument, parameter in parameters.items():
            if parameter.default is parameter.empty and argument not in given:
                return ToolError("missing_argument", name, argument)
        if len(args) > len(parameters) or set(list(parameters)[: len(args)]) & set(kwargs):
            return ToolError("bad_call", name)
    return ToolError("crashed", name, details={"exception": type(exception).__name__, "message": str(exception)})
