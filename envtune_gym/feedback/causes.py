"""What the documentation of the tools on offer adds to an error: near names, arguments and types.

A tool says why it failed as far as it knows. It does not know what else is on offer, nor that a value which it could
not work with is not even of the documented type; `refine` does. `misuse` finds what a tool has let pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from envtune_gym.calls.reply import ParseError
from envtune_gym.callsyntax import Call
from envtune_gym.domains import domain_class
from envtune_gym.domains.base import ToolError
from envtune_gym.env import Episode
from envtune_gym.feedback.argument_types import describe_type, fits
from envtune_gym.feedback.near_names import name_index
from envtune_gym.tooldocs import tool_schemas
from envtune_gym.world import ToolResult

__all__ = ["HintContext", "misuse", "parse_cause", "refine"]

_MAX_KEPT = 256
_FIRST_WORD = re.compile(r"\w{1,40}|.", re.DOTALL)


@dataclass(frozen=True)
class HintContext:
    """What a hint may know: the tools on offer to the agent.

    Attributes:
        offered: Names of the tools on offer.
        schemas: The documentation of all tools, as OpenAI function schemas by name (shared).
        domains: Names of the task's domains.
    """

    offered: tuple[str, ...]
    schemas: Mapping[str, dict[str, Any]]
    domains: tuple[str, ...]

    @classmethod
    def of(cls, episode: Episode) -> HintContext:
        """Return the context of a running episode; the same object wherever the same tools are on offer."""
        task = episode.task
        key = (task.domains, task.source, episode.offered)
        context = _kept.get(key)
        if context is None:
            if len(_kept) >= _MAX_KEPT:
                _kept.clear()
            context = _kept[key] = cls(episode.offered, tool_schemas(task), task.domains)
        return context

    @cached_property
    def domain_of(self) -> dict[str, str]:
        """The domain of each tool of the task's domains, by the tool's name."""
        return {name: domain for domain in self.domains for name in domain_class(domain).tools}

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the tools on offer."""
        return frozenset(self.offered)

    def parameters(self, tool: str) -> dict[str, Any]:
        """Return the JSON schema of a tool's arguments."""
        return self.schemas[tool]["function"]["parameters"]  # type: ignore[no-any-return]


_kept: dict[tuple[tuple[str, ...], str, tuple[str, ...]], HintContext] = {}


def refine(result: ToolResult, error: ToolError, call: Call, context: HintContext) -> ToolError:
    """Return the error with what the documentation adds to it.

    An argument of the wrong type is taken for the cause if the error is about that argument, or if the tool crashed.

    Args:
        result: The result of the call.
        error: What went wrong in it.
        call: The call as it was read.
        context: The tools on offer; except for `unknown_tool`, the tool is one of them.
    """
    code = error.code
    if code == "unknown_tool":
        return _with_near_tools(error, context)
    parameters = context.parameters(error.tool)
    properties = parameters["properties"]
    if code == "missing_argument":
        documented = properties.get(error.argument, {})
        return _with_details(
            error, required=[*map(_Bare, parameters.get("required", ()))], expected=_Bare(describe_type(documented))
        )
    if code == "unknown_argument":
        names = tuple(properties)
        near = name_index(names).slip(str(error.argument))
        return _with_details(error, parameters=list(names), **({} if near is None else {"near": near}))
    if code == "bad_call":
        return _with_clash(error, call, list(properties))
    if _is_nested(call):
        return _nested(error, result, call)
    if code == "crashed":
        return _ill_typed(result, list(result.arguments), "ill_typed_argument", parameters) or _with_suspect(
            error, result.arguments
        )
    if error.argument is None:
        return error
    return _ill_typed(result, [error.argument], "ill_typed_argument", parameters) or error


def misuse(result: ToolResult, call: Call, context: HintContext) -> ToolError | None:
    """Return what is wrong with a call that succeeded: an argument that is not of its documented type, or None."""
    if result.name not in context.names or _is_nested(call):
        return None
    return _ill_typed(result, result.arguments, "misused_argument", context.parameters(result.name))


