"""A model's reply as the action that the environment takes."""

from __future__ import annotations

import json
from typing import Any

from envtune_gym.asking import Completion
from envtune_gym.calls import ActionFormat
from envtune_gym.calls.reply import readable
from envtune_gym.callsyntax import MAX_LENGTH

__all__ = ["action_text"]


def action_text(completion: Completion, action_format: ActionFormat) -> str:
    """Return the assistant's message in the action format; what it means, the environment's parser decides.

    In the openai format calls are handed on as the server sent them. A text that is too long for an action is cut
    where it has become that.
    """
    if action_format != "openai":
        return readable(completion.text[: MAX_LENGTH + 1])
    message: dict[str, Any] = {"role": "assistant", "content": completion.text or None}
    if completion.reasoning:
        message["reasoning_content"] = completion.reasoning
    if completion.tool_calls:
        message["tool_calls"] = completion.tool_calls
    elif message["content"] is None:
        message["content"] = ""
    return readable(json.dumps(message, ensure_ascii=False)[: MAX_LENGTH + 1])
