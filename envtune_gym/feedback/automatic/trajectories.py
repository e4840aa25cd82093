"""Successful conversations to learn from: ground truths of tasks, and recorded rollouts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envtune_gym.calls import ActionFormat, parse_action
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.env import EnvtuneEnv
from envtune_gym.errors import DataError
from envtune_gym.feedback.automatic.conversation import Conversation
from envtune_gym.scoring import ground_truth
from envtune_gym.tasks import Task, TaskSet

__all__ = ["from_replays", "from_rollouts", "from_tasks", "holds_chats"]


def from_tasks(tasks: Iterable[Task]) -> Iterator[Conversation]:
    """Yield the conversation that each task's ground truth is."""
    for task in tasks:
        world = ground_truth(task).start.fork()
        conversation = Conversation()
        for request, calls in zip(task.turns, task.ground_truth, strict=True):
            conversation.hear(request)
            for text in calls:
                result = world.run(parse_call(text))
                conversation.note(result.name, result.arguments, result.content)
        yield conversation


def from_replays(
    episodes: Iterable[tuple[Task, Sequence[str]]], action_format: ActionFormat = "tool_call"
) -> Iterator[Conversation]:
    """Yield the conversations that assistant messages make of tasks, if they solve them."""
    for task, messages in episodes:
        env = EnvtuneEnv(tasks=TaskSet([task]), action_format=action_format)
        request, info = env.reset(options={"task_id": task.id})
        conversation = Conversation()
        conversation.hear(request)
        for message in messages:
            if env.episode.over:
                break
            turn = env.episode.turn
            info = env.step(message)[4]
            for result in env.episode.results:
                conversation.note(result.name, result.arguments, result.content)
            if env.episode.turn > turn:
                conversation.hear(task.turns[env.episode.turn])
        if info.get("success"):
            yield conversation


def holds_chats(path: str | os.PathLike[str]) -> bool:
    """Tell whether the first line of a file has whole chats, as `from_rollouts` reads them.

    Raises:
        DataError: If the file cannot be read.
    """
    first = next((line for line in _read(path).split("\n") if line.strip()), "")
    try:
        return any(isinstance(message, dict) for message in json.loads(first)["messages"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


def from_rollouts(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """Yield the successful conversations of a file.

    Each line is a JSON object whose `messages` are chat messages in OpenAI's form: calls stand in `tool_calls`, or in
    the text in the `tool_call` format, and the `tool` messages after them have the results, in the same order. A line
    whose `success` is false is passed over.

    Raises:
        DataError: If the file cannot be read, or a line is anything else; the message names it.
    """
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if line.strip():
            data = _object(line, f"{os.fspath(path)}, line {number}")
            if data.get("success", True):
                yield _conversation(data["messages"])


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise DataError(f"cannot read the rollouts {os.fspath(path)}: {error}") from error


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from None
    messages = data.get("messages") if isinstance(data, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise DataError(f"{where}: expected an object whose 'messages' is a list of chat messages")
    return data  # type: ignore[no-any-return]


def _conversation(messages: Iterable[Mapping[str, Any]]) -> Conversation:
    conversation = Conversation()
    waiting: list[Call] = []
    for message in messages:
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        if message.get("role") == "user":
            conversation.hear(text)
        elif message.get("role") == "assistant":
            structured = bool(message.get("tool_calls"))
            reply = parse_action(json.dumps(message) if structured else text, "openai" if structured else "tool_call")
            waiting = list(reply.calls)
        elif message.get("role") == "tool" and waiting:
            call = waiting.pop(0)
            conversation.note(call.name, call.kwargs, text)
    return conversation
