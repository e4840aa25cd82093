"""The client of the OpenEnv server of the tasks: `async with EnvtuneClient(base_url=...)`, or `.sync()`."""

from __future__ import annotations

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from envtune_gym.integrations.openenv_models import EnvtuneAction, EnvtuneObservation, EnvtuneState

__all__ = ["EnvtuneAction", "EnvtuneClient", "EnvtuneObservation", "EnvtuneState"]


class EnvtuneClient(EnvClient[EnvtuneAction, EnvtuneObservation, EnvtuneState]):
    """One session with the server: `reset(seed=..., task_id=...)`, `step(EnvtuneAction(message=...))`, `state()`."""

    def _step_payload(self, action: EnvtuneAction) -> dict[str, Any]:
        payload: dict[str, Any] = action.model_dump()
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[EnvtuneObservation]:
        outcome = {"reward": payload.get("reward"), "done": bool(payload.get("done"))}
        observation = EnvtuneObservation.model_validate({**payload["observation"], **outcome})
        return StepResult(observation, metadata=payload.get("metadata"), **outcome)

    def _parse_state(self, payload: dict[str, Any]) -> EnvtuneState:
        state: EnvtuneState = EnvtuneState.model_validate(payload)
        return state
