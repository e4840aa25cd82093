"""The tasks as a `verifiers` taskset, and an environment in which EnvTune plays the user.

`verifiers` finds a taskset by the name of a top-level module; `envtune_verifiers` is that module, so its commands know
this one as `envtune-verifiers`: `vf-eval envtune-verifiers`.

The framework's own chat program is a process for each reply, with packages that it installs. No tool runs outside the
environment here, so the harness of this module asks the model from within the process, through the same endpoint of
the framework, which records tokens and rewards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from openai import APIConnectionError, AsyncOpenAI, OpenAIError
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.errors import MODEL_TRANSPORT_ERROR_EXIT_CODE
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig

from envtune_gym.feedback import FeedbackLevel
from envtune_gym.integrations.episodes import EpisodeReward, TextFormat, episode_env, figures
from envtune_gym.tasks import load_tasks

__all__ = ["EnvtuneChat", "EnvtunePlay", "EnvtuneTaskset"]

TASKSET_ID = "envtune-verifiers"


class EnvtuneTasksetConfig(vf.TasksetConfig):
    """Which tasks: `--env.taskset.*`, as the arguments of `load_tasks`."""

    tasks: str = "generated"
    """`generated`, `bfcl`, or the path of a `.jsonl` file."""
    categories: list[str] | None = None
    """Categories wanted; all by default."""
    split: str = "all"
    """`train`, `val`, `test` or `all`."""
    domains: list[str] | None = None
    """Tasks that involve any of these domains; all by default."""
    difficulty: list[int] | None = None
    """Levels of generated tasks, from 1 to 5; all by default."""


class EnvtuneData(vf.TaskData):
    """A task by its `id`; what the model reads is made at the environment's reset."""

    category: str


class EnvtuneTask(vf.Task[EnvtuneData]):
    """A task under its own id, which names it among all tasks of a source."""

    @property
    def key(self) -> str:
        """The id of the task."""
        return str(self.data.id)


class EnvtuneTaskset(vf.Taskset[EnvtuneTask, EnvtuneTasksetConfig]):
    """The tasks of a source; `generated` is endless, so bound it with `-n`.

    Attributes:
        tasks: The tasks.
    """

    def __init__(self, config: EnvtuneTasksetConfig) -> None:
        super().__init__(config)
        self.tasks = load_tasks(
            config.tasks,
            categories=config.categories,
            split=config.split,
            domains=config.domains,
            difficulty=config.difficulty,
        )
        self.INFINITE = not self.tasks.is_finite

    def load(self) -> Iterator[EnvtuneTask]:
        """Yield the tasks in their order."""
        for task in self.tasks:
            data = EnvtuneData(id=task.id, name=task.id, category=task.category)
            yield EnvtuneTask(data, self.config.task)


class EnvtunePlayConfig(vf.EnvConfig):
    """How the tasks are played: `--env.*`."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=SubprocessConfig())
    """The model. Its runtime stays empty: tools run in the environment, and nowhere else."""
    action_format: TextFormat = "tool_call"
    """How calls are written in a message's text."""
    feedback: FeedbackLevel = "off"
    """`off`, `error`, `actionable` or `diagnostic`."""
    reward: EpisodeReward = "verdict"
    """`verdict`, or `progress` for the share of turns passed."""
    max_steps_per_turn: int = 20
    """Messages with calls that a user turn may take."""


class EnvtunePlay(vf.Env[EnvtunePlayConfig]):
    """One episode: the environment says what the user and the tools say, the agent `player` answers.

    Its trace gets the reward `envtune`, and the metrics `success` and `progress`.
    """

    async def run(self, task: vf.Task[Any], agents: Any) -> None:
        """Play a task to its end, or until the framework's limits end it."""
        config = self.config
        env = episode_env(
            self.taskset.tasks,
            reward=config.reward,
            feedback=config.feedback,
            action_format=config.action_format,
            max_steps_per_turn=config.max_steps_per_turn,
        )
        _, info = env.reset(options={"task_id": task.data.id})
        system, request = (message["content"] for message in info["messages"])
        total = 0.0
        async with agents.player.interaction(task.with_data(system_prompt=system, prompt=request)) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                observation, reward, terminated, truncated, info = env.step(segment.last_reply)
                total += float(reward)
                if terminated or truncated:
                    break
                segment = await interaction.turn(observation)
            # Before the interaction closes, when the framework logs what an episode has earned.
            interaction.trace.record_reward("envtune", total)
            interaction.trace.record_metrics(figures(info))


class EnvtuneChatConfig(vf.HarnessConfig):
    """Nothing to set beyond what every harness has."""

    id: str = TASKSET_ID


class EnvtuneChat(vf.Harness[EnvtuneChatConfig]):
    """Asks the model for one message, with the conversation so far."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: vf.Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        """Ask through the framework's endpoint, which keeps the answer; a refusal is the program's failure."""
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [] if system is None else [{"role": "system", "content": system}]
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += map(message_to_wire, prompt or ())
        try:
            async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
                await client.chat.completions.create(model=ctx.model, messages=messages)
        except APIConnectionError as error:
            return ProgramResult(MODEL_TRANSPORT_ERROR_EXIT_CODE, "", str(error))
        except OpenAIError as error:
            return ProgramResult(1, "", str(error))
        return ProgramResult(0, "", "")
