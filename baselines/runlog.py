"""The log of a training run: a table on the screen, JSON lines on the disk.

A line of `rollouts.jsonl` is an episode as `envtune replay --out` writes one, with what training adds to it: it can be
played again, and `envtune hints propose` and `envtune hints graph` read it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from transformers import TrainerCallback

from envtune_gym.integrations.rollout import RolloutRecord

COLUMNS = {
    "step": "step",
    "reward": "reward",
    "spread": "reward_std",
    "flat": "frac_reward_zero_std",
    "solved": "rollout/success",
    "turns": "rollout/turns",
    "errors": "rollout/errors",
    "hints": "rollout/hints",
    "cut": "cut",
    "broken": "rollout/broken",
    "clip": "clip_ratio/region_mean",
    "grad": "grad_norm",
}
"""Columns of the table and the logged values that they show: `flat` is the share of groups without any spread of
rewards, `cut` that of rollouts that a limit ended, `clip` that of tokens at which the clip range acted."""


class RunLog(TrainerCallback):
    """Shows each update as a row, writes updates and rollouts, and says at the end what to look at.

    Args:
        out: The directory to write to.
        arguments: The run's arguments, written beside the logs.
        resumed: The update that the run goes on from; what was logged after it is dropped. None: from the start.
    """

    def __init__(self, out: Path, arguments: dict[str, Any], resumed: int | None = None) -> None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "arguments.json").write_text(json.dumps(arguments, indent=2))
        self.console = Console()
        self.updates: list[dict[str, Any]] = []
        self.rollouts: list[RolloutRecord] = []
        self._step = resumed or 0
        self._files = {name: out / f"{name}.jsonl" for name in ("updates", "rollouts")}
        for file in self._files.values():
            _keep_until(file, self._step)

    def add_rollouts(self, records: list[RolloutRecord]) -> None:
        """Take a batch of rollouts."""
        self.rollouts += records
        self._write("rollouts", [{"step": self._step + 1, **asdict(record)} for record in records])
        for reason, count in Counter(record.broken for record in records if record.broken).items():
            self.console.print(f"[yellow]{count} of {len(records)} rollouts broke and count as 0:[/] {reason}")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Show and write an update."""
        if "grad_norm" not in logs:
            return  # the summary at the end
        update = {"step": state.global_step, **logs}
        if "reward" in logs:  # later updates from one batch have no rollouts of their own
            update["cut"] = sum(value for name, value in logs.items() if name.startswith("rollout/truncated_by_"))
        self.updates.append(update)
        self._write("updates", [update])
        self.console.print(_row(update, with_head=len(self.updates) == 1))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Remember where the run is."""
        self._step = state.global_step

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Say what deserves a second look."""
        for warning in self.warnings():
            self.console.print(f"[yellow]note:[/] {warning}")

    def warnings(self) -> list[str]:
        """Return what in the run's figures deserves a second look."""
        found = []
        flat = self._mean("frac_reward_zero_std")
        if flat > 0.5:
            found.append(f"{flat:.0%} of the groups had no spread of rewards, and so taught nothing")
        if not self._mean("clip_ratio/region_mean"):
            found.append("the clip range never acted: each batch made a single update, or updates too small to matter")
        cut = self._mean("cut")
        if cut > 0.25:
            found.append(f"{cut:.0%} of the rollouts were cut off by a limit on tokens or steps")
        return found

    def _mean(self, name: str) -> float:
        """Return the mean of a figure over the updates that have it."""
        values = [update[name] for update in self.updates if name in update]
        return sum(values) / len(values) if values else 0.0

    def _write(self, name: str, entries: list[dict[str, Any]]) -> None:
        with self._files[name].open("a") as stream:
            stream.writelines(json.dumps(entry) + "\n" for entry in entries)


def _row(update: dict[str, Any], with_head: bool) -> Table:
    """Return an update as a table of one row; rows printed one after another line up."""
    table = Table(box=None, show_header=with_head, padding=(0, 1, 0, 0))
    for title in COLUMNS:
        table.add_column(title, justify="right", width=max(len(title), 5))
    table.add_row(*(_text(update.get(name)) for name in COLUMNS.values()))
    return table


def _text(value: Any) -> str:
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _keep_until(file: Path, step: int) -> None:
    """Drop the lines of a log that come after an update."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    file.write_text("".join(line for line in lines if json.loads(line)["step"] <= step))
