"""JSON schemas of tools, from the signature (types, defaults) and the Google docstring (what each is for)."""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from envtune_gym.errors import ConfigurationError

__all__ = ["docstring_arguments", "tool_schema"]

_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*)$")


def tool_schema(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the OpenAI function schema of a tool method.

    Args:
        name: The name the model calls it by.
        function: The unbound method; its first parameter (`self`) is left out.

    Raises:
        ConfigurationError: If Python runs without docstrings.
        TypeError: If an annotation has no JSON counterpart or an argument lacks a description; both are
            mistakes of the domain's author.
    """
    if function.__doc__ is None and sys.flags.optimize > 1:
        raise ConfigurationError("tools are documented by docstrings, which python -OO drops; run without -OO")
    hints = typing.get_type_hints(function)
    described = docstring_arguments(inspect.getdoc(function) or "")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name not in described:
            raise TypeError(f"{name}: argument '{parameter.name}' is missing from the docstring's Args section")
        schema = {**_type_schema(hints[parameter.name]), "description": described[parameter.name]}
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": _summary(inspect.getdoc(function) or ""),
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


def docstring_arguments(docstring: str) -> dict[str, str]:
    """Return the descriptions in the Args section of a (dedented) Google docstring, continuation lines joined."""
    described: dict[str, str] = {}
    current = ""
    inside = False
    for line in docstring.splitlines():
        if not line.startswith(" ") and line.strip():
            inside = line.strip() == "Args:"
            continue
        match = _ARGUMENT.match(line) if inside else None
        if match:
            current = match[1]
            described[current] = match[2].strip()
        elif inside and current and line.strip():
            described[current] += " " + line.strip()
    return described


def _summary(docstring: str) -> str:
    """Return what stands before the first section of a docstring, as one paragraph."""
    head = re.split(r"\n\s*\n?(?:Args|Returns|Raises):\n", docstring, maxsplit=1)[0]
    return " ".join(head.split())


def _type_schema(annotation: Any) -> dict[str, Any]:
    """Translate a type annotation into JSON schema; `X | None` is `X`, for leaving it out is how one says None."""
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _type_schema(next(a for a in arguments if a is not type(None)))
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object"}
    if origin is typing.Literal:
        return {**_type_schema(type(arguments[0])), "enum": list(arguments)}
    if typing.is_typeddict(annotation):
        fields = typing.get_type_hints(annotation)
        described = docstring_arguments(inspect.getdoc(annotation) or "")
        return {
            "type": "object",
            "properties": {k: {**_type_schema(v), "description": described[k]} for k, v in fields.items()},
        }
    raise TypeError(f"no JSON schema for the annotation {annotation!r}")
