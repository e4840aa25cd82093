"""What a model writes, as data: the last JSON object of its reply, checked against what was asked for."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

__all__ = ["MalformedReplyError", "cut", "read_reply"]

R = TypeVar("R", bound=BaseModel)

_LONGEST_REPLY = 20_000
_MOST_STARTS = 200


class MalformedReplyError(ValueError):
    """A reply that is not what was asked for; the message says why, for the model to read."""


def read_reply(text: str, kind: type[R]) -> R:
    """Return the reply that a text holds: its last JSON object, whatever stands before and after it.

    Raises:
        MalformedReplyError: If there is no JSON object, or it is not of that kind.
    """
    found = _last_object(text[-_LONGEST_REPLY:])
    if found is None:
        raise MalformedReplyError("the reply holds no JSON object")
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise MalformedReplyError("; ".join(_described(fault) for fault in faults[:5])) from None


def cut(text: str, length: int) -> str:
    """Return a text that is not longer than that, and that can be encoded."""
    text = text if len(text) <= length else f"{text[: length - 3]}..."
    return text.encode("utf-8", "backslashreplace").decode()


def _last_object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object that stands in a text, not within another one."""
    decoder = json.JSONDecoder()
    last: dict[str, Any] | None = None
    position = text.find("{")
    for _ in range(_MOST_STARTS):
        if position < 0:
            break
        try:
            last, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        position = text.find("{", end)
    return last


def _described(fault: Any) -> str:
    field = ".".join(map(str, fault["loc"]))
    return f"{field}: {fault['msg']}" if field else str(fault["msg"])
