"""A model behind any OpenAI-compatible server, as a policy.

In the openai format (native function calling) the tools travel as function schemas, and the server takes the calls out
of what the model writes. In the other formats (prompting) the tools stand in the prompt and the calls in the text.
What is tried again, how often and how long, `envtune_gym.asking.chat` says.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from envtune_gym.asking import ChatModel, ModelSettings
from envtune_gym.calls import ActionFormat
from envtune_gym.evaluation.models.history import History, history_of
from envtune_gym.evaluation.models.replies import action_text
from envtune_gym.evaluation.runs.policies import AsyncPolicy, ModelOptions, Prompts, Reply
from envtune_gym.tasks import Task

__all__ = ["ServerMaker", "server_policy"]

_CONNECTIONS = 32
"""Connections of a pool."""


def server_policy(name: str, options: ModelOptions, action_format: ActionFormat) -> ServerMaker:
    """Return the policies of a model behind a server.

    Args:
        name: The model's name at the server.
        options: How it is asked.
        action_format: The format of its messages.

    Raises:
        ConfigurationError: If the address is not one of HTTP, or the client is not installed.
    """
    settings = ModelSettings(
        model=name,
        base_url=options.base_url,
        temperature=options.temperature,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        timeout=options.timeout,
        retries=options.retries,
        key_variable=options.key_variable,
    )
    is_seeded = options.sampling_seed is not None
    return ServerMaker(
        settings, action_format, prompts=options.prompts, is_seeded=is_seeded, concurrency=options.concurrency
    )


class ServerMaker:
    """Makes policies that share a server's connections.

    Args:
        settings: How the model is asked.
        action_format: The format of its messages.
        prompts: Whose prompts it reads.
        is_seeded: Whether requests carry the seed of their episode.
        concurrency: Requests that are open at a time. A pool looks through all of its connections at each request, so
            that many connections are spread over several pools.

    Raises:
        ConfigurationError: If the client is not installed.
    """

    def __init__(
        self,
        settings: ModelSettings,
        action_format: ActionFormat,
        *,
        prompts: Prompts = "auto",
        is_seeded: bool = False,
        concurrency: int = 1,
    ) -> None:
        self.name = f"server:{settings.model}"
        self._models = [ChatModel(settings) for _ in range(math.ceil(concurrency / _CONNECTIONS))]
        self._next_model = itertools.cycle(self._models)
        self._format = action_format
        self._prompts = prompts
        self._is_seeded = is_seeded

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy for one episode.

        Raises:
            ConfigurationError: If the benchmark's prompts were asked for and there are none for this task.
        """
        history = history_of(task, self._format, self._prompts)
        return _ServerPolicy(next(self._next_model), self._format, history, seed if self._is_seeded else None)

    async def aclose(self) -> None:
        """Close the connections."""
        for model in self._models:
            await model.aclose()


class _ServerPolicy:
    def __init__(self, model: ChatModel, action_format: ActionFormat, history: History, seed: int | None) -> None:
        self._model = model
        self._format = action_format
        self._history = history
        self._seed = seed

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        shown, offered = self._history.shown(messages, tools)
        completion = await self._model.complete(shown, offered, self._seed)
        text = action_text(completion, self._format)
        return Reply(text, completion.prompt_tokens, completion.completion_tokens)
