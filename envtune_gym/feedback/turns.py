"""What feedback says of a finished turn: which part of its outcome is wrong, never what would have been right."""

from __future__ import annotations

from envtune_gym.scoring import EMPTY_TURN, TurnResult

__all__ = ["turn_note"]


def turn_note(result: TurnResult) -> str | None:
    """Return what to tell of a finished turn, or None if it passed."""
    if result.passed:
        return None
    return f"[Feedback on the turn that has just ended: {_what_failed(result)}]"


def _what_failed(result: TurnResult) -> str:
    if result.error_type is None:
        return (
            "the request could not be fulfilled yet, so that no tool should have been called; say what is missing "
            "instead."
        )
    if result.error_type == EMPTY_TURN:
        return "the request needed tool calls, and none was made."
    parts = []
    if not result.state_ok:
        parts.append(f"the state of {' and '.join(result.wrong_domains)} is not what the requests so far ask for")
    if not result.response_ok:
        parts.append("a result that the request asks for was not obtained")
    return "; ".join(parts) + "."
