"""Calls and answers to the text of an assistant message, for oracles, demonstrations and prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from envtune_gym.calls.parse import parse_action
from envtune_gym.calls.reply import ActionFormat, Reply
from envtune_gym.callsyntax import Call

__all__ = ["render_answer", "render_calls"]

_ESCAPED = r"\u003c"  # "<" within a JSON string


def render_calls(calls: Sequence[Call], action_format: ActionFormat, *, thought: str | None = None) -> str:
    """Return an assistant message that parses back to exactly these calls.

    Args:
        calls: At least one call. The formats of JSON hold keyword arguments of JSON values only: name positional
            arguments (by the tool's signature) before.
        action_format: The format of the message.
        thought: Reasoning to put before the calls.

    Raises:
        ValueError: If the format cannot hold the calls; the message says why.
    """
    if not calls:
        raise ValueError("no calls to render; a message without calls is an answer: use render_answer")
    if action_format == "python":
        text = _with_thought(f"[{', '.join(call.source() for call in calls)}]", thought)
    else:
        text = _render_json(calls, action_format, thought)
    reply = parse_action(text, action_format)
    if reply.calls != tuple(calls) or not reply.format_ok:
        raise ValueError(f"the {action_format} format cannot hold these calls unchanged: {_reason(reply)}")
    return text


def render_answer(text: str, action_format: ActionFormat, *, thought: str | None = None) -> str:
    """Return an assistant message that ends the turn with a text.

    Args:
        text: The answer.
        action_format: The format of the message.
        thought: Reasoning to put before the answer.

    Raises:
        ValueError: If the format cannot hold the answer: it would be read as calls, or holds the format's tags.
    """
    if action_format == "openai":
        rendered = json.dumps(_assistant(text, thought), ensure_ascii=False)
    else:
        rendered = _with_thought(f"<answer>{text}</answer>" if action_format == "tool_call" else text, thought)
    reply = parse_action(rendered, action_format)
    if reply.answer != text or not reply.format_ok:
        raise ValueError(f"the {action_format} format cannot hold this answer unchanged: {_reason(reply)}")
    return rendered


def _render_json(calls: Sequence[Call], action_format: ActionFormat, thought: str | None) -> str:
    for call in calls:
        if call.args:
            advice = "name them by the tool's signature"
            raise ValueError(f"{call.name}: the {action_format} format has no positional arguments; {advice}")
    try:
        if action_format == "openai":
            tool_calls = [_tool_call(index, call) for index, call in enumerate(calls)]
            return _dump({**_assistant(None, thought), "tool_calls": tool_calls})
        listed = _dump([{"name": call.name, "arguments": dict(call.kwargs)} for call in calls])
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the {action_format} format holds JSON values only: {error}") from None
    # No tag can then end the part from within an argument.
    return _with_thought(f"<tool_call>{listed.replace('<', _ESCAPED)}</tool_call>", thought)


def _tool_call(index: int, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _dump(dict(call.kwargs))}
    return {"id": f"call_{index}", "type": "function", "function": function}


def _assistant(content: str | None, thought: str | None) -> dict[str, Any]:
    reasoning = {} if thought is None else {"reasoning_content": thought}
    return {"role": "assistant", "content": content, **reasoning}


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _with_thought(text: str, thought: str | None) -> str:
    return text if thought is None else f"<think>{thought}</think>\n{text}"


def _reason(reply: Reply) -> str:
    return str(reply.error) if reply.error else "it would be read differently"
