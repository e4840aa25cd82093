"""The verdict on an official result, as the official scorer gives it: decoded step by step, and checked by turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from envtune_gym.calls import Reply, parse_action
from envtune_gym.callsyntax import Call
from envtune_gym.scoring import Verdict, score_trajectory
from envtune_gym.tasks import Task

__all__ = ["ResultStep", "is_native", "read_turns", "score_result"]


@dataclass(frozen=True)
class ResultStep:
    """A step of an official result.

    Attributes:
        message: The step as a message that the environment reads.
        reply: What it means.
    """

    message: str
    reply: Reply

    @property
    def calls(self) -> tuple[Call, ...]:
        """Its calls; none if the official scorer drops it."""
        return self.reply.calls


def score_result(task: Task, result: Sequence[Sequence[Any]], native: bool | None = None) -> Verdict:
    """Return the official verdict on a result.

    Args:
        task: The task.
        result: For each turn the steps.
        native: Whether they are of the native mode; None: as `is_native` tells.
    """
    turns = read_turns(result, is_native(result) if native is None else native)
    return score_trajectory(task, [[step.calls for step in steps if step.calls] for steps in turns])


def is_native(result: Any) -> bool:
    """Tell whether a result is of the native mode: one of its steps is no text."""
    turns = result if isinstance(result, list) else []
    return any(isinstance(step, (list, dict)) for steps in turns if isinstance(steps, list) for step in steps)


def read_turns(result: Sequence[Sequence[Any]], native: bool) -> list[list[ResultStep]]:
    """Return the steps of a result, read.

    Args:
        result: For each turn the steps.
        native: Whether they are of the native mode.
    """
    return [[_read(step, native) for step in steps] for steps in result]


def _read(step: Any, native: bool) -> ResultStep:
    if not native:
        message = step if isinstance(step, str) else ""
        return ResultStep(message, parse_action(message, "python", decoder="official"))
    message = json.dumps(_assistant(step), ensure_ascii=False)
    return ResultStep(message, parse_action(message, "openai", decoder="official"))


def _assistant(step: Any) -> dict[str, Any]:
    """Return a step of the native mode as the message that it was; one that officially does not decode as its text."""
    if isinstance(step, dict):
        step = [step]
    if isinstance(step, str) or step is None:
        return {"role": "assistant", "content": step}
    if not isinstance(step, list) or not all(isinstance(one, dict) for one in step):
        return {"role": "assistant", "content": json.dumps(step)}
    return {"role": "assistant", "content": None, "tool_calls": list(_tool_calls(step))}


def _tool_calls(step: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    pairs = [pair for one in step for pair in one.items()]
    for index, (name, arguments) in enumerate(pairs):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": text}}
