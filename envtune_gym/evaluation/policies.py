"""What acts in an environment: a policy reads an observation and its `info`, and returns the next assistant message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym

from envtune_gym.calls import ActionFormat, render_answer
from envtune_gym.evaluation.learner import Learner, Plan
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.script import DONE
from envtune_gym.tasks import Task

__all__ = ["LearnerPolicy", "OraclePolicy", "Played", "Policy", "play"]

Policy = Callable[[str, dict[str, Any]], str]
"""Plays one episode: takes what `reset` or `step` returned, and returns the next action. Each episode has its own."""


class Played(NamedTuple):
    """What came of an episode.

    Attributes:
        success: The benchmark's verdict.
        progress: R_P: passed turns divided by all turns of the task.
        steps: Messages sent.
    """

    success: bool
    progress: float
    steps: int


def play(env: gym.Env[str, str], policy: Policy, task_id: str) -> Played:
    """Play a task of an environment to its end."""
    observation, info = env.reset(options={"task_id": task_id})
    steps, over = 0, False
    while not over:
        observation, _, terminated, truncated, info = env.step(policy(observation, info))
        steps, over = steps + 1, terminated or truncated
    passed = sum(turn["passed"] for turn in info["turn_results"])
    return Played(info["success"], passed / info["num_turns"], steps)


class OraclePolicy:
    """Plays the ground truth, whatever it observes; see `Oracle`.

    Args:
        task: The task that is played.
        action_format: The format of its messages.

    Raises:
        ConfigurationError: If the format cannot hold a call of the ground truth.
    """

    def __init__(self, task: Task, action_format: ActionFormat = "tool_call") -> None:
        self._messages = iter(Oracle(action_format).messages(task))

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """Return the next message."""
        return next(self._messages)


class LearnerPolicy:
    """Carries out a plan as the scripted `Learner` does, with its repairs, and ends each turn with an answer.

    The learner drives an environment, and a policy is driven. As the learner holds no randomness, it is played anew at
    each step against what has been observed so far, up to the first message that has no observation yet.

    Args:
        task_id: The task that is played.
        plan: What is meant in each turn, mistakes included.
    """

    def __init__(self, task_id: str, plan: Plan) -> None:
        self._task_id = task_id
        self._plan = plan
        self._observed: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """Return the next message."""
        self._observed.append((observation, info))
        learner = Learner(_Observed(self._observed))
        try:
            learner.begin(self._task_id)
            for steps in self._plan:
                learner.play_turn(steps)
                learner.answer()
        except _NextError as message:
            return str(message)
        return render_answer(DONE, "tool_call")


class _NextError(Exception):
    """Raised with a message to which no observation is known yet."""


class _Observed(gym.Env[str, str]):
    """An episode played back: its observations in order, whatever is done."""

    def __init__(self, observed: list[tuple[str, dict[str, Any]]]) -> None:
        self._left = iter(observed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return next(self._left)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        try:
            observation, info = next(self._left)
        except StopIteration:
            raise _NextError(action) from None
        return observation, 0.0, False, False, info
