"""The tasks as an OpenEnv environment, behind OpenEnv's own server: each WebSocket session has an environment.

With the defaults, `uvicorn --factory envtune_gym.integrations.openenv_server:make_app` serves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from openenv.core.env_server import Environment, create_app
from openenv.core.env_server.types import EnvironmentMetadata

from envtune_gym import __version__
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.integrations.episodes import EpisodeReward, episode_env
from envtune_gym.integrations.openenv_models import EnvtuneAction, EnvtuneObservation, EnvtuneState
from envtune_gym.tasks import TaskSet, load_tasks

__all__ = ["EnvtuneEnvironment", "make_app"]


class EnvtuneEnvironment(Environment[EnvtuneAction, EnvtuneObservation, EnvtuneState]):
    """One session's environment.

    Args:
        tasks: The tasks that it serves.
        reward: What the rewards of an episode add up to.
        feedback: Level of the feedback.
        **options: Further options of `gym.make`.

    Raises:
        ConfigurationError: If an option has no meaning.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, tasks: TaskSet, *, reward: EpisodeReward = "verdict", feedback: FeedbackLevel = "off", **options: Any
    ) -> None:
        super().__init__()
        self._env = episode_env(tasks, reward=reward, feedback=feedback, **options)
        self._state = EnvtuneState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task_id: str | None = None, **_: Any
    ) -> EnvtuneObservation:
        """Begin a task; without an id the seed draws one.

        Raises:
            UnknownTaskError: If no served task has that id.
        """
        text, info = self._env.reset(seed=seed, options=None if task_id is None else {"task_id": task_id})
        self._state = EnvtuneState(episode_id=episode_id or str(uuid4()), task_id=info["task_id"])
        return EnvtuneObservation(text=text, info=info)

    def step(self, action: EnvtuneAction, timeout_s: float | None = None, **_: Any) -> EnvtuneObservation:
        """Take one assistant message.

        Raises:
            EpisodeError: Before the first reset or after the end of the episode.
        """
        text, reward, terminated, truncated, info = self._env.step(action.message)
        self._state.step_count += 1
        return EnvtuneObservation(
            text=text, info=info, reward=float(reward), done=terminated or truncated, truncated=truncated
        )

    @property
    def state(self) -> EnvtuneState:
        """Which task is played, and how many messages it has had."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return what OpenEnv's pages show of the environment."""
        return EnvironmentMetadata(
            name="envtune",
            description="An agent works through a task of several user turns with the tools of several domains.",
            version=__version__,
        )

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def make_app(
    tasks: str | TaskSet = "generated",
    *,
    categories: Iterable[str] | None = None,
    split: str = "all",
    domains: Iterable[str] | None = None,
    difficulty: Any = None,
    max_sessions: int = 64,
    **options: Any,
) -> FastAPI:
    """Return the application that serves some tasks, for `uvicorn` or any ASGI server.

    There is no authentication, and any client may play any task served.

    Args:
        tasks: As `load_tasks` takes them; likewise the next four.
        categories: Categories wanted.
        split: Split wanted.
        domains: Domains wanted.
        difficulty: Difficulty of generated tasks.
        max_sessions: Most sessions at a time.
        **options: Those of `EnvtuneEnvironment`.

    Raises:
        ConfigurationError: If an option has no meaning, or no task is left to serve.
    """
    chosen = load_tasks(tasks, categories=categories, split=split, domains=domains, difficulty=difficulty)
    make = partial(EnvtuneEnvironment, chosen, **options)
    make().close()  # a mistake in the options is told now, not to the first client
    app: FastAPI = create_app(
        make,
        EnvtuneAction,
        EnvtuneObservation,
        env_name="envtune",
        max_concurrent_envs=max_sessions,
        state_cls=EnvtuneState,
    )
    return app
