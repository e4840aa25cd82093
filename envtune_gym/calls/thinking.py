"""The thinking part of a message: what stands between `<think>` and `</think>` is never read as calls."""

from __future__ import annotations

import re

__all__ = ["CLOSE", "OPEN", "end_of_thinking", "opened_in_prompt"]

OPEN = "<think>"
CLOSE = "</think>"
_TAG = re.compile(r"</?think>")


def end_of_thinking(text: str, position: int) -> int | None:
    """Return the index after the thinking part that opens at `position`, or None if it is never closed.

    An opening tag within it must be closed too, so that a draft between two closing tags stays thinking.
    """
    depth = 0
    for match in _TAG.finditer(text, position):
        depth += 1 if match[0] == OPEN else -1
        if depth == 0:
            return match.end()
    return None


def opened_in_prompt(text: str) -> int | None:
    """Return the index after a closing tag that no opening one precedes, else None.

    Chat templates that end the prompt with `<think>` leave the model to write the rest of the part.
    """
    close = text.find(CLOSE)
    if close == -1 or OPEN in text[:close]:
        return None
    return close + len(CLOSE)
