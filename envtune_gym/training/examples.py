"""Worked examples in the prompt, for models too small to follow the format from its description."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym

from envtune_gym.calls import ActionFormat, render_answer, render_calls
from envtune_gym.callsyntax import Call

__all__ = ["WorkedExamples"]

EXAMPLES = (
    ("Please water the plants in the kitchen.", Call("water_plants", {"room": "kitchen"}), '{"watered": 4}', "Done."),
    ("Which lamps are on?", Call("list_lamps", {"state": "on"}), '["hall"]', "The one in the hall."),
)
"""Request, call, result and answer. Two, since a single one gets its answer copied; of tools that no domain has."""


class WorkedExamples(gym.Wrapper[str, str, str, str]):
    """Puts requests that have been dealt with before the first request of each episode.

    They are about made-up tools, so they give nothing away, and stand in `info["messages"]` alone.

    Args:
        env: The environment to wrap.
        action_format: Its action format.
    """

    def __init__(self, env: gym.Env[str, str], action_format: ActionFormat) -> None:
        super().__init__(env)
        self._messages = [message for example in EXAMPLES for message in _exchange(*example, action_format)]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, with the examples between the system prompt and the request."""
        observation, info = self.env.reset(seed=seed, options=options)
        system, *request = info["messages"]
        return observation, {**info, "messages": [system, *map(dict, self._messages), *request]}


def _exchange(request: str, call: Call, result: str, answer: str, action_format: ActionFormat) -> list[dict[str, Any]]:
    """Return an example as messages; the result comes from the user, a role that every template has."""
    return [
        {"role": "user", "content": request},
        {"role": "assistant", "content": render_calls([call], action_format)},
        {"role": "user", "content": json.dumps([{"name": call.name, "content": result}])},
        {"role": "assistant", "content": render_answer(answer, action_format)},
    ]
