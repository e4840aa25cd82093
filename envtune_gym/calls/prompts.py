"""What a model is told: how to act in each format, and which tools there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from envtune_gym.calls.render import render_answer, render_calls
from envtune_gym.calls.reply import ActionFormat, DocStyle
from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError

__all__ = ["EXAMPLE_ANSWER", "EXAMPLE_CALLS", "describe_tools", "example_answer", "example_calls", "system_prompt"]

EXAMPLE_CALLS = (Call("convert_length", {"value": 3.5, "unit": "mile"}), Call("list_units"))
"""The calls of the worked example, of tools that no domain has."""
EXAMPLE_ANSWER = "3.5 miles are 5.63 kilometres."
"""The answer of the worked example."""

_ROLE = (
    "You are an assistant who does what the user asks by calling tools. In each turn, call tools until the request is "
    "done, looking at their results before you go on; then end the turn with an answer. Use only the tools on offer "
    "and only values that the user or a result gave you. If a tool or a value that you need is missing, say so in an "
    "answer."
)
_HOW = {
    "tool_call": (
        "You may think first, between <think> and </think>. Then write exactly one of two parts: tool calls, as a JSON "
        'list of objects with "name" and "arguments" between <tool_call> and </tool_call>, or your answer between '
        "<answer> and </answer>. Write nothing outside these tags."
    ),
    "python": (
        "To call tools, write nothing but a list of calls in Python syntax, with named arguments and literal values. "
        "Any other text is your answer."
    ),
    "openai": "A message without tool calls is your answer.",
}
_PYTHON_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict"}


def system_prompt(action_format: ActionFormat, tools: Sequence[Mapping[str, Any]], *, style: DocStyle = "full") -> str:
    """Return the system prompt.

    Args:
        action_format: The format in which the model is to act. In the openai format the tools and the syntax of calls
            are left to the server or the chat template, which get the tools apart from the messages.
        tools: The tools on offer, as OpenAI function schemas.
        style: How they are described: by their JSON schemas or, in far fewer tokens, by signatures.

    Raises:
        ConfigurationError: If the format or the style is unknown.
    """
    documentation = describe_tools(action_format, tools, style=style)
    if action_format == "openai":
        return f"{_ROLE}\n\n{_HOW[action_format]}"
    example = (
        f"Example of calls:\n{example_calls(action_format)}\nExample of an answer:\n{example_answer(action_format)}\n"
        "(The tools of the example are made up.)"
    )
    return f"{_ROLE}\n\n{_HOW[action_format]}\n\n{example}\n\nThe tools on offer:\n{documentation}"


def describe_tools(action_format: ActionFormat, tools: Sequence[Mapping[str, Any]], *, style: DocStyle = "full") -> str:
    """Return the documentation of tools, one a line, as in the system prompt; empty in the openai format.

    Raises:
        ConfigurationError: If the format or the style is unknown.
    """
    if action_format not in _HOW:
        raise ConfigurationError(f"unknown action format {action_format!r}; known: {', '.join(_HOW)}")
    if style not in ("full", "compact"):
        raise ConfigurationError(f"unknown style of tool documentation {style!r}; known: full, compact")
    if action_format == "openai":
        return ""
    describe = _signature if style == "compact" else _schema
    return "\n".join([describe(tool["function"]) for tool in tools])


def example_calls(action_format: ActionFormat) -> str:
    """Return the message of the worked example that calls tools."""
    thought = "I need the length in kilometres." if action_format == "tool_call" else None
    return render_calls(EXAMPLE_CALLS, action_format, thought=thought)


def example_answer(action_format: ActionFormat) -> str:
    """Return the message of the worked example that answers."""
    return render_answer(EXAMPLE_ANSWER, action_format)


def _schema(function: Mapping[str, Any]) -> str:
    return json.dumps(function, ensure_ascii=False)


def _signature(function: Mapping[str, Any]) -> str:
    """Return a tool as a line such as `sort(path: str, reverse: bool = False)  # Sort the lines of a file.`."""
    parameters = function.get("parameters", {})
    required = parameters.get("required", ())
    described = [
        _parameter(name, schema, name in required) for name, schema in parameters.get("properties", {}).items()
    ]
    # The official documentation opens each description with a sentence about the whole domain.
    description = str(function.get("description", "")).rpartition("Tool description: ")[2]
    summary = " ".join(description.split()).partition(". ")[0].rstrip(".")
    return f"{function['name']}({', '.join(described)})" + (f"  # {summary}." if summary else "")


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    default = "" if required else f" = {schema.get('default')!r}"
    return f"{name}: {_type(schema)}{default}"


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(repr, schema["enum"]))
    kind = schema.get("type", "string")
    if kind == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    if kind == "object" and schema.get("properties"):
        return "{" + ", ".join(f"{key!r}: {_type(value)}" for key, value in schema["properties"].items()) + "}"
    return _PYTHON_TYPES.get(kind, str(kind))
