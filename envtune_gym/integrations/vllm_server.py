"""A `vllm serve` process: how it is started, and how it is asked.

Its address and its way of loading weights are a user's to choose; what goes wrong with either is said in a line. Each
request has a connection of its own, so that none is found closed after a pause; where hundreds of requests are open,
the standard library's client takes less of the processor than a pool of connections does.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from envtune_gym.errors import ConfigurationError, ServerError

__all__ = ["RefusedError", "VllmServer", "ask"]

_PORTS = {"http": 80, "https": 443}
_HERE = ("localhost", "127.0.0.1")
_CONNECTING = 10.0
"""Seconds that a connection may take."""
_PATIENCE = 1_800.0
"""Seconds without a byte after which an answer is given up; a reply may wait for hundreds of others."""
_PAUSES = (0.1, 1.0, 4.0)
"""Seconds before a request is tried again."""
_PASSING = (408, 429, 502, 503, 504)
_MEMORY_SHARE = 0.3
"""Of the GPU's memory, where the trainer needs the rest."""
_KEY = "VLLM_API_KEY"
_LONGEST_REASON = 1_000
"""Characters of what a server says that are shown."""


class RefusedError(ServerError):
    """An answer that is no success.

    Attributes:
        status: The status of HTTP.
        reason: What the server says of it.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class VllmServer:
    """Where a server is, and where it finds weights.

    Attributes:
        url: Its address, such as `http://localhost:8000`.
        weights: A folder of its own for the weights, which is written over whenever they change; the server sees it
            under the same path.

    Raises:
        ConfigurationError: If the address is not one of HTTP, or there is no folder.
    """

    url: str
    weights: str

    def __post_init__(self) -> None:
        """Check both."""
        if any(mark in self.url for mark in "@?#"):  # a password, say, which would stand in messages and settings
            raise ConfigurationError(
                f"the url of a vLLM server has no user and no query; a key goes into the environment variable {_KEY}"
            )
        try:
            parts = urlsplit(self.url)
            is_web = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
            is_web = is_web and self.url.isascii() and self.url.isprintable() and " " not in self.url
            (parts.hostname or "").encode("idna")
        except ValueError:
            is_web = False
        if not is_web:
            raise ConfigurationError(
                f"the url of a vLLM server is an address such as http://localhost:8000, not {self.url!r}"
            )
        if not self.weights.strip():
            raise ConfigurationError("the weights of a vLLM server need a folder of their own")

    @property
    def address(self) -> SplitResult:
        """The parts of the address, the path without what the OpenAI protocol adds."""
        parts = urlsplit(self.url)
        return parts._replace(path=parts.path.rstrip("/").removesuffix("/v1").rstrip("/"))

    @property
    def folder(self) -> str:
        """The folder of the weights as the server is told of it."""
        return os.path.abspath(self.weights)

    def command(self, dtype: str) -> str:
        """Return the command that starts such a server on the GPU of the trainer.

        Args:
            dtype: What it computes in, as torch names it.
        """
        port = self.address.port or _PORTS[self.address.scheme]
        host = " --host 127.0.0.1" if self.address.hostname in _HERE else ""  # else it would listen to everybody
        return (
            f"VLLM_SERVER_DEV_MODE=1 vllm serve {shlex.quote(self.folder)}{host} --port {port} --dtype {dtype} "
            f"--skip-tokenizer-init --logprobs-mode processed_logprobs --gpu-memory-utilization {_MEMORY_SHARE}"
        )


def ask(server: VllmServer, path: str, body: Any = None, *, retries: int = len(_PAUSES)) -> Any:
    """Return the server's answer to a request.

    Args:
        server: The server.
        path: What is asked for, from the root of the server.
        body: What is sent, as JSON; None: nothing is sent, and the request is a GET.
        retries: How often it is tried again where the connection fails or the server is busy.

    Returns:
        What the JSON of the answer says; None if it is empty.

    Raises:
        RefusedError: If the answer is no success.
        ServerError: If there is none, or one that is not JSON.
        ConfigurationError: If the key cannot be sent.
    """
    for pause in (*_PAUSES[:retries], None):
        try:
            status, answer = _exchange(server, path, body)
        except (OSError, http.client.HTTPException) as error:
            if pause is None:
                reason = str(error) or type(error).__name__
                raise ServerError(f"the vLLM server at {server.url} does not answer: {reason}") from error
        else:
            if pause is None or status not in _PASSING:
                return _read(server, path, status, answer)
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _exchange(server: VllmServer, path: str, body: Any) -> tuple[int, bytes]:
    address = server.address
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=_CONNECTING)
    headers = {"Content-Type": "application/json", "Connection": "close"}
    key = os.environ.get(_KEY)
    if key:
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError(f"the environment variable {_KEY} holds characters that no key has")
        headers["Authorization"] = f"Bearer {key}"
    try:
        connection.connect()
        connection.sock.settimeout(_PATIENCE)
        sent = None if body is None else json.dumps(body, separators=(",", ":"))
        connection.request("GET" if body is None else "POST", address.path + path, sent, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _read(server: VllmServer, path: str, status: int, answer: bytes) -> Any:
    try:
        data = json.loads(answer) if answer.strip() else None
    except (ValueError, RecursionError):
        data = None
        if status == http.client.OK:
            raise ServerError(f"what answers at {server.url}{path} is not JSON: {_start_of(answer)}") from None
    if status == http.client.OK:
        return data
    reason = _reason(data) or _start_of(answer) or http.client.responses.get(status, "")
    if status == http.client.UNAUTHORIZED:
        reason = f"it wants the key that it was started with, in the environment variable {_KEY}"
    message = f"the vLLM server at {server.url} refuses {path} with status {status}: {reason}"
    raise RefusedError(status, reason, message)


def _reason(data: Any) -> str:
    """Return what an error of vLLM says."""
    error = data.get("error", data.get("detail")) if isinstance(data, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return _in_a_line(said) if isinstance(said, str) else ""


def _start_of(answer: bytes) -> str:
    return _in_a_line(answer[:200].decode(errors="replace"))


def _in_a_line(text: str) -> str:
    """Return what somebody says in one line that does nothing to a terminal."""
    line = " ".join(text.split())[:_LONGEST_REASON]
    return "".join([one if one.isprintable() else "\ufffd" for one in line])
