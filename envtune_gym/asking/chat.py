"""A language model behind any server that speaks the OpenAI protocol, through the official client.

The client's own retries do what is needed: connection errors, timeouts, 408, 409, 429 and 5xx are tried again, after
the time that the server's Retry-After asks for (up to two minutes), else with growing pauses.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict
from typing_extensions import Self

from envtune_gym.errors import ConfigurationError, ServerError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ChatModel", "Message", "ModelSettings", "RefusedRequestError", "Writer"]

Message = dict[str, str]
"""A chat message: role and content."""

_NO_KEY = "none"


class Writer(BaseModel):
    """A model that wrote something; of the address of its server, the host alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    host: str


class RefusedRequestError(ServerError):
    """A request that the server refuses for what is in it, such as its length; others may pass."""


@dataclass(frozen=True)
class ModelSettings:
    """How a model is asked.

    Attributes:
        model: The model's name at the server.
        base_url: Where the server is, such as `http://localhost:8000/v1`.
        temperature: Sampling temperature; None leaves it to the server.
        seed: Seed of the sampling; None leaves it to the server.
        max_tokens: Longest reply.
        timeout: Seconds that a reply may take.
        retries: How often a request is tried again.
        key_variable: The environment variable that holds the key; a server without keys needs none.

    Raises:
        ConfigurationError: If the address is not one of HTTP.
    """

    model: str
    base_url: str
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int = 2_048
    timeout: float = 120.0
    retries: int = 6
    key_variable: str = "OPENAI_API_KEY"

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
            max_retries=settings.retries,
        )

    async def __aenter__(self) -> Self:
        """Return the model."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(self, messages: Sequence[Message]) -> str:
        """Return the model's reply to a conversation; empty if the server's answer holds none.

        Raises:
            RefusedRequestError: If the server refuses this request.
            ServerError: If it cannot be reached, refuses any request, or still fails after all retries.
        """
        settings = self.settings
        options: dict[str, Any] = {"temperature": settings.temperature, "seed": settings.seed}
        options = {name: value for name, value in options.items() if value is not None}
        try:
            answer = await self._client.chat.completions.create(
                model=settings.model,
                messages=list(messages),  # type: ignore[arg-type]  # roles are plain strings here
                max_tokens=settings.max_tokens,
                **options,
            )
        except (self._errors.BadRequestError, self._errors.UnprocessableEntityError) as error:
            raise RefusedRequestError(self._described(error)) from error
        except self._errors.APIError as error:
            raise ServerError(self._described(error)) from error
        except ValueError:  # an answer that claims to be JSON and is not
            return ""
        return _content(answer)

    def _described(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        return f"{self.settings.writer.host}: {type(error).__name__}: {text[:300]}"


def _content(answer: Any) -> str:
    """Return the text of an answer; a server may send anything, and the client does not check it."""
    try:
        content = answer.choices[0].message.content
    except (AttributeError, IndexError, TypeError):
        return ""
    return content if isinstance(content, str) else ""
