"""The keys of `info`: plain data, fresh at each step, one type for a key wherever it occurs.

A key without a value is absent, which is what vector environments can stack.
"""

from __future__ import annotations

from typing import Any, TypedDict

__all__ = ["StepInfo", "ToolResultInfo", "TurnResultInfo"]


class _ToolResultInfo(TypedDict):
    name: str
    arguments: dict[str, Any]
    content: str
    error: dict[str, Any] | None
    silent: dict[str, Any] | None


class ToolResultInfo(_ToolResultInfo, total=False):
    """One call of the step and what came of it.

    Attributes:
        name: The tool as it was called.
        arguments: Its arguments by name.
        content: The result text that the agent reads.
        error: The typed cause of a failure (`code`, `tool`, `argument`, `value`, `details`), or None.
        silent: The typed cause where the official tool takes a call that cannot have been meant for a success,
            or None.
        official: The official result text; only where a wrapper may have put another into `content`.
    """

    official: str


class TurnResultInfo(TypedDict):
    """How a finished turn compares with the ground truth (see `envtune_gym.scoring.TurnResult`)."""

    turn: int
    state_ok: bool
    response_ok: bool
    passed: bool


class StepInfo(TypedDict, total=False):
    """What `reset` and `step` return as `info`.

    Attributes:
        task_id: Id of the task.
        category: Its category; several are joined by `+`.
        domains: Its domains.
        turn: Index of the turn that the observation belongs to.
        num_turns: Number of turns of the task.
        step_in_turn: Steps of this turn so far that were not answers.
        messages: The chat messages that this step added, in OpenAI form.
        tools: Function schemas now on offer, in OpenAI form; only at reset and when they change.
        tool_results: The calls of this step.
        format_ok: Whether the action kept the letter of the action format; only after a step.
        parse_error: What could not be read; only if the action was not understood.
        turn_results: All finished turns so far.
        success: The benchmark's verdict; only on the last step.
        error_type: The official name of what failed first; only on the last step of an episode that failed.
        feedback: Level of feedback; only under `AugmentedFeedbackWrapper`.
        dropped_hints: Hints of this step that gave something away; only under `AugmentedFeedbackWrapper` with
            `check_leaks=True`, at a level other than `off`.
        stage: Name of the stage; only under `CurriculumWrapper`.
        reward_parts: The terms of which the step's reward is the sum; only under a reward that has several, in steps
            that may pay one.
    """

    task_id: str
    category: str
    domains: list[str]
    turn: int
    num_turns: int
    step_in_turn: int
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    tool_results: list[ToolResultInfo]
    format_ok: bool
    parse_error: str
    turn_results: list[TurnResultInfo]
    success: bool
    error_type: str
    feedback: str
    dropped_hints: int
    stage: str
    reward_parts: dict[str, float]
