r"""How long does the loss of a batch of rollouts take, forward and backward, by what is scored together?

The rollouts are random tokens of the shape of a run's: groups with a prompt of their own, completions of unequal
lengths, all of which teach; each batch has others, and so other shapes, as in a run. Prompts have `--prompt` tokens and
completions `--completion`, a quarter or a half more or less. The loss is TRL's, computed by the trainer of a run with
the settings of `--preset`; the optimiser takes no step.

Ways of scoring:
- `trl`: TRL's own, in micro-batches of shuffled rows;
- `plain`: rows begin at the left and are cut to the longest, in the same micro-batches (`score_plainly`);
- `shuffled`: rows are packed, and prompts read once where the rows of a micro-batch share them (`score_packed`);
- `groups`: the same, where micro-batches have been dealt out by groups;
- `passes`: the same, where micro-batches are merged as far as a pass has no more than each of `--pass-tokens` tokens.

All ways must come to the same gradient: its norm is stated, of the last batch. The mean of `--repeats` batches after a
first one counts.

All ways but `trl` have the attention of a run, which spares cuDNN's plans for each new shape; with `--cudnn` they
have, like `trl`, what PyTorch prefers.

`--profile` adds, for each way, where the time of its last pass goes: operators and kernels by time on the GPU,
operators by time on the host, and how often the host launches something and waits for it.

Examples:
  python benchmarks/loss_speed.py --out runs/speed
  python benchmarks/loss_speed.py --ways groups passes --profile
  python benchmarks/loss_speed.py --ways plain passes --cudnn
  python benchmarks/loss_speed.py --ways passes --pass-tokens 20000 40000 80000 160000 --repeats 3
  python benchmarks/loss_speed.py --groups 2 --group-size 4 --micro-batch 4 --prompt 40 --completion 10 --no-bf16
"""

from __future__ import annotations

import argparse
import copy
import gc
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from datasets import Dataset
from profiling import finish, profiled
from speed_report import Columns, device_name, report
from trl import GRPOTrainer

from envtune_gym.integrations.attention import for_changing_shapes
from envtune_gym.integrations.models import SMOLLM2, load_model
from envtune_gym.training import grpo, trainer
from envtune_gym.training.layers import make_settings
from envtune_gym.training.micro_batches import by_groups, merged, passes, tokens_of
from envtune_gym.training.presets import preset_layers
from envtune_gym.training.scoring import can_pack

Rows = dict[str, Any]

WAYS = ("trl", "plain", "shuffled", "groups", "passes")

COLUMNS: Columns = {
    "way": ("way", ""),
    "tokens a pass": ("pass_tokens", ",d"),
    "passes": ("passes", "d"),
    "seconds": ("seconds", ".3f"),
    "x trl": ("times_trl", ".1f"),
    "first batch, s more": ("first_seconds", ".2f"),
    "peak GB": ("peak_gb", ".1f"),
    "gradient norm": ("gradient_norm", ".5g"),
}


class Way(NamedTuple):
    """A way of scoring a batch.

    Attributes:
        way: One of `WAYS`.
        pass_tokens: Tokens of a pass.
    """

    way: str
    pass_tokens: int | None = None

    def __str__(self) -> str:
        """Return what a line calls it."""
        return self.way if self.pass_tokens is None else f"{self.way} of {self.pass_tokens:,}"


def chosen_ways(args: argparse.Namespace) -> list[Way]:
    """Return what the command line asks for."""
    found: list[Way] = []
    for name in args.ways:
        found += [Way(name, tokens) for tokens in (args.pass_tokens if name == "passes" else [None])]
    return found


