"""JSON as a model writes it, read strictly and within bounds.

Refused, each with its position: nesting deeper than `MAX_DEPTH`, duplicate keys, NaN and infinities (numbers too
large for a float included), integers of more than `MAX_DIGITS` digits, and lone surrogates.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from envtune_gym.calls.reply import SURROGATE, RefusedError, excerpt, refusal
from envtune_gym.callsyntax import MAX_DEPTH, MAX_DIGITS, Call

__all__ = ["check_nesting", "has_lone_surrogate", "read_json", "read_value", "skip_blanks"]

_BLANKS = re.compile(r"[ \t\n\r]*")
_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_MAYBE_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


class _ValueFault(Exception):
    """Valid JSON that is refused."""


def skip_blanks(text: str, position: int) -> int:
    """Return the index of the next character that JSON does not take for white space."""
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def check_nesting(text: str, position: int) -> None:
    """Refuse the JSON value that starts at `position` if its brackets nest too deeply.

    Raises:
        RefusedError: If they do.
    """
    if text.count("[", position) + text.count("{", position) <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text, position):
        bracket = match[0]
        depth += (bracket in "[{") - (bracket in "]}")
        if depth > MAX_DEPTH:
            reason = f"brackets nested more than {MAX_DEPTH} deep"
            raise RefusedError(refusal(text, match.start(), reason, f"at most {MAX_DEPTH} brackets within one another"))
        if depth <= 0:
            return


def read_value(text: str, position: int) -> tuple[Any, int]:
    """Read the JSON value that starts at `position`, whose nesting has been checked.

    Returns:
        The value and the index after it.

    Raises:
        RefusedError: If there is none, or it is refused.
    """
    try:
        value, end = _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        expected = error.msg.removeprefix("Expecting ") if error.msg.startswith("Expecting ") else ""
        expected = f"a JSON {expected}" if expected == "value" else expected
        raise RefusedError(
            refusal(text, error.pos, f"invalid JSON: {error.msg.removesuffix(' at').lower()}", expected)
        ) from None
    except _ValueFault as fault:
        raise RefusedError(refusal(text, position, str(fault))) from None
    if _MAYBE_SURROGATE.search(text, position, end) and has_lone_surrogate(value):
        raise RefusedError(refusal(text, position, "text with a lone surrogate, which is no character", end=end))
    return value, end


def read_json(text: str) -> Any:
    """Read a text that is one JSON value.

    Raises:
        RefusedError: If it is not.
    """
    start = skip_blanks(text, 0)
    check_nesting(text, start)
    value, end = read_value(text, start)
    end = skip_blanks(text, end)
    if end < len(text):
        raise RefusedError(refusal(text, end, "text after the JSON value", "the end of the message"))
    return value


def has_lone_surrogate(value: Any) -> bool:
    """Tell whether plain data, calls included, holds a string with a code point that is no character."""
    if isinstance(value, str):
        return SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(has_lone_surrogate(item) for pair in value.items() for item in pair)
    if isinstance(value, Call):
        return has_lone_surrogate([*value.args, *value.kwargs.items()])
    if isinstance(value, (list, tuple, set)):
        return any(has_lone_surrogate(item) for item in value)
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _ValueFault(f"key {excerpt(repeated)!r} given twice in one object")
    return unique


def _integer(digits: str) -> int:
    if len(digits) - digits.startswith("-") > MAX_DIGITS:
        raise _ValueFault(f"integer of more than {MAX_DIGITS:,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _ValueFault("number too large for a float")
    return number


def _no_constant(name: str) -> Any:
    raise _ValueFault(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_no_constant
)
