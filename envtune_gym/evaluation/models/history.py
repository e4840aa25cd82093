"""What a model is shown of an episode: the environment's messages in the form that chat servers and templates take.

`PlainHistory` keeps the environment's own prompt. `OfficialHistory` shows what the benchmark shows: its own
instructions, or in the function-calling mode none, and its form of results.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from envtune_gym.calls import ActionFormat, parse_action
from envtune_gym.calls.official import DecodeError, execution_strings
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.models.official_prompts import (
    function_schemas,
    results_message,
    returned_tools_message,
    system_message,
)
from envtune_gym.evaluation.runs.policies import Prompts
from envtune_gym.tasks import Task

__all__ = ["History", "OfficialHistory", "PlainHistory", "history_of"]

_Message = dict[str, Any]


class History(Protocol):
    """The conversation as a model is shown it."""

    def shown(self, messages: Sequence[_Message], tools: Sequence[_Message]) -> tuple[list[_Message], list[_Message]]:
        """Return the messages and, in the openai format, the function schemas that the model is given.

        Args:
            messages: All messages of the episode so far, as the environment gave them.
            tools: The function schemas on offer now, likewise.
        """


def history_of(task: Task, action_format: ActionFormat, prompts: Prompts = "auto") -> History:
    """Return the history for one episode.

    Args:
        task: The task.
        action_format: The format of the assistant's messages.
        prompts: Whose prompts the model reads.

    Raises:
        ConfigurationError: If the benchmark has no prompts for the task or the format.
    """
    has_official = task.source == "bfcl" and action_format != "tool_call"
    if prompts == "official" and not has_official:
        raise ConfigurationError(
            "the benchmark has prompts for its own tasks only, and for the formats python and openai; "
            f"{task.id} is of {task.source}, the format {action_format}"
        )
    if has_official and prompts != "plain":
        return OfficialHistory(task, action_format)
    return PlainHistory(action_format)


class PlainHistory:
    """The environment's messages as they are.

    In the prompting formats no message has calls apart from its text, so results, which only could answer such, are
    shown as the user's, all those of a message in one.

    Args:
        action_format: The format of the assistant's messages.
    """

    def __init__(self, action_format: ActionFormat) -> None:
        self._format = action_format

    def shown(self, messages: Sequence[_Message], tools: Sequence[_Message]) -> tuple[list[_Message], list[_Message]]:
        """Return what the model is given (see `History`)."""
        if self._format == "openai":
            return list(map(_function_calling, messages)), list(tools)
        shown: list[_Message] = []
        for is_result, group in itertools.groupby(messages, lambda message: message["role"] == "tool"):
            said = list(group)
            for message in [{"role": "user", "content": self._results(said)}] if is_result else said:
                if message["role"] == "user" and shown and shown[-1]["role"] == "user":
                    shown[-1]["content"] += f"\n{message['content']}"
                else:
                    shown.append({"role": message["role"], "content": message["content"]})
        return shown, []

    def _results(self, results: Sequence[_Message]) -> str:
        """Return results as the environment's observation has them."""
        if "name" not in results[0]:  # a message that could not be read
            return str(results[0]["content"])
        entries = [
            one["content"] if self._format == "python" else {"name": one["name"], "content": one["content"]}
            for one in results
        ]
        return json.dumps(entries, ensure_ascii=False)


class OfficialHistory:
    """The messages as the benchmark's own harness writes them.

    Args:
        task: An official task.
        action_format: `openai` or `python`.
    """

    def __init__(self, task: Task, action_format: ActionFormat) -> None:
        self._task = task
        self._format = action_format
        self._known: set[str] = set()
        self._returned: dict[int, list[str]] = {}  # by the place of the user's message that brings them
        self._instructions = ""
        self._schemas: list[_Message] = []

    def shown(self, messages: Sequence[_Message], tools: Sequence[_Message]) -> tuple[list[_Message], list[_Message]]:
        """Return what the model is given (see `History`)."""
        self._note(tools, len(messages) - 1)
        if self._format == "openai":
            return [_function_calling(one) for one in messages if one["role"] != "system"], list(self._schemas)
        return list(self._prompting(messages)), []

    def _note(self, tools: Sequence[_Message], place: int) -> None:
        """Take note of the tools that a message brings: in the first one all that are on offer, later returned ones."""
        names = [tool["function"]["name"] for tool in tools]
        new = [name for name in names if name not in self._known]
        if not new:
            return
        if self._known:
            self._returned[place] = new
        elif self._format != "openai":
            self._instructions = system_message(self._task.domains, names)
        self._known.update(new)
        if self._format == "openai":
            returned = {name for some in self._returned.values() for name in some}
            self._schemas = function_schemas(self._task.domains, tools, returned)

    def _prompting(self, messages: Sequence[_Message]) -> Iterator[_Message]:
        results: list[_Message] = []
        calls: list[str] = []
        turn = -1
        for place, message in enumerate(messages):
            if message["role"] == "tool":
                results.append(message)
                continue
            if results:
                yield {"role": "user", "content": _results(calls, results)}
                results = []
            turn += message["role"] == "user"
            yield self._prompting_message(place, turn, message)
            if message["role"] == "assistant":
                calls = _executed(message["content"])
        if results:
            yield {"role": "user", "content": _results(calls, results)}

    def _prompting_message(self, place: int, turn: int, message: _Message) -> _Message:
        content = message["content"]
        if message["role"] == "system":
            content = self._instructions
        elif place in self._returned:
            request = self._task.turns[turn]  # what feedback may have added stands behind it
            documented = returned_tools_message(self._task.domains, self._returned[place], request)
            content = documented + content.partition(request)[2]
        return {"role": message["role"], "content": content}


def _function_calling(message: Mapping[str, Any]) -> _Message:
    """Return a message for a server: without a thinking part, and results without the name, which their id implies."""
    return {key: value for key, value in message.items() if key not in ("reasoning_content", "name")}


def _executed(text: str) -> list[str]:
    """Return the calls of a message as the benchmark gives them to its executor."""
    try:
        return execution_strings(text)
    except DecodeError:  # the run's decoder takes more than the official one
        return [call.source() for call in parse_action(text, "python").calls]


def _results(calls: Sequence[str], results: Sequence[_Message]) -> str:
    """Return the message that shows results, or the error of a message that could not be read."""
    if len(calls) != len(results):
        return "\n".join([result["content"] for result in results])
    return results_message(zip(calls, [result["content"] for result in results], strict=True))