def make_rollouts(args: argparse.Namespace, vocabulary: int, seed: int) -> Rows:
    """Return a batch of rollouts as TRL has them: prompts padded on the left, completions on the right."""
    generator = torch.Generator().manual_seed(seed)

    def lengths(number: int, middle: int, spread: float) -> torch.Tensor:
        drawn = torch.rand(number, generator=generator) * 2 - 1
        return (middle * (1 + spread * drawn)).round().long().clamp(min=2)

    rows = args.groups * args.group_size
    prompts = lengths(args.groups, args.prompt, 0.25)
    completions = lengths(rows, args.completion, 0.5)
    prompt_mask = (torch.arange(int(prompts.max())).flip(0) < prompts[:, None]).long()
    completion_mask = (torch.arange(int(completions.max())) < completions[:, None]).long()
    prompt_ids = torch.randint(100, vocabulary, prompt_mask.shape, generator=generator) * prompt_mask
    completion_ids = torch.randint(100, vocabulary, completion_mask.shape, generator=generator) * completion_mask
    signs = torch.arange(rows) % 2 * 2.0 - 1
    return {
        "prompt_ids": prompt_ids.repeat_interleave(args.group_size, 0),
        "prompt_mask": prompt_mask.repeat_interleave(args.group_size, 0),
        "completion_ids": completion_ids,
        "completion_mask": completion_mask,
        "tool_mask": completion_mask,
        "advantages": signs * (0.5 + torch.rand(rows, generator=generator)),
        "num_items_in_batch": completion_mask.sum(),
    }


def shuffled(rows: Rows, size: int, seed: int, device: Any) -> list[Rows]:
    """Return the micro-batches into which TRL cuts a batch."""
    order = torch.randperm(len(rows["advantages"]), generator=torch.Generator().manual_seed(seed))
    return [
        {name: (value[places] if value.ndim else value).to(device) for name, value in rows.items()}
        for places in order.split(size)
    ]


def dealt(micro_batches: list[Rows], way: Way) -> list[Rows]:
    """Return the micro-batches that a way scores; some may be empty."""
    if way.way not in ("groups", "passes"):
        return micro_batches
    by_group = by_groups(micro_batches)
    if way.pass_tokens is None:
        return by_group
    return merged(by_group, passes(tokens_of(by_group), way.pass_tokens))


class Loss:
    """Computes the loss of a batch and its gradient, as a run does.

    Args:
        model: The model; a copy is trained.
        tokenizer: Its tokenizer.
        config: TRL's configuration.
        way: What is scored together, and how.
        attention: Makes the context of each pass, which decides on kernels of attention.
    """

    def __init__(
        self, model: Any, tokenizer: Any, config: Any, way: Way, attention: Callable[[], Any] = nullcontext
    ) -> None:
        cls = GRPOTrainer if way.way == "trl" else trainer.EnvtuneTrainer
        self._trainer = cls(
            model=copy.deepcopy(model),
            processing_class=tokenizer,
            reward_funcs=[lambda prompts, **_: [0.0] * len(prompts)],
            rollout_func=lambda prompts, trainer: {},
            train_dataset=Dataset.from_list([{"prompt": "none"}]),
            args=config,
        )
        self._trainer.current_gradient_accumulation_steps = 1
        self.model = self._trainer.accelerator.prepare_model(self._trainer.model)
        self.model.train()
        self._way = way
        self._attention = attention

    def of_batch(self, micro_batches: list[Rows]) -> list[Rows]:
        """Compute the gradient of a batch; return the micro-batches that were scored."""
        parts = dealt(micro_batches, self._way)
        for place, rows in enumerate(parts):
            self.of_part(rows, is_last=place == len(parts) - 1)
        return parts

    def of_part(self, rows: Rows, *, is_last: bool = True) -> None:
        """Add the gradient of a micro-batch."""
        self._trainer._step = self._trainer.args.gradient_accumulation_steps - 1 if is_last else 0
        packs = False if self._way.way == "plain" else mock.DEFAULT  # the default: what it says itself
        with mock.patch.object(trainer, "can_pack", wraps=can_pack, return_value=packs), self._attention():
            loss = self._trainer.compute_loss(self.model, rows)
        self._trainer.accelerator.backward(loss)

    def gradient_norm(self) -> float:
        """Return the norm of the gradient, and clear it."""
        norm = float(torch.nn.utils.get_total_norm([p.grad for p in self.model.parameters() if p.grad is not None]))
        self.model.zero_grad()
        return norm


def measure(loss: Loss, batches: Sequence[list[Rows]]) -> dict[str, Any]:
    """Return the mean seconds of the batches after the first, how many more that took, and what else is to be known."""
    seconds: list[float] = []
    norm = 0.0
    parts: list[Rows] = []
    for micro_batches in batches:
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        finish()
        began = time.perf_counter()
        parts = loss.of_batch(micro_batches)
        finish()
        seconds.append(time.perf_counter() - began)
        norm = loss.gradient_norm()
    usual = sum(seconds[1:]) / len(seconds[1:])
    return {
        "passes": sum(len(part["advantages"]) > 0 for part in parts),
        "seconds": usual,
        "first_seconds": max(0.0, seconds[0] - usual),
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else None,
        "gradient_norm": norm,
    }


