"""Does an argument have the type that its documentation says? The type alone: other constraints are the tool's own.

A check by hand, for it runs on every argument of every call: a JSON Schema validator takes fifty times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["describe_type", "fits"]

_PLURALS = {"string": "strings", "integer": "integers", "number": "numbers", "boolean": "true or false values"}
_MAX_DEPTH = 8


def fits(value: Any, schema: Mapping[str, Any], depth: int = _MAX_DEPTH) -> bool:
    """Tell whether a value has the type of a schema.

    As in JSON Schema, a truth value is no number, and a float without a fraction is an integer.

    Args:
        value: Plain data.
        schema: A schema of which `type`, `items` and `properties` are read.
        depth: How deep to look into lists and objects.
    """
    kind = schema.get("type")
    if kind == "string":
        return isinstance(value, str)
    if kind == "number":
        return isinstance(value, (int, float)) and value is not True and value is not False
    if kind == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "array":
        items = schema.get("items")
        return isinstance(value, list) and (not items or not depth or all(fits(v, items, depth - 1) for v in value))
    if kind == "object":
        known = schema.get("properties", {})
        return isinstance(value, dict) and (
            not depth or all(fits(v, known[k], depth - 1) for k, v in value.items() if k in known)
        )
    return True


def describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema in words, such as `array of numbers`."""
    kind = str(schema.get("type", "value"))
    items = schema.get("items") if kind == "array" else None
    return f"array of {_PLURALS.get(str(items.get('type')), 'values')}" if items else kind
