r"""What `make demo` runs: the official tasks replayed, a model that learns, and the bundled model for two updates.

1. The ground truth of every official task goes through the environments, which must call each of them solved.
2. A model learns a family of generated tasks (`tiny.py` says which) with the GRPO of `envtune train`: without a GPU a
   transformer made on the spot, with one the bundled SmolLM2-135M. Success is measured on scenarios that it never met,
   without hints, by the benchmark's verdict.
3. Without a GPU, two updates of SmolLM2-135M on official tasks show the way that a real run goes, hints included.

Examples:
  All of it:
    python baselines/demo.py

  The second part alone, with another seed:
    python baselines/demo.py --learning-only --seed 2
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from the disk

import shutil
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import gymnasium as gym
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sft import Args
from tiny import DOMAIN, TOOLS, family, make_tiny, warm_up
from transformers import set_seed

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import DataError, EnvtuneError
from envtune_gym.evaluation.replay import ReplayReport, replay
from envtune_gym.integrations.engines import engine_maker
from envtune_gym.integrations.models import SMOLLM2, load_model
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.training.grpo import train
from envtune_gym.training.layers import file_layers, make_settings
from envtune_gym.training.log import RunLog
from envtune_gym.training.presets import preset_layers
from envtune_gym.training.settings import Settings
from envtune_gym.training.trainer import last_checkpoint

HERE = Path(__file__).parent
OUT = Path("runs/demo")
WARM = str(OUT / "warm")
TINY_START = Args(out=WARM, steps=95, batch=8, micro_batch=8, learning_rate=3e-3, mistakes=0.0)
"""How the tiny model is warmed up: until it solves some tasks, but not most."""
SMALL_START = Args(out=WARM, steps=10, mistakes=0.0, bf16=True)
"""Likewise the bundled model, on a GPU."""
FIRST = 4_000
"""Tasks of a split among which those of the family are looked for; it is about a fifth."""
HELD_OUT = 192
"""Tasks of the test split by which success is measured, before and after."""

T = TypeVar("T")
Point = tuple[int, float]
"""An update, and the share of tasks that the model solves after it."""


def replay_all(console: Console) -> ReplayReport:
    """Play the ground truth of every official task; show the progress and a table."""
    tasks = load_tasks("bfcl")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("replaying ground truths", total=len(tasks))
        report = replay(tasks, on_episode=lambda _: progress.advance(bar))
    table = Table("domain")
    for title in ("tasks", "calls", "solved", "progress"):
        table.add_column(title, justify="right")
    for group in (*report.summary.domains, report.summary.total):
        shares = f"{group.accuracy.value:.1%}", f"{group.progress.value:.1%}"
        table.add_row(group.name, f"{group.tasks:,}", f"{group.calls:,}", *shares)
    console.print(table)
    return report


def learn(console: Console, seed: int) -> None:
    """Warm a model up, train it, and show what became of it."""
    on_gpu = torch.cuda.is_available()
    settings = make_settings([*file_layers(HERE / f"demo_{'gpu' if on_gpu else 'cpu'}.yaml"), {"seed": seed}])
    tasks = family("train", FIRST)
    validation = held_out(tasks, "val", settings.validation.limit)
    test = held_out(tasks, "test", HELD_OUT)
    console.print(f"{len(tasks)} training tasks of {DOMAIN}: one request each, for {len(TOOLS)} of its tools")
    start_model(console, tasks, seed, on_gpu)
    before, first = success(WARM, test, settings), success(WARM, validation, settings)
    console.print(f"the warm start solves {before:.1%} of {len(test)} test tasks; now reinforcement")
    log = train(settings, tasks, validation)
    curve = [(0, first), *((entry["step"], entry["accuracy"]) for entry in log.validations)]
    after = success(str(last_checkpoint(Path(settings.out))), test, settings)
    show(console, curve)
    console.print(f"test tasks solved, of {len(test)}: warm start {before:.1%}, after GRPO {after:.1%} (hints off)")
    draw(curve, before, after, OUT / "learning.png")


def held_out(tasks: TaskSet, split: str, number: int) -> TaskSet:
    """Return tasks of other scenarios, none of which asks in the same words as one trained on."""
    seen = {task.turns[0] for task in tasks}
    return family(split, FIRST).filter(lambda task: task.turns[0] not in seen)[:number]


def start_model(console: Console, tasks: TaskSet, seed: int, on_gpu: bool) -> None:
    """Make the warm start."""
    if not on_gpu:
        TINY_START.seed = seed
        make_tiny(tasks, TINY_START, console)
        return
    SMALL_START.seed = seed
    set_seed(seed)
    warm_up(*load_model(SMOLLM2), tasks, SMALL_START, console)


def success(directory: str, tasks: TaskSet, settings: Settings) -> float:
    """Return the share of tasks that a model solves: hints off, replies sampled as in training."""
    model, tokenizer = load_model(directory)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    template = ChatTemplate(tokenizer)
    limits = RolloutConfig(
        max_prompt_tokens=settings.max_prompt_tokens,
        max_completion_tokens=settings.max_completion_tokens,
        max_new_tokens=settings.max_new_tokens,
    )
    rollouts = [
        Rollout(
            gym.make(MULTI_DOMAIN_ID, tasks=tasks, tool_docs=settings.tool_docs),
            template,
            limits,
            EpisodeRequest(settings.seed, task.id),
        )
        for task in tasks
    ]
    set_seed(settings.seed)
    dtype = torch.bfloat16 if settings.bf16 else None
    make_engine = engine_maker(settings.engine, settings.rollout_batch, dtype, settings.server())
    play(rollouts, make_engine(model, {template.end_id}, settings.temperature))
    return sum(rollout.record.success for rollout in rollouts) / len(rollouts)


def show(console: Console, curve: Sequence[Point]) -> None:
    """Show a curve as bars, one a validation."""
    console.print("validation tasks solved, hints off:")
    for update, share in curve:
        console.print(f"  update {update:3d} {'█' * round(share * 50):50s} {share:.0%}", highlight=False)


def draw(curve: Sequence[Point], before: float, after: float, file: Path) -> None:
    """Draw a curve, and success on the test tasks before and after it."""
    import matplotlib as mpl

    mpl.use("Agg")  # no screen is needed
    from matplotlib import pyplot as plt

    updates, shares = zip(*curve, strict=True)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(updates, shares, marker="o", label="validation")
    axes.plot([updates[0], updates[-1]], [before, after], "s", label="test")
    axes.set(xlabel="GRPO updates", ylabel="tasks solved, hints off", ylim=(0, 1), title="make demo")
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def real_path(console: Console) -> RunLog:
    """Take the bundled model through two updates on official tasks, with curriculum, hints and progress reward."""
    settings = make_settings([*preset_layers(["demo"]), {"out": str(OUT / "real"), "batches": 2}])
    tasks = load_tasks("bfcl", categories=("base",), split="train", domains=("GorillaFileSystem", "TradingBot"))
    tasks = tasks.filter(lambda task: task.num_turns == 2 and len(task.domains) == 1)
    console.print(
        f"{settings.model} on {len(tasks)} short official tasks: {settings.batches} updates of {settings.groups} task "
        f"x {settings.group_size} rollouts; a model of this size learns nothing in two"
    )
    return train(settings, tasks)


def if_installed(console: Console, part: Callable[[Console], T]) -> T | None:
    """Run a part of the demo, or say which data or model it lacks and what installs it."""
    try:
        return part(console)
    except DataError as error:
        console.print(f"[yellow]left out:[/] {error}")
        return None


def main() -> None:
    """Run the demo; exit with 1 if a ground truth was not called solved."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--learning-only", action="store_true", help="the second part alone")
    parser.add_argument("--seed", type=int, default=1, help="seed of the second part")
    args = parser.parse_args()
    console, start = Console(), time.monotonic()
    failed = 0
    if OUT.exists():
        console.print(f"replacing the results of an earlier demo in {OUT}")
        shutil.rmtree(OUT)
    try:
        if not args.learning_only:
            console.rule("1. The official tasks through the environments")
            report = if_installed(console, replay_all)
            failed = len(report.failed) if report else 0
        console.rule("2. Learning")
        learn(console, args.seed)
        if not args.learning_only and not torch.cuda.is_available():
            console.rule("3. The bundled model, end to end")
            if_installed(console, real_path)
    except EnvtuneError as error:
        sys.exit(f"error: {error}")
    console.rule(f"Done in {(time.monotonic() - start) / 60:.1f} minutes")
    console.print(f"models, logs, and the curve as learning.png: {OUT.resolve()}")
    if failed:
        sys.exit(f"error: {failed} ground truths were not called solved")


if __name__ == "__main__":
    main()