def with_ratios(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with how many times as fast as TRL's own scoring they are; None if that was not measured."""
    trl = next((row["seconds"] for row in rows if row["way"] == "trl"), None)
    return [{**row, "times_trl": None if trl is None else trl / row["seconds"]} for row in rows]


def measure_all(args: argparse.Namespace) -> int:
    """Measure the ways one after another; print and write each at once; return how many failed."""
    model, tokenizer = load_model(args.model)
    rows: list[dict[str, Any]] = []
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        names = ("groups", "group_size", "micro_batch", "bf16")
        changes = {**{name: getattr(args, name) for name in names}, "out": directory}
        config = grpo._trainer_config(make_settings([*preset_layers([args.preset]), changes]))
        batches = [
            shuffled(make_rollouts(args, model.config.vocab_size, seed), args.micro_batch, seed, config.device)
            for seed in range(args.seed, args.seed + args.repeats + 1)
        ]
        for way in chosen_ways(args):
            try:
                as_it_comes = args.cudnn or way.way == "trl"
                loss = Loss(model, tokenizer, config, way, nullcontext if as_it_comes else for_changing_shapes)
                rows = with_ratios([*rows, {**way._asdict(), **measure(loss, batches)}])
                print(said(way, rows[-1]), flush=True)
                if args.profile:
                    print(profiled(partial(loss.of_part, dealt(batches[-1], way)[-1]), args.top), flush=True)
            except Exception as error:  # out of memory, say: the next may need less
                failed += 1
                print(f"{way!s:26} failed: {type(error).__name__}", flush=True)
                traceback.print_exc(limit=-3)
            loss = None  # type: ignore[assignment]  # its memory goes before the next is made
            gc.collect()
            torch.cuda.empty_cache()
            report(args.out, "loss_speed", args, COLUMNS, rows)
    return failed


def said(way: Way, row: Mapping[str, Any]) -> str:
    """Return a row as a line."""
    ratio, peak = row["times_trl"], row["peak_gb"]
    return (
        f"{way!s:26} {row['seconds']:7.3f} s in {row['passes']:3} passes"
        + ("" if ratio is None else f", {ratio:4.1f} x trl")
        + ("" if peak is None else f", peak {peak:.1f} GB")
        + f", first batch {row['first_seconds']:.1f} s more, gradient norm {row['gradient_norm']:.5g}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=SMOLLM2, help="a model directory, or the small model")
    parser.add_argument("--preset", default="small", help="the settings of the loss")
    parser.add_argument("--groups", type=int, default=16, help="groups of rollouts in the batch")
    parser.add_argument("--group-size", type=int, default=16, help="rollouts of a group")
    parser.add_argument("--micro-batch", type=int, default=16, help="rollouts of a micro-batch")
    parser.add_argument("--prompt", type=int, default=800, help="tokens of a prompt")
    parser.add_argument("--completion", type=int, default=150, help="tokens of a completion")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="what to measure")
    tokens = [20_000, 40_000, 80_000]
    parser.add_argument("--pass-tokens", type=int, nargs="+", default=tokens, help="budgets of the way `passes`")
    parser.add_argument("--repeats", type=int, default=3, help="batches after the first")
    parser.add_argument("--cudnn", action="store_true", help="leave attention to PyTorch in all ways")
    with_gpu = torch.cuda.is_available()
    parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=with_gpu, help="default: on a GPU")
    parser.add_argument("--profile", action="store_true", help="say where the time of a pass goes")
    parser.add_argument("--top", type=int, default=12, help="lines of each table of a profile")
    parser.add_argument("--seed", type=int, default=0, help="seed of the rollouts")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the table and the figures there")
    args = parser.parse_args(arguments)
    print(
        f"{device_name()}, torch {torch.__version__}: {args.groups} groups of {args.group_size} rollouts, prompts of "
        f"about {args.prompt} tokens, completions of {args.completion}",
        flush=True,
    )
    return 1 if measure_all(args) else 0


if __name__ == "__main__":
    sys.exit(main())
