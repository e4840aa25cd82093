"""An OpenAI-compatible server that takes every request at once and answers after a fixed delay, for measurements.

In each turn it first calls a tool, then answers, whatever is asked. `GET /busy` tells how well its places were filled:
the place-seconds in which a request was there, and the seconds since the first request.

Run `python benchmarks/delayed_server.py DELAY`; it prints its port and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

_CALL = {"id": "call_0", "type": "function", "function": {"name": "pwd", "arguments": "{}"}}


class Meter:
    """How many requests are there, over time."""

    def __init__(self) -> None:
        self._filled = 0.0
        self._first = 0.0
        self._here = 0
        self._since = 0.0

    def count(self, change: int) -> None:
        """Enter that so many requests have come or gone."""
        now = time.perf_counter()
        if not self._first:
            self._first = self._since = now
        self._filled += self._here * (now - self._since)
        self._here, self._since = self._here + change, now

    def read(self) -> dict[str, float]:
        """Return what was filled so far."""
        self.count(0)
        return {"filled": self._filled, "seconds": self._since - self._first}


def completion(body: bytes) -> bytes:
    """Return the answer to a request: a call, or the end of the turn if there has been one."""
    is_called = body.count(b'"role":"tool"') >= body.count(b'"role":"user"')
    message = {"role": "assistant", "content": "Done."}
    if not is_called:
        message = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if is_called else "tool_calls"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    ).encode()


async def serve(delay: float) -> None:
    """Serve on a free port, and print it."""
    meter = Meter()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length")
                    ),
                    0,
                )
                body = await reader.readexactly(length)
                if head.startswith(b"GET"):
                    answer = json.dumps(meter.read()).encode()
                else:
                    meter.count(+1)
                    await asyncio.sleep(delay)
                    meter.count(-1)
                    answer = completion(body)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
                    + answer
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**26, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