def parse_cause(error: ParseError) -> ToolError:
    """Return why a message could not be read, as the error that hints are made from."""
    found: Any = _FIRST_WORD.match(error.found)
    found = found[0] if found else _Bare("the end of the message")
    details: dict[str, Any] = {"reason": _Bare(error.reason), "position": error.position, "found": found}
    if error.expected:
        details["expected"] = _Bare(error.expected)
    return ToolError("bad_syntax", "", details=details)


class _Bare(str):
    """A text that is shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _with_near_tools(error: ToolError, context: HintContext) -> ToolError:
    """Add the tools on offer that are named almost, or a little, like the one that was called.

    A name is not taken for a slip of a tool on offer if it is closer to one that is not: that one may be what the
    request needs, which is not to be told.
    """
    name = str(error.value)
    details: dict[str, Any] = {}
    slip = name_index(tuple(context.domain_of)).slip(name)
    if slip is not None and slip in context.names:
        details["slip"] = slip
    near = name_index(context.offered).near(name)
    if near:
        details["near"] = near
    return replace(error, argument="name", details={**error.details, **details})


def _with_clash(error: ToolError, call: Call, parameters: list[str]) -> ToolError:
    """Add which argument a call gives twice, or how many values too many it has."""
    repeated = next((name for name in parameters[: len(call.args)] if name in call.kwargs), None)
    if repeated is not None:
        return replace(error, argument=repeated, value=None)
    return _with_details(error, parameters=parameters)


def _with_suspect(error: ToolError, arguments: Mapping[str, Any]) -> ToolError:
    """Add the argument that a crash is likely to be about: the one whose value Python speaks of, or the only one."""
    numbers = {name: abs(value) for name, value in arguments.items() if isinstance(value, (int, float))}
    if error.details.get("exception") == "OverflowError" and numbers:
        name = max(numbers, key=lambda key: numbers[key])
        return replace(error, argument=name, value=arguments[name])
    message = str(error.details.get("message", ""))
    for name, value in arguments.items():
        if isinstance(value, (str, int, float)) and str(value) and str(value) in message:
            return replace(error, argument=name, value=value)
    if len(arguments) == 1:
        [(name, value)] = arguments.items()
        return replace(error, argument=name, value=value)
    return error


def _nested(error: ToolError, result: ToolResult, call: Call) -> ToolError:
    """Return the error about an argument that is, or holds, another call, if the error is about one.

    Neither that call nor what it returned is part of the error: the agent has not been shown the latter.
    """
    given = zip(result.arguments, (*call.args, *call.kwargs.values()), strict=False)
    nested = [name for name, value in given if len(list(Call("", {"value": value}).names())) > 1]
    if error.code == "crashed" or error.argument in nested:
        return ToolError("nested_call", error.tool, error.argument or nested[0], "a call")
    return error


def _ill_typed(
    result: ToolResult, suspects: Iterable[str], code: str, parameters: Mapping[str, Any]
) -> ToolError | None:
    """Return the error about the first of some arguments that is not of its documented type."""
    properties = parameters["properties"]
    for argument in suspects:
        schema = properties.get(argument)
        if schema is None or argument not in result.arguments:
            continue
        value = result.arguments[argument]
        if not fits(value, schema) and not (value is None and _may_be_left_out(argument, parameters)):
            details = {"expected": _Bare(describe_type(schema)), "kind": schema.get("type")}
            return ToolError(code, result.name, argument, value, details)
    return None


def _may_be_left_out(argument: str, parameters: Mapping[str, Any]) -> bool:
    """Tell whether None is what an argument holds by default."""
    default = parameters["properties"][argument].get("default")
    return argument not in parameters.get("required", ()) and default in (None, "None")


def _is_nested(call: Call) -> bool:
    """Tell whether a call has calls among its arguments."""
    if not call.args and all(type(value) in (str, int, float, bool) for value in call.kwargs.values()):
        return False
    return len(list(call.names())) > 1


def _with_details(error: ToolError, **details: Any) -> ToolError:
    return replace(error, details={**error.details, **details})
