"""What is asked of every result and every state, whatever the call was."""

from __future__ import annotations

import json

from envtune_gym.domains.base import ToolError
from envtune_gym.world import MAX_RESULT_LENGTH, ToolResult, World

__all__ = ["check_result", "check_state", "kept"]

_HEADROOM = 1_000


def check_result(result: ToolResult) -> None:
    """Check that a result is a bounded text with typed causes that JSON can hold."""
    assert isinstance(result.content, str)
    assert len(result.content) <= MAX_RESULT_LENGTH + _HEADROOM
    json.dumps(result.arguments)
    for cause in (result.error, result.silent):
        if cause is not None:
            assert isinstance(cause, ToolError)
            assert cause.code
            json.dumps(cause.to_dict())
    assert result.error is None or result.silent is None


def check_state(world: World) -> None:
    """Check that the public state is plain data."""
    json.dumps(world.state())


def kept(world: World) -> str:
    """Return the public state as text, which no later change reaches and in which NaN equals itself."""
    return json.dumps(world.state())
