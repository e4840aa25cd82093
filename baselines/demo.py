"""What `make demo` runs: the official tasks replayed through the eight domains, then a little training on the CPU.

The replay sends every ground truth through the environments, which must call each of them solved. The training takes
SmolLM2-135M through a few GRPO updates on real training tasks, with curriculum, hints and progress reward on. It shows
that the whole path works on any machine; a model of this size does not get good at the tasks in three updates.
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the model comes from the disk

import shutil
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import EnvtuneError
from envtune_gym.evaluation.replay import ReplayReport, replay
from envtune_gym.training.grpo import train
from envtune_gym.training.layers import make_settings
from envtune_gym.training.log import RunLog
from envtune_gym.training.presets import preset_layers

SETTINGS = make_settings([*preset_layers(["demo"]), {"out": "runs/demo"}])
"""Small enough for two cores: three updates of six rollouts, in the first two of the paper's stages."""

DOMAINS = ("GorillaFileSystem", "TradingBot")
"""Domains whose tools take few tokens to describe."""


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
    for summary in (*report.domains, report.total):
        shares = f"{summary.success:.1%}", f"{summary.progress:.1%}"
        table.add_row(summary.name, f"{summary.tasks:,}", f"{summary.calls:,}", *shares)
    console.print(table)
    return report


def train_a_little(console: Console) -> RunLog:
    """Train the small model for a few updates; show where the results are."""
    if Path(SETTINGS.out).exists():
        console.print(f"replacing the results of an earlier demo in {SETTINGS.out}")
        shutil.rmtree(SETTINGS.out)
    tasks = training_tasks()
    console.print(
        f"training {SETTINGS.model} on {len(tasks)} short tasks of {' and '.join(DOMAINS)} (train split): "
        f"{SETTINGS.batches} updates of {SETTINGS.groups} task x {SETTINGS.group_size} rollouts; minutes on a CPU\n"
        "flat: share of groups whose rewards are all equal, which teach nothing; cut: share of rollouts that a limit "
        "ended; clip: share of tokens at the clip range"
    )
    return train(SETTINGS, tasks)


def training_tasks() -> TaskSet:
    """Return the training tasks of two turns in one of the demo's domains."""
    tasks = load_tasks("bfcl", categories=("base",), split="train", domains=DOMAINS)
    return tasks.filter(lambda task: task.num_turns == 2 and len(task.domains) == 1)


def main() -> None:
    """Run the demo; exit with 1 if a ground truth was not called solved."""
    ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter).parse_args()
    console, start = Console(), time.monotonic()
    try:
        console.rule("1. The official tasks through the environments")
        report = replay_all(console)
        console.rule("2. Training, end to end")
        log = train_a_little(console)
    except EnvtuneError as error:
        sys.exit(f"error: {error}")
    hints = sum(record.hints for record in log.rollouts)
    rewards = ", ".join(f"{update['reward']:.3f}" for update in log.updates)
    console.rule(f"Done in {(time.monotonic() - start) / 60:.1f} minutes")
    console.print(f"mean reward by update: {rewards} ({hints} hints given in {len(log.rollouts)} rollouts)")
    console.print(f"checkpoint and logs: {Path(SETTINGS.out).resolve()}")
    console.print(
        "This shows that every part works together, not that the model learns: the reward changes with the stage, and "
        "learning to a useful level takes hundreds of updates on a GPU (envtune train --help)."
    )
    if report.failed:
        sys.exit(f"error: {len(report.failed)} ground truths were not called solved")


if __name__ == "__main__":
    main()
