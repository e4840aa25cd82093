"""A whole play of a task, known beforehand, as the assistant messages that carry it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from envtune_gym.calls import MAX_CALLS, ActionFormat, render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import Task
from envtune_gym.world import name_arguments

__all__ = ["DONE", "Player", "script"]

DONE = "Done."
"""The answer to a turn in which calls ran."""
_NOT_YET = "I cannot do that with the tools and the information that I have."


class Player(Protocol):
    """What knows the messages of a task before it is played.

    Attributes:
        name: What reports call it.
    """

    name: str

    def messages(self, task: Task) -> Sequence[str]:
        """Return the assistant messages of a task, in order, answers included."""


def script(task: Task, steps_per_turn: Sequence[Sequence[Sequence[Call]]], action_format: ActionFormat) -> list[str]:
    """Return the messages that run some calls and end each turn with an answer.

    Args:
        task: The task that is played.
        steps_per_turn: For each turn the steps, for each step its calls. Positional arguments are named by the
            tool's signature, for not every format and decoder has them.
        action_format: The format of the messages.

    Raises:
        ConfigurationError: If the format cannot hold a call: nested calls need `python`.
    """
    messages: list[str] = []
    for turn, steps in enumerate(steps_per_turn):
        for step in steps:
            calls = [name_arguments(call, task.domains) for call in step]
            messages += [
                _render(calls[start : start + MAX_CALLS], task, turn, action_format)
                for start in range(0, len(calls), MAX_CALLS)
            ]
        messages.append(render_answer(DONE if any(steps) else _NOT_YET, action_format))
    return messages


def _render(calls: Sequence[Call], task: Task, turn: int, action_format: ActionFormat) -> str:
    try:
        return render_calls(calls, action_format)
    except ValueError as error:
        raise ConfigurationError(f"task {task.id}, turn {turn}: {error}; try action_format='python'") from None
