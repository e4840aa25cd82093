"""The agent that knows the solution."""

from __future__ import annotations

from envtune_gym.calls import ActionFormat
from envtune_gym.callsyntax import parse_call
from envtune_gym.evaluation.script import script
from envtune_gym.tasks import Task

__all__ = ["Oracle"]


class Oracle:
    """Plays the ground truth: all calls of a turn in one message, with keyword arguments, then an answer.

    Args:
        action_format: The format of its messages.
    """

    name = "oracle"

    def __init__(self, action_format: ActionFormat = "tool_call") -> None:
        self.action_format = action_format

    def messages(self, task: Task) -> list[str]:
        """Return the assistant messages that solve a task.

        Raises:
            ConfigurationError: If the format cannot hold a call of the ground truth.
        """
        turns = [[[parse_call(text) for text in calls]] if calls else [] for calls in task.ground_truth]
        return script(task, turns, self.action_format)
