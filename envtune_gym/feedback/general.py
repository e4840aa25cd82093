"""Hints for what goes wrong outside a tool, in every domain: the name, the arguments, the syntax.

`refine` first finds out more from the documentation of the tools on offer: near names, the arguments that there
are, and which argument is of the wrong type.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from typing_extensions import Self

from envtune_gym.callsyntax import Call
from envtune_gym.domains import domain_class
from envtune_gym.domains.base import ToolError
from envtune_gym.env import Episode
from envtune_gym.feedback.rules import HintRule
from envtune_gym.tooldocs import tool_schemas
from envtune_gym.world import ToolResult

__all__ = ["RULES", "HintContext", "refine"]

_LONGEST_NAME = 100
_ANOTHER_WAY = "If no tool on offer can do what is asked, end the turn with an answer that says so."

RULES = (
    HintRule(
        code="unknown_tool",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="{value} is not the name of a tool that is on offer now. Only tools on offer can be called, each by its "
        "exact name.",
        actionable=(f"Tools with a similar name: {{near}}. {_ANOTHER_WAY}", _ANOTHER_WAY),
    ),
    HintRule(
        code="missing_argument",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The call lacks the argument {argument}, which this tool cannot do without. Required: {required}.",
        actionable=("Find the value in the conversation or with another call; if nobody has given it, ask the user.",),
    ),
    HintRule(
        code="unknown_argument",
        category="parameter_constraint",
        augmentation="correct_format",
        error="This tool takes no arguments, and the call gives it {argument}.",
        actionable=("Make the call again without arguments.",),
        when={"parameters": []},
    ),
    HintRule(
        code="unknown_argument",
        category="parameter_constraint",
        augmentation="correct_format",
        error="This tool has no argument {argument}. Its arguments: {parameters}.",
        actionable=("Make the call again with these names only, and leave out what has no place.",),
    ),
    HintRule(
        code="bad_call",
        category="format_mismatch",
        augmentation="correct_format",
        error="The call gives more values than the tool has arguments, or one argument twice.",
        actionable=("Make the call again, with each argument once and by its name.",),
    ),
    HintRule(
        code="ill_typed_argument",
        category="format_mismatch",
        augmentation="correct_format",
        error="The argument {argument} is to be of type {expected}, and {value} is not.",
        actionable=("Make the call again with a value of that type.",),
    ),
    HintRule(
        code="crashed",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The tool could not work with the values that it was given.",
        actionable=("Compare each value with what the documentation of the tool says about it.",),
    ),
    HintRule(
        code="too_large",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="The work that the call asks for is too large, and was refused.",
        actionable=("Ask for less at a time.",),
    ),
    HintRule(
        code="bad_syntax",
        category="format_mismatch",
        augmentation="correct_format",
        error="The message could not be read, and none of its calls ran. A message is either calls or an answer, in "
        "the format that the instructions describe.",
        actionable=("Repair the place that the error points at, and send the whole message again.",),
    ),
)


@dataclass(frozen=True)
class HintContext:
    """What a hint may know: the tools on offer to the agent.

    Attributes:
        offered: Names of the tools on offer.
        schemas: Their documentation, as OpenAI function schemas by name (shared).
        domains: Names of the task's domains.
    """

    offered: tuple[str, ...]
    schemas: Mapping[str, dict[str, Any]]
    domains: tuple[str, ...]

    @classmethod
    def of(cls, episode: Episode) -> Self:
        """Return the context of a running episode."""
        return cls(episode.offered, tool_schemas(episode.task), episode.task.domains)

    @cached_property
    def domain_of(self) -> dict[str, str]:
        """The domain of each tool of the task's domains, by the tool's name."""
        return {name: domain for domain in self.domains for name in domain_class(domain).tools}

    def parameters(self, tool: str) -> dict[str, Any]:
        """Return the JSON schema of a tool's arguments."""
        return self.schemas[tool]["function"]["parameters"]  # type: ignore[no-any-return]


def refine(result: ToolResult, error: ToolError, call: Call, context: HintContext) -> ToolError:
    """Return the error with what the documentation adds to it.

    An argument of the wrong type is taken for the cause if the error is about that argument, or if the tool crashed.

    Args:
        result: The result of the call.
        error: What went wrong in it.
        call: The call as it was read.
        context: The tools on offer; except for `unknown_tool`, the tool is one of them.
    """
    if error.code == "unknown_tool":
        name = str(error.value)[:_LONGEST_NAME]
        near = difflib.get_close_matches(name, context.offered)
        error = replace(error, argument="name")
        return _with_details(error, near=near) if near else error
    parameters = context.parameters(error.tool)
    if error.code == "missing_argument":
        return _with_details(error, required=list(parameters.get("required", ())))
    if error.code == "unknown_argument":
        return _with_details(error, parameters=list(parameters["properties"]))
    if len(list(call.names())) > 1:
        return error  # the result shows a nested call by its source: its value, and so its type, is not known
    suspects = list(result.arguments) if error.code == "crashed" else [error.argument]
    for argument in suspects:
        if argument in result.arguments and argument in parameters["properties"]:
            value, schema = result.arguments[argument], parameters["properties"][argument]
            if not (_fits(value, schema) or (value is None and _may_be_left_out(argument, parameters))):
                details = {"expected": schema["type"]}
                return ToolError("ill_typed_argument", error.tool, argument, value, details)
    return error


def _may_be_left_out(argument: str, parameters: Mapping[str, Any]) -> bool:
    """Tell whether None is what an argument holds by default."""
    default = parameters["properties"][argument].get("default")
    return argument not in parameters.get("required", ()) and default in (None, "None")


def _with_details(error: ToolError, **details: Any) -> ToolError:
    return replace(error, details={**error.details, **details})


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value has the type that its documentation says; other constraints are the tool's own."""
    from jsonschema import Draft202012Validator  # loaded here: it takes longer than all of this package

    kind = schema["type"]
    shape = {"type": "array", "items": {"type": schema["items"]["type"]}} if "items" in schema else {"type": kind}
    return bool(Draft202012Validator(shape).is_valid(value))
