"""What an OpenEnv server of the tasks and its client say to each other."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

__all__ = ["EnvtuneAction", "EnvtuneObservation", "EnvtuneState"]


class EnvtuneAction(Action):
    """One assistant message."""

    message: str = Field(description="The assistant's message, in the action format of the server")


class EnvtuneObservation(Observation):
    """What the environment shows after a reset or a step; `reward` and `done` stand beside it."""

    text: str = Field(default="", description="The observation: a request of the user, results of tools, or an error")
    truncated: bool = Field(default=False, description="Whether a step limit ended the episode")
    info: dict[str, Any] = Field(default_factory=dict, description="Gymnasium's info: messages, tools, results, …")


class EnvtuneState(State):
    """Which task is played."""

    task_id: str | None = Field(default=None, description="Id of the task, which reset(task_id=...) plays again")
