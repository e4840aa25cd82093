"""TRL's `GRPOTrainer` over the environments: a `rollout_func`, the reward it feeds, and the rows it reads.

The trainer's own tool loop (`environment_factory`) ends an episode at the first message without a call, so user turns
would never come, and offers every public method of an environment to the model. `rollout_func` has neither fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import torch
from accelerate.utils import gather_object
from trl.distributed import DistributedBackend
from trl.models import unwrap_model_for_generation

from envtune_gym.errors import ConfigurationError, TrainingError
from envtune_gym.integrations.engine import Engine, Generated, OnReply
from envtune_gym.integrations.engines import MakeEngine, engine_maker
from envtune_gym.integrations.rollout import EpisodeRequest, MakeEnv, Rollout, RolloutConfig, RolloutRecord, play
from envtune_gym.integrations.sharding import check_sharding, whole_parameters
from envtune_gym.integrations.statistics import WITHOUT_SPREAD, rollout_statistics, share_without_spread
from envtune_gym.integrations.tokens import ChatTemplate, Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from trl import GRPOTrainer

__all__ = ["EpisodePlayer", "environment_reward", "episode_rows", "make_rollout_func"]

Env = gym.Env[str, str]
RolloutFunc = Callable[[list[list[Message]], "GRPOTrainer"], dict[str, list[Any]]]


def episode_rows(requests: Iterable[EpisodeRequest]) -> list[dict[str, list[Message]]]:
    """Return dataset rows, one an episode, for a trainer with a `rollout_func` of this module.

    TRL hands a rollout function the `prompt` column and nothing else, so the row's only message carries the request;
    what the model reads is made at the environment's reset. Rows that TRL repeats for a group start alike.

    Args:
        requests: The episodes to play.
    """
    return [{"prompt": [{"role": "user", "content": request.task_id or "", **asdict(request)}]} for request in requests]


class EpisodePlayer:
    """Plays episodes with a trainer's present model, each in an environment of its own.

    Environments are kept and reset from batch to batch, except those whose rollout broke. Each of several processes
    plays its own episodes; a model that FSDP 2 shards is made whole meanwhile, ZeRO-3 and FSDP 1 are refused.

    Args:
        make_env: Makes an environment, wrappers included.
        tokenizer: The model's tokenizer, with a chat template.
        config: The limits of an episode.
        prepare: Called with each environment before each batch; sets, say, the stage of a curriculum, so that it is
            the same for a whole group.
        make_engine: Makes what samples the replies; asked before each batch, it returns the same one again.

    Attributes:
        costs: Seconds and tokens of the latest batch by phase (`seconds/generation`; `seconds/environment`: resets,
            steps and chat template, as far as sampling waited for them; `tokens/prompt`, `tokens/generated`,
            `tokens/environment`).

    Raises:
        ChatTemplateError: If the template cannot carry a growing conversation.
        ConfigurationError: If the environment has the `openai` action format.
    """

    def __init__(
        self,
        make_env: MakeEnv,
        tokenizer: PreTrainedTokenizerBase,
        config: RolloutConfig | None = None,
        prepare: Callable[[Env], None] | None = None,
        make_engine: MakeEngine | None = None,
    ) -> None:
        self.config = config or RolloutConfig()
        self.template = ChatTemplate(tokenizer, self.config.tool_role)
        self._make_env = make_env
        self._prepare = prepare
        self._make_engine = make_engine or engine_maker("transformers", self.config.batch_size)
        self.costs: dict[str, float] = {}
        self._envs = [make_env()]
        if getattr(self._envs[0].unwrapped, "action_format", None) == "openai":
            raise ConfigurationError(
                'train with action_format="tool_call" or "python": in "openai" the tools travel beside the messages, '
                "and those that appear later would change what the template has rendered before"
            )

    def __call__(self, requests: Sequence[EpisodeRequest], trainer: GRPOTrainer) -> list[Rollout]:
        """Play one episode for each request; return them played to their ends.

        Args:
            requests: The episodes; equal ones start alike and share nothing.
            trainer: Its model samples the replies at its temperature.

        Raises:
            ConfigurationError: If the token budgets exceed the model's context, or its parameters cannot be made
                whole.
            TrainingError: If the memory does not suffice.
        """
        _check_context(trainer, self.config)
        began = time.monotonic()
        self._envs += [self._make_env() for _ in range(len(requests) - len(self._envs))]
        rollouts = [
            Rollout(env, self.template, self.config, request)
            for env, request in zip(self._envs, requests, strict=False)
        ]
        if self._prepare is not None:
            for rollout in rollouts:
                self._prepare(rollout.env)
        generation = self._play(rollouts, trainer)
        self.costs = _costs(rollouts, generation, time.monotonic() - began)
        for index, rollout in enumerate(rollouts):
            if rollout.record.broken:
                self._envs[index] = self._make_env()
        return rollouts

    def _play(self, rollouts: Sequence[Rollout], trainer: GRPOTrainer) -> float:
        """Play rollouts to their ends; return the seconds that sampling took."""
        backend = DistributedBackend(trainer.accelerator)
        check_sharding(backend.zero_stage, backend.fsdp_version)
        plugin = trainer.accelerator.state.fsdp_plugin if backend.is_fsdp else None
        with (
            unwrap_model_for_generation(
                trainer.model_wrapped,
                trainer.accelerator,
                gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
            ) as model,
            whole_parameters(model, plugin is None or plugin.reshard_after_forward),
            trainer.accelerator.autocast(),
        ):
            if hasattr(model, "get_base_model"):  # adapters stand within the layers of the model that they wrap
                model = model.get_base_model()
            end_ids = {self.template.end_id, *trainer.eos_token_ids}
            try:
                engine = _Timed(self._make_engine(model, end_ids, trainer.temperature))
                play(rollouts, engine)
            except torch.OutOfMemoryError as error:
                raise TrainingError(
                    "out of memory while sampling; sample fewer conversations together (rollout_batch, now "
                    f"{self.config.batch_size}) or shorten them (max_completion_tokens, max_prompt_tokens)"
                ) from error
        return engine.seconds


class _Timed:
    """An engine with a clock.

    Attributes:
        seconds: How long it has sampled, less what its device has stood still for what was done with replies.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0

    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Sample replies (see `Engine.generate`)."""
        began, idle = time.monotonic(), self._idle_seconds
        replies = self._engine.generate(prompts, limits, on_reply)
        self.seconds += time.monotonic() - began - (self._idle_seconds - idle)
        return replies

    @property
    def _idle_seconds(self) -> float:
        return getattr(self._engine, "idle_seconds", 0.0)


def _costs(rollouts: Sequence[Rollout], generation: float, total: float) -> dict[str, float]:
    """Return what a batch of rollouts took."""
    conversations = [rollout.conversation for rollout in rollouts]
    generated = sum(sum(conversation.mask) for conversation in conversations)
    return {
        "seconds/generation": generation,
        "seconds/environment": total - generation,
        "tokens/prompt": sum(len(conversation.prompt_ids) for conversation in conversations),
        "tokens/generated": generated,
        "tokens/environment": sum(len(conversation.mask) for conversation in conversations) - generated,
    }


def _costs_of_all(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return what a batch took in all processes: tokens in sum, the seconds of the one for which the others waited."""
    slowest = max(costs, key=lambda one: one["seconds/generation"] + one["seconds/environment"])
    sums = {name: sum(one[name] for one in costs) for name in slowest}
    return {name: slowest[name] if name.startswith("seconds/") else sums[name] for name in slowest}


