"""Who plays: the interface of a policy, and the policies that need no model.

A `PolicyMaker` is what the command line's `--policy` names; it makes a policy of its own for each episode. Models live
in `envtune_gym.evaluation.models`, which offers `server_policy(name, options, action_format)` and
`local_policy(path, options, action_format)`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Protocol

from envtune_gym.asking import RefusedRequestError
from envtune_gym.calls import ActionFormat
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.random_agent import RandomPolicy
from envtune_gym.tasks import Task

__all__ = [
    "AsyncPolicy",
    "Mode",
    "ModelOptions",
    "OracleMaker",
    "PolicyMaker",
    "Prompts",
    "RandomMaker",
    "Reply",
    "ScriptedPolicy",
    "episode_seed",
]

Mode = Literal["native", "prompting"]
"""How a model is told of tools: by the server's function calling, or in the prompt."""
Prompts = Literal["auto", "official", "plain"]
"""Whose prompts a model reads; `auto`: the benchmark's for its own tasks, the environment's for all others."""


class Reply(NamedTuple):
    """What a policy says.

    Attributes:
        text: The assistant's message in the run's action format, as the environment's `step` takes it.
        prompt_tokens: Tokens that were read for it, as far as is known.
        completion_tokens: Tokens that it has, likewise.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class AsyncPolicy(Protocol):
    """Plays one episode."""

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """Return the next assistant message.

        Args:
            messages: All chat messages of the episode so far, system prompt first, in OpenAI's form.
            tools: The function schemas on offer now, likewise.

        Raises:
            ServerError: If the episode cannot go on; it is recorded as broken. With `RefusedRequestError` the cause
                is this episode's own; `RefusedAccessError` stops the run at once, and any other kind does once
                nothing but such errors comes.
        """


class PolicyMaker(Protocol):
    """Makes the policies of a run.

    Attributes:
        name: What the run's settings call it.
    """

    name: str

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy for one episode.

        Args:
            task: The task that will be played.
            sample: Which of several episodes of the task.
            seed: The episode's own seed, made by `episode_seed`.
        """

    async def aclose(self) -> None:
        """Give back what the policies share, such as connections."""


@dataclass(frozen=True)
class ModelOptions:
    """How a model is asked.

    Attributes:
        base_url: Where the server is.
        temperature: Sampling temperature; None leaves it to the server or the model's own configuration.
        top_p: Nucleus sampling, likewise.
        max_tokens: Longest reply.
        sampling_seed: Seed of the sampling, from which `episode_seed` makes one for each episode; None: the sampling
            has no seed.
        mode: How the model is told of tools.
        prompts: Whose prompts it reads.
        concurrency: Episodes in work at a time, and so the most requests that are open.
        timeout: Seconds that a reply may take.
        retries: How often a failed request is tried again.
        key_variable: The environment variable that holds the server's key, if it wants one.
    """

    base_url: str = "http://localhost:8000/v1"
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 4_096
    sampling_seed: int | None = None
    mode: Mode = "native"
    prompts: Prompts = "auto"
    concurrency: int = 16
    timeout: float = 120.0
    retries: int = 6
    key_variable: str = "OPENAI_API_KEY"

    def settings(self) -> dict[str, Any]:
        """Return what has an influence on the replies, as plain data for `RunSettings.options`.

        Where the server stands and how patiently it is asked is left out, so that a run can go on at another address.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _MEANS}
        return {name: value for name, value in values.items() if value is not None}


_MEANS = ("base_url", "concurrency", "timeout", "retries", "key_variable")


def episode_seed(seed: int, task_id: str, sample: int) -> int:
    """Return the seed of one episode of a run: 31 bits that depend on nothing else, the order of episodes least."""
    digest = hashlib.sha256(f"{seed}/{sample}/{task_id}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


class ScriptedPolicy:
    """Sends messages that are known beforehand.

    Args:
        messages: The messages.
    """

    def __init__(self, messages: Sequence[str]) -> None:
        self._messages: Iterator[str] = iter(messages)

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """Return the next message.

        Raises:
            RefusedRequestError: If there is none left.
        """
        text = next(self._messages, None)
        if text is None:
            raise RefusedRequestError("the messages known beforehand end before the task does")
        return Reply(text)


class OracleMaker:
    """Plays the ground truth; see `Oracle`.

    Args:
        action_format: The format of the messages.
    """

    name = "oracle"

    def __init__(self, action_format: ActionFormat) -> None:
        self._oracle = Oracle(action_format)

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy that solves a task.

        Raises:
            ConfigurationError: If the format cannot hold a call of the ground truth.
        """
        return ScriptedPolicy(self._oracle.messages(task))

    async def aclose(self) -> None:
        """Do nothing."""


class RandomMaker:
    """Plays at random; see `RandomPolicy`.

    Args:
        action_format: The format of the messages.
    """

    name = "random"

    def __init__(self, action_format: ActionFormat) -> None:
        self._action_format = action_format

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy that draws from the episode's seed."""
        return _AtRandom(RandomPolicy(seed, self._action_format))

    async def aclose(self) -> None:
        """Do nothing."""


class _AtRandom:
    """A `RandomPolicy` that is shown the conversation; it draws values from what has been said since its last reply."""

    def __init__(self, policy: RandomPolicy) -> None:
        self._policy = policy
        self._read = 0

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        new, self._read = messages[self._read :], len(messages)
        said = [str(message["content"]) for message in new if message["role"] in ("user", "tool")]
        turn = sum(message["role"] == "user" for message in messages) - 1
        return Reply(self._policy("\n".join(said), {"turn": turn, "tools": tools}))
