"""How a tool's result becomes the text that a model reads (`execute_multi_turn_func_call` officially)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = ["register_constants", "render"]

_LONG = 1024

# `json.dumps` builds an encoder for every call; one that is kept takes half the time.
_encoder = json.JSONEncoder()
_encode_string = json.encoder.encode_basestring_ascii
_make_encoder: Any = getattr(json.encoder, "c_make_encoder", None)  # CPython has it, other Pythons may not
_encode: Any = _make_encoder and _make_encoder(
    None, _encoder.default, _encode_string, None, ": ", ", ", False, False, True
)

_constants: dict[int, str] = {}
"""JSON of large objects that never change, by `id`; `register_constants` says why that is safe."""


def register_constants(values: Iterable[Any]) -> None:
    """Encode large lists and dictionaries once, for all results that contain them whole.

    Args:
        values: Objects that are never changed and stay alive as long as the process (module or cached data),
            so that their `id` names them.
    """
    for value in values:
        if type(value) in (list, dict) and id(value) not in _constants:
            with contextlib.suppress(TypeError):  # the official filler holds an Ellipsis, which is no JSON
                _constants[id(value)] = json.dumps(value)


def render(value: Any) -> str:
    """Return the official text of a result: a `str` as is, a `dict` as JSON where that works, else `str(value)`.

    Raises:
        Exception: Whatever `str(value)` raises, for example for integers too large to print.
    """
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        try:
            return _dumps(value)
        except Exception:
            return str(value)
    return str(value)


def _dumps(value: dict[Any, Any]) -> str:
    """Return `json.dumps(value)`, with large known parts taken from memory."""
    for part in value.values():
        kind = type(part)
        if kind is str:
            if len(part) > _LONG:
                return _dumps_in_parts(value)
        elif (kind is list or kind is dict) and id(part) in _constants:
            return _dumps_in_parts(value)
    if _encode is None:
        return _encoder.encode(value)
    return "".join(_encode(value, 0))


def _dumps_in_parts(value: dict[Any, Any]) -> str:
    if not all(type(key) is str for key in value):
        return _encoder.encode(value)
    return "{" + ", ".join(f"{_encode_string(key)}: {_dumps_part(part)}" for key, part in value.items()) + "}"


def _dumps_part(part: Any) -> str:
    if type(part) is str:
        # Kept are texts as long as the official filler makes them; whatever a model writes stays bounded in sum.
        return _encode_long(part) if _LONG < len(part) < 8 * _LONG and part.isascii() else _encode_string(part)
    known = _constants.get(id(part))
    return _encoder.encode(part) if known is None else known


@lru_cache(maxsize=256)
def _encode_long(text: str) -> str:
    return _encode_string(text)
