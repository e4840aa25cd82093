"""An assistant message of the OpenAI chat interface, as JSON.

The letter: `{"role": "assistant", "content": <text or null>, "tool_calls": [{"id": …, "type": "function", "function":
{"name": …, "arguments": <JSON text of an object, or the object>}}]}`; without calls the content is the answer. As in
the official function-calling mode, one broken call spoils the message, which then is an answer. So is a text that is
no such object. Both break the letter, and so do a missing role or id. Missing and repeated ids are replaced, for
each tool message must name its call. A `reasoning_content` is kept in the conversation and otherwise ignored.

The decoder "correct" passes on the arguments as they are; a key given twice, NaN and the like break their call. The
decoder "official" is in `official.py`: it makes source text of names and values, and of a key given twice the last
counts. It reads the tool calls of the message; the message itself, which officially comes from the vendor's client, is
read as ever.
"""

from __future__ import annotations

import json
from typing import Any

from envtune_gym.calls.jsontext import read_json
from envtune_gym.calls.official import DecodeError, decode_functions
from envtune_gym.calls.reply import Decoder, Meaning, ParseError, RefusedError, excerpt, readable, refusal
from envtune_gym.callsyntax import Call

__all__ = ["parse"]

_MESSAGE = "an assistant message as a JSON object"


def parse(text: str, decoder: Decoder = "correct") -> Meaning:
    """Read a message; there is none that cannot be read."""
    try:
        message = read_json(text)
    except RefusedError as refused:
        return Meaning(answer=text, breach=refused.error)
    if not isinstance(message, dict):
        return Meaning(answer=text, breach=refusal(text, 0, "not a message", _MESSAGE))
    breach = _breach(text, message)
    functions, fault = _functions(message.get("tool_calls") or [])
    decode = _decode_officially if decoder == "official" else _decode_correctly
    calls, fault = ([], fault) if fault else decode(functions)
    content = message.get("content")
    said = readable(content) if isinstance(content, str) else None
    assistant: dict[str, Any] = {"role": "assistant", "content": said}
    if isinstance(message.get("reasoning_content"), str):
        assistant["reasoning_content"] = readable(message["reasoning_content"])
    if calls:
        assistant["tool_calls"] = _tool_calls(message["tool_calls"])
        return Meaning(calls, breach=breach, message=assistant)
    answer = content if isinstance(content, str) else ""
    assistant["content"] = said or ""
    if fault:
        breach = breach or refusal(text, max(0, text.find('"tool_calls"')), fault, "tool calls that can be read")
    return Meaning(answer=answer, breach=breach, message=assistant)


def _breach(text: str, message: dict[str, Any]) -> ParseError | None:
    """Return how a message breaks the letter apart from broken calls."""
    content, calls = message.get("content"), message.get("tool_calls")
    if message.get("role") != "assistant":
        return refusal(text, 0, "not an assistant's message", '"role": "assistant"')
    if content is not None and not isinstance(content, str):
        return refusal(text, 0, "content is no text", '"content" to be text or null')
    if not calls and content is None:
        return refusal(text, 0, "neither content nor calls", '"content" or "tool_calls"')
    if isinstance(calls, list) and not _have_ids(calls):
        return refusal(text, 0, "calls without ids", 'an own "id" in each tool call')
    return None


def _have_ids(calls: list[Any]) -> bool:
    ids = [call.get("id") for call in calls if isinstance(call, dict)]
    return all(isinstance(i, str) and i for i in ids) and len(set(ids)) == len(calls)


def _functions(entries: Any) -> tuple[list[tuple[str, Any]], str]:
    """Return name and arguments of each tool call and no fault, or none and what is wrong with one."""
    if not isinstance(entries, list):
        return [], "tool_calls is no list"
    functions: list[tuple[str, Any]] = []
    for entry in entries:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict) or entry.get("type", "function") != "function":
            return [], "a tool call without a function"
        name = function.get("name")
        if not isinstance(name, str):
            return [], "a tool call without a name"
        functions.append((name, function.get("arguments")))
    return functions, ""


def _decode_correctly(functions: list[tuple[str, Any]]) -> tuple[list[Call], str]:
    """Return the calls and no fault, or no calls and what is wrong with one."""
    calls: list[Call] = []
    for name, arguments in functions:
        if not name:
            return [], "a tool call without a name"
        if isinstance(arguments, str):
            try:
                arguments = read_json(arguments)
            except RefusedError as refused:
                return [], f"arguments of {excerpt(name)!r} are not JSON: {refused.error.reason}"
        if not isinstance(arguments, dict):
            return [], f"arguments of {excerpt(name)!r} are no object"
        calls.append(Call(name, arguments))
    return calls, ""


def _decode_officially(functions: list[tuple[str, Any]]) -> tuple[list[Call], str]:
    """Return what the official decoder reads, likewise."""
    try:
        return decode_functions(functions), ""
    except DecodeError as error:
        return [], str(error)


def _tool_calls(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls as in the conversation: arguments as JSON text, an id of its own for each."""
    given = {entry.get("id") for entry in entries if isinstance(entry.get("id"), str)}
    used: set[str] = set()
    tool_calls: list[dict[str, Any]] = []
    for index, entry in enumerate(entries):
        identity = entry.get("id")
        if not isinstance(identity, str) or not identity or identity in used:
            identity = f"call_{index}"
            while identity in given:
                identity += "_"
        used.add(identity)
        arguments = entry["function"]["arguments"]
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        function = {"name": entry["function"]["name"], "arguments": text}
        tool_calls.append({"id": identity, "type": "function", "function": function})
    return tool_calls
