"""What a chat server answered, taken apart; it may have sent anything, and every field may be of any type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Completion", "UnreadableAnswerError", "read_completion"]

_MOST_TOKENS = 10**9


class UnreadableAnswerError(ValueError):
    """An answer that is no chat completion."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply.

    Attributes:
        text: What it said.
        tool_calls: The calls as the server sent them, unchecked; None if there are none.
        reasoning: What it thought, where the server tells that apart.
        is_finished: Whether the server says that the model wrote something and why it stopped.
        prompt_tokens: Tokens that the model read; 0 if the server does not say.
        completion_tokens: Tokens that it wrote, likewise.
    """

    text: str = ""
    tool_calls: Any = None
    reasoning: str = ""
    is_finished: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the reply holds nothing at all."""
        return not (self.text.strip() or self.tool_calls or self.reasoning.strip())


def read_completion(body: bytes) -> Completion:
    """Read the body of a server's answer.

    Raises:
        UnreadableAnswerError: If it is no JSON, or holds no message.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise UnreadableAnswerError("the answer is not JSON") from None
    choice = _first(answer.get("choices")) if isinstance(answer, dict) else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise UnreadableAnswerError("the answer holds no message")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    written = _count(usage.get("completion_tokens"))
    return Completion(
        text=_text(message.get("content")),
        tool_calls=message.get("tool_calls") or None,
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        is_finished=written > 0 and isinstance(choice.get("finish_reason"), str),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=written,
    )


def _first(choices: Any) -> Any:
    return choices[0] if isinstance(choices, list) and choices else None


def _text(content: Any) -> str:
    """Return a message's text: a string, or the texts of a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join([part for part in parts if isinstance(part, str)])
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and 0 < value < _MOST_TOKENS else 0
