"""A language model behind any server that speaks the OpenAI protocol, through the official client.

Tried again, within limits of number and time, are connection errors, timeouts, and the statuses 408, 409, 429 and 5xx:
after the time that the server's Retry-After asks for, else with growing pauses. The client's own retries know no limit
of the time in all, and would not retry an answer that is broken.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict
from typing_extensions import Self

from envtune_gym.asking.completion import Completion, UnreadableAnswerError, read_completion
from envtune_gym.asking.retrying import PassingFaultError, persist, wanted_pause
from envtune_gym.asking.transport import TooLongAnswerError, bounded_client
from envtune_gym.errors import ConfigurationError, ServerError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "ChatMessage",
    "ChatModel",
    "Message",
    "ModelSettings",
    "RefusedAccessError",
    "RefusedRequestError",
    "Writer",
]

T = TypeVar("T")
Message = dict[str, str]
"""A chat message: role and content."""
ChatMessage = Mapping[str, Any]
"""A chat message with tool calls, or a function schema."""

_NO_KEY = "none"
_REFUSED = (400, 413, 422)
_PASSING = (408, 409, 429)
_SERVERS_FAULT = 500
_ENDINGS_BELIEVED = 2


class Writer(BaseModel):
    """A model that wrote something; of the address of its server, the host alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    host: str


class RefusedRequestError(ServerError):
    """A request that the server refuses for what is in it, such as its length; others may pass."""


class RefusedAccessError(ServerError):
    """A server that would refuse any request: for a key, an address or a model's name that is wrong."""


