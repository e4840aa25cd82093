"""What passes between an MCP client and a server: read on the way, and changed only where a tool call has failed.

Messages pass as the bytes that they are, whatever they say and in whatever protocol version: a server may be newer
than the SDK here. A line is read as JSON to keep account of open requests, and what the SDK's types make sense of is
used; only the answer to a failing tool call is written anew, with a hint added.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp import types
from pydantic import ValidationError

from envtune_gym.integrations.mcp_hints import ServerHints

__all__ = ["Traffic"]

_EXCERPT = 60
_ENDLESS = "subscriptions/listen"
"""Requests of this method stay open by design."""

Message = dict[str, Any]

_logger = logging.getLogger(__name__)


@dataclass
class _Request:
    """A request of the client that the server has not answered."""

    id: int | str
    method: str
    params: Message
    heard_at: float

    @property
    def progress_token(self) -> Any:
        meta = self.params.get("_meta")
        return meta.get("progressToken") if isinstance(meta, dict) else None


class Traffic:
    """Reads the messages of one session, and adds hints to those that tell of a failing tool call.

    It may be used from several threads.

    Args:
        hints: Makes the hints.
        clock: The time in seconds.
        report: Called with one line about what a person should know.
    """

    def __init__(self, hints: ServerHints, clock: Callable[[], float], report: Callable[[str], object]) -> None:
        self._hints = hints
        self._clock = clock
        self._report = report
        self._lock = threading.Lock()
        self._open: dict[str, _Request] = {}
        self._abandoned: set[str] = set()
        self._pages: list[Message] = []
        self._saw_garbage = False

    def from_client(self, line: bytes) -> None:
        """Read a line that the client sends, before it is passed on."""
        with self._lock:
            for message in _messages(_parse(line)):
                method, params = message.get("method"), message.get("params")
                params = params if isinstance(params, dict) else {}
                if method == "notifications/cancelled":
                    self._open.pop(_key(params.get("requestId")), None)
                elif isinstance(method, str) and _is_id(message.get("id")):
                    key = _key(message["id"])
                    self._abandoned.discard(key)
                    self._open[key] = _Request(message["id"], method, params, self._clock())

    def from_server(self, line: bytes) -> bytes:
        """Read a line that the server sends, and return what to pass on instead; nothing if nobody waits for it."""
        with self._lock:
            data = _parse(line)
            messages = list(_messages(data))
            if not messages:
                self._note_garbage(line)
                return line
            changed = dropped = False
            for message in messages:
                if message.get("method") == "notifications/progress":
                    self._note_progress(message.get("params"))
                elif "method" not in message and _is_id(message.get("id")):
                    key = _key(message["id"])
                    request = self._open.pop(key, None)
                    dropped = dropped or key in self._abandoned
                    self._abandoned.discard(key)
                    changed = (request is not None and self._read_answer(request, message)) or changed
            if dropped and len(messages) == 1:
                return b""
            return _dump(data, line) if changed else line

    def expire(self, timeout: float) -> tuple[list[tuple[int | str, str]], float]:
        """Give up requests that the server has been silent about for too long; their late answers are dropped.

        Returns:
            Id and method of each such request, and the seconds after which to ask again.
        """
        with self._lock:
            now = self._clock()
            waiting = {key: request for key, request in self._open.items() if request.method != _ENDLESS}
            late = {key: request for key, request in waiting.items() if now - request.heard_at >= timeout}
            for key in late:
                del self._open[key]
            self._abandoned.update(late)
            ages = [now - request.heard_at for key, request in waiting.items() if key not in late]
            return [(request.id, request.method) for request in late.values()], timeout - max(ages, default=0.0)

    def close(self) -> list[int | str]:
        """Return the ids of all open requests, and forget them."""
        with self._lock:
            ids = [request.id for request in self._open.values()]
            self._open.clear()
            return ids

    def _note_garbage(self, line: bytes) -> None:
        if self._saw_garbage or not line.strip():
            return
        self._saw_garbage = True
        excerpt = line.strip()[:_EXCERPT].decode("utf-8", "replace")
        self._report(
            f"the server wrote something to stdout that is no JSON-RPC message, which is passed on as it is: "
            f"{excerpt!r}; make it write its log to stderr"
        )

    def _note_progress(self, params: Any) -> None:
        token = params.get("progressToken") if isinstance(params, dict) else None
        for request in self._open.values():
            if token is not None and request.progress_token == token:
                request.heard_at = self._clock()

    def _read_answer(self, request: _Request, message: Message) -> bool:
        """Make use of an answer; tell whether a hint was added to it."""
        try:
            if request.method == "tools/list":
                self._read_tools(request, message)
            elif request.method == "tools/call":
                return self._read_call(request, message)
        except ValidationError:
            _logger.debug("an answer to %s is not what the protocol says; passed on unread", request.method)
        except Exception:  # whatever a server sends, its answer must reach the client
            _logger.exception("an answer to %s was passed on without a hint", request.method)
        return False

    def _read_tools(self, request: _Request, message: Message) -> None:
        page = types.ListToolsResult.model_validate(message.get("result"), by_name=False)
        if request.params.get("cursor") is None:
            self._pages = []
        self._pages += [tool.model_dump(by_alias=True) for tool in page.tools]
        if page.next_cursor is None:
            self._hints.learn(self._pages)

    def _read_call(self, request: _Request, message: Message) -> bool:
        call = types.CallToolRequestParams.model_validate(request.params, by_name=False)
        arguments = call.arguments or {}
        if "error" in message:
            error = types.ErrorData.model_validate(message["error"])
            hint = self._hints.of_call(call.name, arguments, error.message, failed=True)
            if hint is not None:
                message["error"]["message"] = f"{error.message}\nHint: {hint}"
            return hint is not None
        result = types.CallToolResult.model_validate(message.get("result"), by_name=False)
        hint = self._hints.of_call(call.name, arguments, _text(result), failed=result.is_error)
        if hint is not None:
            message["result"]["content"].append({"type": "text", "text": f"Hint: {hint}"})
        return hint is not None


def _text(result: types.CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    if not texts and result.structured_content is not None:
        return json.dumps(result.structured_content)
    return "\n".join(texts)


def _parse(line: bytes) -> Any:
    """Return a line as JSON, or None if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _dump(data: Any, line: bytes) -> bytes:
    """Return data as a line; the line that it was read from if JSON has no word for something in it."""
    try:
        return json.dumps(data, allow_nan=False).encode() + b"\n"
    except (ValueError, RecursionError):
        return line


def _messages(data: Any) -> Iterator[Message]:
    """Yield the JSON-RPC messages of a line: one, or those of a batch."""
    for message in data if isinstance(data, list) else [data]:
        if isinstance(message, dict) and "jsonrpc" in message:
            yield message


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _key(identity: Any) -> str:
    """Return a key for the id of a request; 1 and "1" are two."""
    return repr(identity)
