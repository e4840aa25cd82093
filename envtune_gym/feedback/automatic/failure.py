"""Whether a result tells of a failure, from its text alone.

Servers say so in many ways besides MCP's `isError`. These are known here:

- a JSON object with something under `error`, `errors` or `exception`, or a true `isError`;
- a JSON object whose `ok`, `success` or `status` is false, or whose `status` is a word such as `failed`;
- a text that begins with a word such as `Error`, `Failed`, `Traceback` or `ValueError:`.

Anything else counts as a success.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["looks_failed", "message_of"]

_READ = 100_000
_ERROR_KEYS = ("error", "errors", "exception", "isError", "is_error")
_SUCCESS_KEYS = ("ok", "success", "status")
_FAILED = re.compile(r"(?:error|errored|fail|failed|failure|fatal|exception|invalid)\b", re.IGNORECASE)
_OPENING = re.compile(
    r"\W{0,3}(?:(?:error|errors|failed|failure|fatal|exception|traceback|unable to|cannot|could not)\b"
    r"|[\w.]{0,80}(?:Error|Exception)\s*[:(])",
    re.IGNORECASE,
)


def looks_failed(text: str) -> bool:
    """Tell whether a result reads like a failure; any text has an answer."""
    data = _object(text)
    if data is None:
        return _OPENING.match(text.lstrip()[:200]) is not None
    if any(data.get(key) for key in _ERROR_KEYS):
        return True
    outcomes = [data[key] for key in _SUCCESS_KEYS if key in data]
    status = data.get("status")
    return any(outcome is False for outcome in outcomes) or (isinstance(status, str) and bool(_FAILED.match(status)))


def message_of(text: str) -> str:
    """Return the sentences of a failure: of a JSON object its strings, for its keys say nothing of the cause."""
    data = _object(text)
    if data is None:
        return text
    return "\n".join(value for value in data.values() if isinstance(value, str)) or text


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{") or len(text) > _READ:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
