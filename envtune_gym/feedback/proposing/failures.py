"""Recorded runs played again, and what fails in them, grouped by cause.

Replaying gives the typed errors, which no transcript has. A cause is an error code of a domain; for the codes that
every domain has (a missing argument, a crash) it is that code of one tool, and of one of its arguments where the error
is about one.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import gymnasium as gym

from envtune_gym.calls import ActionFormat
from envtune_gym.domains import domain_class
from envtune_gym.domains.base import ToolError
from envtune_gym.env import EnvtuneEnv, Episode, Offer
from envtune_gym.feedback import general
from envtune_gym.feedback.book import GENERAL
from envtune_gym.feedback.causes import parse_cause
from envtune_gym.feedback.proposing.bookfile import Cause
from envtune_gym.feedback.render import step_errors
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.tooldocs import tool_schemas

__all__ = ["Failure", "FailureGroup", "collect_failures"]

_KEPT = 20
_EARLIER = 4
_LEAVES = 64
_WITHOUT_TOOL = frozenset({"unknown_tool", "bad_syntax"})


@dataclass(frozen=True)
class Failure:
    """A call that failed, or a message that could not be read, in its place.

    Attributes:
        task: The task.
        turn: The index of the turn.
        error: What went wrong.
        call: The call in Python syntax, or the message.
        result: The official text that came of it.
        offered: Names of the tools on offer.
        earlier: The calls of the turn before it, the latest ones, each with its result.
        seen: All texts of the conversation up to the result.
    """

    task: Task
    turn: int
    error: ToolError
    call: str
    result: str
    offered: tuple[str, ...]
    earlier: tuple[tuple[str, str], ...]
    seen: tuple[str, ...] = field(repr=False)

    @property
    def request(self) -> str:
        """What the user asked for in this turn."""
        return self.task.turns[self.turn]

    @property
    def remaining(self) -> tuple[str, ...]:
        """The ground truth of this turn and all later ones."""
        return tuple(call for calls in self.task.ground_truth[self.turn :] for call in calls)

    @property
    def values(self) -> Mapping[str, Any]:
        """The values that a template may speak of, by name."""
        error = self.error
        named = {} if error.argument is None else {"argument": error.argument, "value": error.value}
        return {**error.details, **named, "tool": error.tool}

    @property
    def known_values(self) -> frozenset[str]:
        """The names of the values that the agent gave itself, or has seen; a state may hold others."""
        return frozenset(
            name
            for name, value in self.values.items()
            if name in ("argument", "value", "tool") or self._has_seen(value)
        )

    @property
    def schemas(self) -> Mapping[str, dict[str, Any]]:
        """The documentation of the task's tools, by name (shared)."""
        return tool_schemas(self.task)

    def _has_seen(self, value: Any) -> bool:
        leaves = list(islice(_leaves(value), _LEAVES + 1))
        return len(leaves) <= _LEAVES and all(any(leaf in text for text in self.seen) for leaf in leaves)


@dataclass
class FailureGroup:
    """All failures of one cause.

    Attributes:
        cause: The cause.
        names: The values that every one of the failures has and the agent has seen, by name: a template may use
            these.
        count: Number of failures.
        failures: Some of them, each of another task.
    """

    cause: Cause
    names: frozenset[str]
    count: int = 0
    failures: list[Failure] = field(default_factory=list)

    @property
    def offered(self) -> tuple[str, ...]:
        """The tools that were on offer at any of the failures, those of the cause's domain first."""
        names = dict.fromkeys(name for failure in self.failures for name in failure.offered)
        own = () if self.cause.domain == GENERAL else domain_class(self.cause.domain).tools
        return tuple(sorted(names, key=lambda name: name not in own))

    def add(self, failure: Failure) -> None:
        """Count a failure, and keep it if it adds to what is known of the cause."""
        self.count += 1
        self.names &= failure.known_values
        if len(self.failures) < _KEPT and all(failure.task.id != kept.task.id for kept in self.failures):
            self.failures.append(failure)


def collect_failures(
    runs: Sequence[tuple[Task, Sequence[str]]],
    *,
    action_format: ActionFormat = "tool_call",
    offer: Offer | None = None,
    on_run: Callable[[], object] | None = None,
) -> list[FailureGroup]:
    """Play runs again and return the causes of what fails in them, the most frequent first.

    Args:
        runs: Tasks with the assistant's messages; a task may occur in several.
        action_format: The format of the messages.
        offer: What happens to withheld and excluded tools; None goes by each task's source.
        on_run: Called after each run.
    """
    if not runs:
        return []
    tasks = {task.id: task for task, _ in runs}
    env = gym.make(
        MULTI_DOMAIN_ID,
        tasks=TaskSet(list(tasks.values())),
        action_format=action_format,
        offer=offer,
        disable_env_checker=True,
    )
    groups: dict[Cause, FailureGroup] = {}
    try:
        for task, messages in runs:
            for cause, failure in _failures(env, task, messages):
                group = groups.setdefault(cause, FailureGroup(cause, failure.known_values))
                group.add(failure)
            if on_run is not None:
                on_run()
    finally:
        env.close()
    return sorted(groups.values(), key=lambda group: (-group.count, group.cause.sort_key))


def _failures(env: gym.Env[str, str], task: Task, messages: Iterable[str]) -> Iterator[tuple[Cause, Failure]]:
    """Play one run; yield its failures with their causes."""
    _, info = env.reset(options={"task_id": task.id})
    episode = cast(EnvtuneEnv, env.unwrapped).episode
    seen = [_text(message) for message in info["messages"]] + [json.dumps(info["tools"])]
    earlier: deque[tuple[str, str]] = deque(maxlen=_EARLIER)
    turn = episode.turn
    for message in messages:
        _, _, terminated, truncated, info = env.step(message)
        seen += map(_text, info["messages"])
        for domain, error, call, result in _step(episode, message):
            if error is not None:
                known = (tuple(earlier), tuple(seen))
                yield _cause(domain, error), Failure(task, turn, error, call, result, episode.offered, *known)
            earlier.append((call, result))
        if episode.turn != turn:
            turn = episode.turn
            earlier.clear()
        if terminated or truncated:
            return


def _step(episode: Episode, message: str) -> Iterator[tuple[str | None, ToolError | None, str, str]]:
    """Yield domain, error, call and result for each call of the last step, or for a message that cannot be read."""
    reply = episode.reply
    if reply is not None and reply.error is not None:
        yield None, parse_cause(reply.error), message, str(reply.error)
    elif reply is not None:
        for found, call, result in zip(step_errors(episode), reply.calls, episode.results, strict=True):
            yield (*(found or (None, None)), call.source(), result.content)


def _cause(domain: str | None, error: ToolError) -> Cause:
    if domain is None or error.code in _WITHOUT_TOOL:
        return Cause(domain=GENERAL, code=error.code)
    if error.code not in {rule.code for rule in general.RULES}:
        return Cause(domain=domain, code=error.code)
    named = error.argument if error.code != "unknown_argument" else None
    return Cause(domain=domain, code=error.code, tool=error.tool, argument=named)


def _leaves(value: Any) -> Iterator[str]:
    """Yield the scalars within plain data as texts."""
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _leaves(item)
    else:
        yield str(value)


def _text(message: Mapping[str, Any]) -> str:
    return f"{message.get('content') or ''}{json.dumps(message['tool_calls']) if 'tool_calls' in message else ''}"
