"""A proxy before any MCP server that speaks over stdio: it adds hints to failing tool results, and nothing else.

Two threads carry lines, one each way, and a third watches for requests that stay without an answer. Threads, because
reading a standard stream cannot be cancelled: the main thread stays free to end the server whatever the others do.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Literal, cast

from mcp import types

from envtune_gym.errors import ServerError
from envtune_gym.integrations.mcp_hints import ServerHints
from envtune_gym.integrations.mcp_traffic import Traffic

__all__ = ["run_proxy"]

MAX_LINE = 2**26
"""Bytes of the longest message."""
_GRACE = 1.0
"""Seconds that the server has to end after its stdin was closed."""
_LAST_GRACE = 0.8
"""Seconds from a request to end to the end by force. Clients such as the SDK's give the proxy two in all."""

_End = Literal["client", "server"] | Exception


def run_proxy(command: Sequence[str], hints: ServerHints, *, timeout: float, report: Callable[[str], object]) -> None:
    """Start a server, and carry messages between it and stdin and stdout until one of the two sides ends.

    However this ends, the server's process has ended, too.

    Args:
        command: The server's command line. Its stderr is that of this process.
        hints: Makes the hints.
        timeout: Seconds that a request may stay without an answer or a sign of progress; then the client gets an
            error. 0: any time.
        report: Called with one line about what a person should know.

    Raises:
        ServerError: If the server cannot be started, ends while the client waits for it, or sends a message that is
            too long.
        KeyboardInterrupt: If the process is interrupted or told to end.
    """
    with _interrupted_once():
        process = _start(command)
        try:
            _Proxy(process, command, hints, timeout, report).run()
        finally:
            try:
                _stop(process)
            except KeyboardInterrupt:
                _stop(process)
                raise


class _Proxy:
    """One session between the client, at stdin and stdout, and a server's process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        command: Sequence[str],
        hints: ServerHints,
        timeout: float,
        report: Callable[[str], object],
    ) -> None:
        self._process = process
        self._to_server = cast("IO[bytes]", process.stdin)
        self._from_server = cast("IO[bytes]", process.stdout)
        # Not sys.stdin and sys.stdout: a lock that a waiting thread holds would get in the way when Python ends.
        self._from_client = os.fdopen(0, "rb", closefd=False)
        self._to_client = os.fdopen(1, "wb", closefd=False)
        self._command = shlex.join(command)
        self._timeout = timeout
        self._report = report
        self._traffic = Traffic(hints, time.monotonic, report)
        self._ends: queue.SimpleQueue[_End] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._client_lock = threading.Lock()
        self._server_lock = threading.Lock()

    def run(self) -> None:
        answers = threading.Thread(target=self._carry, args=("server", self._pass_answers), daemon=True)
        answers.start()
        threading.Thread(target=self._carry, args=("client", self._pass_requests), daemon=True).start()
        if self._timeout:
            threading.Thread(target=self._watch, daemon=True).start()
        try:
            end = self._ends.get()
            ended_at = time.monotonic()
            if end == "client":
                # The server may still be answering what it was asked before.
                answers.join(_GRACE)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE - (time.monotonic() - ended_at))
            elif end != "server":
                raise end
            self._explain_end(client_has_left=end == "client")
        finally:
            self._ended.set()

    def _carry(self, side: Literal["client", "server"], carry: Callable[[], None]) -> None:
        """Carry lines from one side until it ends, and say so."""
        try:
            carry()
        except Exception as error:  # raised again in the main thread
            self._ends.put(error)
        else:
            self._ends.put(side)

    def _pass_requests(self) -> None:
        for line in _lines(self._from_client, "client"):
            self._traffic.from_client(line)
            with self._server_lock, contextlib.suppress(BrokenPipeError):  # its end is noted at its stdout
                _write(self._to_server, line)
        with self._server_lock, contextlib.suppress(BrokenPipeError):
            self._to_server.close()

    def _pass_answers(self) -> None:
        for line in _lines(self._from_server, "server"):
            answer = self._traffic.from_server(line)
            if answer:
                with self._client_lock:
                    _write(self._to_client, answer)

    def _watch(self) -> None:
        wait = self._timeout
        while not self._ended.wait(wait):
            late, wait = self._traffic.expire(self._timeout)
            for request_id, method in late:
                problem = (
                    f"no answer to {method} from the MCP server within {self._timeout:g} s; "
                    f"raise --timeout, or look into the server"
                )
                self._report(problem)
                self._refuse(request_id, types.jsonrpc.REQUEST_TIMEOUT, problem)
                if method != "initialize":
                    self._cancel(request_id)

    def _cancel(self, request_id: int | str) -> None:
        """Tell the server that an answer is not waited for any more, unless it does not even read."""
        params = {"requestId": request_id, "reason": "timeout"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        if self._server_lock.acquire(blocking=False):
            try:
                with contextlib.suppress(OSError, ValueError):
                    _write(self._to_server, json.dumps(message).encode() + b"\n")
            finally:
                self._server_lock.release()

    def _refuse(self, request_id: int | str, code: int, problem: str) -> None:
        message = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": problem}}
        with self._client_lock, contextlib.suppress(OSError):
            _write(self._to_client, json.dumps(message).encode() + b"\n")

    def _explain_end(self, *, client_has_left: bool) -> None:
        """Answer what the server has left open; raise unless it ended in peace, or is to be ended."""
        try:
            code: int | None = self._process.wait(0 if client_has_left else _GRACE)
        except subprocess.TimeoutExpired:
            code = None
        left = self._traffic.close()
        # A client that has left waits for nothing, so that only a crash is worth telling.
        is_peaceful = not (left and code) if client_has_left else code == 0 and not left
        if is_peaceful:
            return
        how = "closed its stdout" if code is None else f"ended with exit code {code}"
        problem = (
            f"the MCP server {how} and left {len(left)} requests without an answer; see what it wrote above, "
            f"or run it by itself: {self._command}"
        )
        for request_id in left:
            self._refuse(request_id, types.jsonrpc.CONNECTION_CLOSED, problem)
        raise ServerError(problem)


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        # In a session of its own, so that an interruption at the terminal reaches the proxy alone, which ends it.
        return subprocess.Popen(  # noqa: S603 (running what the user names is the purpose)
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ServerError(f"cannot start the MCP server {command[0]!r}: {reason}; check the command after --") from None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server, by force if need be, and what it has started with it."""
    for sign, patience in ((signal.SIGTERM, _LAST_GRACE), (getattr(signal, "SIGKILL", signal.SIGTERM), None)):
        if process.poll() is not None:
            return
        _signal(process, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def _signal(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, sign)  # the leader of its session, so of its group
        else:
            process.send_signal(sign)


@contextlib.contextmanager
def _interrupted_once() -> Iterator[None]:
    """Let the first interruption or request to end raise KeyboardInterrupt, and no further one disturb the ending."""

    def interrupt(*_: object) -> None:
        for sign in signs:
            signal.signal(sign, signal.SIG_IGN)
        raise KeyboardInterrupt

    signs = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(sign, interrupt) for sign in signs]
    try:
        yield
    finally:
        for sign, handler in zip(signs, before, strict=True):
            signal.signal(sign, handler)


def _lines(stream: IO[bytes], side: str) -> Iterator[bytes]:
    """Yield lines as they come.

    Raises:
        ServerError: If one is too long.
    """
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ServerError(f"the {side} sent a message of more than {MAX_LINE >> 20} MiB; make it smaller")
        yield line


def _write(stream: IO[bytes], line: bytes) -> None:
    stream.write(line)
    stream.flush()
