"""How much the feedback says, from the official text alone to advice and a look at finished turns."""

from __future__ import annotations

from typing import Any, Literal, get_args

from envtune_gym.errors import ConfigurationError

__all__ = ["LEVELS", "FeedbackLevel", "check_level"]

FeedbackLevel = Literal["off", "error", "actionable", "diagnostic"]
"""`off`: the official text. `error`: what went wrong and the rule behind it. `actionable`: also what kind of step
resolves it. `diagnostic`: also, after a finished turn, which part of its outcome is wrong."""

LEVELS: tuple[FeedbackLevel, ...] = get_args(FeedbackLevel)


def check_level(level: Any) -> FeedbackLevel:
    """Return a level of feedback as it was given.

    Raises:
        ConfigurationError: If there is no such level.
    """
    if level not in LEVELS:
        raise ConfigurationError(f"the feedback level must be one of {', '.join(map(repr, LEVELS))}, not {level!r}")
    return level  # type: ignore[no-any-return]