@dataclass(frozen=True)
class ModelSettings:
    """How a model is asked.

    Attributes:
        model: The model's name at the server.
        base_url: Where the server is, such as `http://localhost:8000/v1`.
        temperature: Sampling temperature; None leaves it to the server.
        seed: Seed of the sampling; None leaves it to the server.
        max_tokens: Longest reply; None leaves it to the server.
        timeout: Seconds that a reply may take.
        retries: How often a request is tried again.
        key_variable: The environment variable that holds the key; a server without keys needs none.
        top_p: The share of the most likely tokens that is sampled from; None leaves it to the server.
        patience: Seconds that a request may take with all its retries.
        extra: Further fields of the request, such as `{"chat_template_kwargs": {"enable_thinking": False}}`.

    Raises:
        ConfigurationError: If the address is not one of HTTP.
    """

    model: str
    base_url: str
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = 2_048
    timeout: float = 120.0
    retries: int = 6
    key_variable: str = "OPENAI_API_KEY"
    top_p: float | None = None
    patience: float = 900.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the address."""
        try:
            parts = urlsplit(self.base_url)
            host = parts.hostname if parts.scheme in ("http", "https") else None
        except ValueError:
            host = None
        if not host:
            raise ConfigurationError(
                f"the base url must be that of an HTTP server, such as http://localhost:8000/v1, not {self.base_url!r}"
            )

    @property
    def writer(self) -> Writer:
        """The model as files name it."""
        return Writer(model=self.model, host=urlsplit(self.base_url).hostname or "")


class ChatModel:
    """A model at a server; an asynchronous context manager that closes its connections.

    Args:
        settings: How it is asked.

    Raises:
        ConfigurationError: If the client is not installed.
    """

    def __init__(self, settings: ModelSettings) -> None:
        try:
            import openai
        except ModuleNotFoundError:
            raise ConfigurationError('asking a model needs openai; run: pip install "envtune-gym[eval]"') from None
        self.settings = settings
        self._errors = openai
        self._client = openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=os.environ.get(settings.key_variable) or _NO_KEY,
            timeout=settings.timeout,
            max_retries=0,
            http_client=bounded_client(),
        )

    async def __aenter__(self) -> Self:
        """Return the model."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(self, messages: Sequence[Message]) -> str:
        """Return the model's reply to a conversation; empty if the server's answer holds none.

        Raises:
            RefusedRequestError: If the server refuses this request.
            ServerError: If it cannot be reached, refuses any request, or still fails after all retries.
        """

        async def attempt(seconds: float) -> bytes:
            return await self._exchange(messages, None, self.settings.seed, seconds)

        try:
            return read_completion(await self._persist(attempt)).text
        except UnreadableAnswerError:
            return ""

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[ChatMessage] | None = None, seed: int | None = None
    ) -> Completion:
        """Return the model's reply to a conversation.

        An answer that is broken or empty is a fault that may pass. An empty reply that the server says the model
        itself has ended is taken for what it is when it comes a second time.

        Args:
            messages: The conversation.
            tools: Function schemas of the tools on offer; None or empty: the model is offered none, and calls in its
                answer do not count.
            seed: Seed of the sampling; None: the settings' one.

        Raises:
            RefusedRequestError: If the server refuses this request.
            ServerError: If it cannot be reached, refuses any request, or still fails after all retries.
        """
        endings = 0

        async def attempt(seconds: float) -> Completion:
            nonlocal endings
            body = await self._exchange(messages, tools, self.settings.seed if seed is None else seed, seconds)
            try:
                completion = read_completion(body)
            except UnreadableAnswerError as error:
                raise PassingFaultError(self._named(str(error))) from None
            if not tools:
                completion = replace(completion, tool_calls=None)
            if completion.is_empty:
                endings += completion.is_finished
                if endings < _ENDINGS_BELIEVED:
                    raise PassingFaultError(self._named("the reply is empty"))
            return completion

        return await self._persist(attempt)

    async def _persist(self, attempt: Callable[[float], Awaitable[T]]) -> T:
        try:
            return await persist(attempt, self.settings.retries, self.settings.patience)
        except PassingFaultError as fault:
            raise ServerError(str(fault)) from fault

    async def _exchange(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ChatMessage] | None,
        seed: int | None,
        seconds: float,
    ) -> bytes:
        """Ask once; return the body of the answer.

        Raises:
            PassingFaultError: If it may pass when it is asked again.
            RefusedRequestError: If the server refuses this request.
            RefusedAccessError: If it refuses any.
        """
        create: Any = self._client.chat.completions.with_raw_response.create
        asking = create(**self._request(messages, tools, seed))
        try:
            answer = await asyncio.wait_for(asking, min(seconds, self.settings.timeout))
        except self._errors.APIStatusError as error:
            reason = self._described(error)
            if error.status_code in _REFUSED:
                raise RefusedRequestError(reason) from error
            if error.status_code in _PASSING or error.status_code >= _SERVERS_FAULT:
                raise PassingFaultError(reason, wanted_pause(error.response.headers)) from error
            raise RefusedAccessError(reason) from error
        except (self._errors.APIError, asyncio.TimeoutError, TooLongAnswerError) as error:
            raise PassingFaultError(self._described(error)) from error
        content: bytes = answer.http_response.content
        return content

    def _request(
        self, messages: Sequence[ChatMessage], tools: Sequence[ChatMessage] | None, seed: int | None
    ) -> dict[str, Any]:
        settings = self.settings
        options = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": seed,
            "max_tokens": settings.max_tokens,
        }
        options = {name: value for name, value in options.items() if value is not None}
        # What is plain JSON already goes past the client's search for values to convert: in a long conversation with
        # many tools that takes longer than all else that a request costs.
        body = {"messages": list(messages), **({"tools": list(tools)} if tools else {}), **settings.extra}
        return {"model": settings.model, "messages": [], "extra_body": body, **options}

    def _described(self, error: Exception) -> str:
        cause = error.__cause__ if isinstance(error.__cause__, TooLongAnswerError) else error
        if isinstance(cause, asyncio.TimeoutError):
            return self._named("no whole answer in time")
        return self._named(f"{type(cause).__name__}: {cause}")

    def _named(self, fault: str) -> str:
        """Return a fault with the server's name, in one line that does nothing to a terminal."""
        line = "".join([one if one.isprintable() else "\ufffd" for one in " ".join(fault.split())])
        return f"{self.settings.writer.host}: {line[:300]}"