def make_rollout_func(
    player: EpisodePlayer,
    on_batch: Callable[[list[RolloutRecord]], None] | None = None,
    rewards: Mapping[str, str] | None = None,
) -> RolloutFunc:
    """Return a `rollout_func` for `GRPOTrainer`.

    Its extra fields are `env_mask` (1 on the model's own tokens), `episode_reward` (finite, 0.0 for a rollout that
    broke), `rollout` (the `RolloutRecord` as a dict) and `figures` (statistics of the batch and what it took, the same
    in each row); `environment_reward` reads the second and the last.

    Where several processes train together, TRL hands each its share of a batch's rows, which may cut through a group.
    What they played is gathered, in the order of the batch, so that `on_batch` and `figures` are about all of it and
    the same in each process.

    Args:
        player: Plays the episodes of `episode_rows`.
        on_batch: Called with the records of each batch of rollouts.
        rewards: What each stage pays, by its name (`rollout_statistics`).
    """

    def rollout_func(prompts: list[list[Message]], trainer: GRPOTrainer) -> dict[str, list[Any]]:
        rollouts = player(list(map(_request, prompts)), trainer)
        records = gather_object([rollout.record for rollout in rollouts])
        costs = _costs_of_all(gather_object([player.costs]))
        if on_batch is not None:
            on_batch(records)
        played = list(map(asdict, records))
        size = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        figures = {**rollout_statistics(played, rewards), WITHOUT_SPREAD: share_without_spread(played, size), **costs}
        return {**_columns(rollouts, player.template.end_id), "figures": [figures] * len(rollouts)}

    return rollout_func


def environment_reward(
    episode_reward: Sequence[float],
    figures: Sequence[dict[str, float]],
    log_metric: Callable[[str, float], None] | None = None,
    **_: Any,
) -> list[float]:
    """Reward function for `GRPOTrainer`: the sum of the environment's rewards, with statistics for the trainer's log.

    Args:
        episode_reward: The rollout function's extra field of that name.
        figures: Likewise: what is known of the batch, once for each rollout.
        log_metric: TRL's hook for metrics.
    """
    if log_metric is not None:
        for name, value in figures[0].items():
            log_metric(name, value)
    return list(episode_reward)


def _request(prompt: list[Message]) -> EpisodeRequest:
    """Return the request that a row of `episode_rows` carries."""
    message = prompt[-1]
    if "seed" not in message:
        raise ConfigurationError("the dataset's prompts carry no episode; make the rows with episode_rows()")
    return EpisodeRequest(int(message["seed"]), message.get("task_id"))


def _columns(rollouts: Sequence[Rollout], end_id: int) -> dict[str, list[Any]]:
    """Return what TRL reads; a rollout that broke before its first token gets an end token that is masked out.

    One without a prompt gets two of them: rows are not packed if there is one among them whose prompt is shorter.
    """
    columns: dict[str, list[Any]] = {
        name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "episode_reward", "rollout")
    }
    for rollout in rollouts:
        conversation = rollout.conversation
        columns["prompt_ids"].append(conversation.prompt_ids or [end_id, end_id])
        columns["completion_ids"].append(conversation.completion_ids or [end_id])
        columns["logprobs"].append(conversation.logprobs or [0.0])
        columns["env_mask"].append(conversation.mask or [0])
        columns["episode_reward"].append(rollout.record.reward)
        columns["rollout"].append(asdict(rollout.record))
    return columns


def _check_context(trainer: GRPOTrainer, config: RolloutConfig) -> None:
    """Refuse budgets that the model's context cannot hold.

    Raises:
        ConfigurationError: If they are too large.
    """
    context = getattr(trainer.model.config, "max_position_embeddings", None)
    wanted = config.max_prompt_tokens + config.max_completion_tokens
    if context is not None and wanted > context:
        raise ConfigurationError(
            f"max_prompt_tokens + max_completion_tokens is {wanted}, more than the model's context of {context} tokens"
        )
