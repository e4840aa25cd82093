"""The tasks as an agent loop of `verl`: its servers sample, its token builder keeps ids and masks, its trainer is paid.

`verl` makes an agent loop for each trajectory, by its name in the file of `agent_loop_config_path`; what stands there
beside the name are the arguments of `EnvtuneAgentLoop`. Rows of `episode_rows` say which episode to play.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.utils.profiler import simple_timer

from envtune_gym.feedback import FeedbackLevel
from envtune_gym.integrations.episodes import EpisodeReward, TextFormat, episode_env, figures
from envtune_gym.tasks import TaskSet, load_tasks

__all__ = ["AGENT_NAME", "EnvtuneAgentLoop", "episode_rows"]

logger = logging.getLogger(__name__)

AGENT_NAME = "envtune"
"""The agent loop's name in rows; give it the same one in the file of `agent_loop_config_path`."""

_load_tasks = lru_cache(load_tasks)


def episode_rows(task_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return rows of a `verl` dataset, one an episode, to be written as Parquet.

    The prompt of a row only names its task: what the model reads is made at the environment's reset.

    Args:
        task_ids: Ids of the tasks to play.
    """
    return [
        {
            "prompt": [{"role": "user", "content": task_id}],
            "task_id": task_id,
            "agent_name": AGENT_NAME,
            "data_source": AGENT_NAME,
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"index": index},
        }
        for index, task_id in enumerate(task_ids)
    ]


class EnvtuneAgentLoop(AgentLoopBase):
    """Plays one episode.

    Results of tools are shown in messages of the user, which every chat template renders. The sum of the environment's
    rewards is the trajectory's score; `success` and `progress` go to the trainer's log with it.

    An episode whose first prompt does not fit into `rollout.prompt_length` is not played: without its beginning the
    model would not know its tools. It is worth nothing, and no token of it is trained. A reply that reaches
    `rollout.response_length` is not given to the environment, since half of it may be missing.

    Args:
        *args: What `verl` hands to every agent loop.
        tasks: As `load_tasks` takes them; likewise the next four.
        categories: Categories wanted.
        split: Split wanted.
        domains: Domains wanted.
        difficulty: Levels of generated tasks.
        reward: What the rewards of an episode add up to.
        feedback: Level of the feedback.
        action_format: How calls are written.
        max_steps_per_turn: Steps that a turn may take.
        **kwargs: As `*args`.
    """

    def __init__(
        self,
        *args: Any,
        tasks: str = "generated",
        categories: Iterable[str] | None = None,
        split: str = "all",
        domains: Iterable[str] | None = None,
        difficulty: Iterable[int] | None = None,
        reward: EpisodeReward = "progress",
        feedback: FeedbackLevel = "off",
        action_format: TextFormat = "tool_call",
        max_steps_per_turn: int = 20,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        chosen: TaskSet = _load_tasks(tasks, _hashable(categories), split, _hashable(domains), _hashable(difficulty))
        self._env = episode_env(
            chosen,
            reward=reward,
            feedback=feedback,
            action_format=action_format,
            max_steps_per_turn=max_steps_per_turn,
        )

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play the episode of a row.

        Args:
            sampling_params: What `verl` samples with.
            **kwargs: The row; `task_id` names the task.

        Raises:
            UnknownTaskError: If the tasks of the agent loop have none of that id.
        """
        _, info = self._env.reset(options={"task_id": str(kwargs["task_id"])})
        messages = list(info["messages"])
        prompt = await self.ct_build_initial_tokens(messages)
        transcript = _Transcript(self, prompt, bool(sampling_params.get("logprobs")))
        if len(prompt) >= self.rollout_config.prompt_length:  # it has been cut to that length, or just fits
            logger.warning("task %r is not played: its prompt exceeds rollout.prompt_length", info["task_id"])
            return transcript.unplayed(figures(info))
        request_id, total, replies, over = uuid4().hex, 0.0, 0, False
        while not over:
            text = await transcript.sample(request_id, sampling_params)
            replies += 1
            if transcript.is_full:
                break
            observation, reward, terminated, truncated, info = self._env.step(text)
            total += float(reward)
            over = terminated or truncated
            if not over:
                added = [{"role": "assistant", "content": text}, {"role": "user", "content": observation}]
                messages += added
                over = not await transcript.add(messages)
        return transcript.output(total, 2 * replies, figures(info))


class _Transcript:
    """An episode as tokens: what the model read and wrote, which of it is its own, and at what probability."""

    def __init__(self, loop: EnvtuneAgentLoop, prompt: list[int], has_logprobs: bool) -> None:
        self._loop = loop
        self._prompt = prompt
        self._ids = list(prompt)
        self._mask: list[int] = []
        self._logprobs: list[float] | None = [] if has_logprobs else None
        self._limit = int(loop.rollout_config.response_length)
        self._metrics: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}

    @property
    def is_full(self) -> bool:
        """Whether the tokens after the prompt have reached `rollout.response_length`."""
        return len(self._mask) >= self._limit

    async def sample(self, request_id: str, sampling_params: dict[str, Any]) -> str:
        """Sample a reply, add it and return its text."""
        with simple_timer("generate_sequences", self._metrics):
            reply = await self._loop.server_manager.generate(
                request_id=request_id, prompt_ids=self._ids, sampling_params=sampling_params
            )
        self._extra.update(reply.extra_fields)
        merged, self._mask, self._logprobs = await self._loop.ct_merge_assistant_token(
            self._ids,
            reply.token_ids,
            self._mask,
            self._logprobs,
            assistant_logprobs=None if self._logprobs is None else reply.log_probs,
        )
        self._ids = merged.token_ids
        return str(self._loop.tokenizer.decode(reply.token_ids, skip_special_tokens=True))

    async def add(self, messages: list[dict[str, Any]]) -> bool:
        """Add the last of the messages, which is not the model's; tell whether room for a reply is left."""
        merged, mask, logprobs = await self._loop.ct_merge_context_msg(
            messages[:-1], messages, self._ids, self._mask, self._logprobs
        )
        if len(mask) >= self._limit:
            return False
        self._ids, self._mask, self._logprobs = merged.token_ids, mask, logprobs
        return True

    def output(self, score: float, num_turns: int, shown: dict[str, float]) -> AgentLoopOutput:
        """Return what `verl` trains on."""
        begin = len(self._ids) - len(self._mask)
        return AgentLoopOutput(
            prompt_ids=self._ids[:begin],
            response_ids=self._ids[begin:][: self._limit],
            response_mask=self._mask[: self._limit],
            response_logprobs=None if self._logprobs is None else self._logprobs[: self._limit],
            reward_score=score,
            num_turns=num_turns,
            metrics=AgentLoopMetrics(**self._metrics),
            # Other agent loops have the two lists, and batches of several are joined.
            extra_fields={**self._extra, "turn_scores": [], "tool_rewards": [], "reward_extra_info": shown},
        )

    def unplayed(self, shown: dict[str, float]) -> AgentLoopOutput:
        """Return what stands for an episode that was not played: one token, which is masked out."""
        self._ids = [*self._prompt, int(self._loop.tokenizer.eos_token_id)]
        self._mask = [0]
        self._logprobs = None if self._logprobs is None else [0.0]
        return self.output(0.0, 0, shown)


def _hashable(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """Return the values of a configuration's list."""
    return None if values is None else tuple(values)
