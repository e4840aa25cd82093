"""The connection to a server that may send anything: an answer is read up to a bound, and no longer."""

from __future__ import annotations

from typing import Any

__all__ = ["LONGEST_ANSWER", "TooLongAnswerError", "bounded_client"]

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of the longest answer that is read."""

_OF_THE_ENCODING = ("content-encoding", "content-length", "transfer-encoding")


class TooLongAnswerError(ValueError):
    """An answer that goes on beyond the bound."""


def bounded_client(limit: int = LONGEST_ANSWER) -> Any:
    """Return an HTTP client for `AsyncOpenAI` that gives up on an answer of more bytes, unpacked.

    It follows no redirection: where the server is, the user says.
    """
    import openai

    class BoundedClient(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            """Send a request; return the whole answer."""
            response = await super().send(request, stream=True, **options)
            try:
                body = await _read(response, limit)
            finally:
                await response.aclose()
            headers = [(name, value) for name, value in response.headers.items() if name not in _OF_THE_ENCODING]
            return type(response)(response.status_code, headers=headers, content=body, request=request)

    return BoundedClient(follow_redirects=False)


async def _read(response: Any, limit: int) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > limit:
            raise TooLongAnswerError(f"an answer of more than {limit:,} bytes")
    return bytes(body)
