"""The log of a training run: a table on the screen, JSON lines on the disk.

A line of `rollouts.jsonl` is an episode as `envtune replay --out` writes one, with what training adds to it: it can be
played again, and `envtune hints propose` and `envtune hints graph` read it.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from transformers import TrainerCallback

from envtune_gym.evaluation.run_logs import EVALUATIONS_FILE
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, write_episodes
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.rollout import RolloutRecord
from envtune_gym.integrations.statistics import WITHOUT_SPREAD, rollout_statistics
from envtune_gym.training.trackers import Trackers

__all__ = ["SETTINGS_FILE", "RunLog"]

SETTINGS_FILE = "settings.yaml"

COLUMNS = {
    "step": "step",
    "reward": "reward",
    "spread": "reward_std",
    "flat": "frac_reward_zero_std",
    "solved": "rollout/success",
    "errors": "rollout/errors",
    "hints": "rollout/hints",
    "cut": "cut",
    "clip": "clip_ratio/region_mean",
    "grad": "grad_norm",
    "gen s": "seconds/generation",
    "loss s": "seconds/loss",
}
"""Columns of the table and the logged values that they show: `flat` is the share of groups without any spread of
rewards, `cut` that of rollouts that a limit ended, `clip` that of tokens at which the clip range acted, `gen s` and
`loss s` the seconds that sampling and the update took. They fit into 80 characters."""


class RunLog(TrainerCallback):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """Shows each update as a row, writes updates, rollouts and validations, and says at the end what to look at.

    Args:
        out: The directory to write to.
        settings: The run's settings as YAML, written beside the logs.
        resumed: The update that the run goes on from; what was logged after it is dropped. None: from the start.
        guard: What skips updates; its count is written.
        trackers: Where else to log to.
        processes: Number of processes that train together; written with each update.
        quiet: Take everything in, but show and write nothing, as the log of another process does.

    Attributes:
        updates: What has been logged of each update, since the run began or went on.
        validations: Likewise of each validation.
        evaluations: The episodes played after training.
    """

    def __init__(
        self,
        out: Path,
        settings: str = "",
        resumed: int | None = None,
        guard: FiniteGradients | None = None,
        trackers: Trackers | None = None,
        *,
        processes: int = 1,
        quiet: bool = False,
    ) -> None:
        self.console = Console(quiet=quiet)
        self.updates: list[dict[str, Any]] = []
        self.validations: list[dict[str, Any]] = []
        self.evaluations: list[EvaluatedEpisode] = []
        self._guard = guard or FiniteGradients()
        self._trackers = trackers
        self._processes = processes
        self._step = resumed or 0
        self._stage = ""
        self._began = self._seconds = 0.0
        self._files: dict[str, Path] = {}
        if quiet:
            return
        out.mkdir(parents=True, exist_ok=True)
        (out / SETTINGS_FILE).write_text(settings, encoding="utf-8")
        self._files = {name: out / f"{name}.jsonl" for name in ("updates", "rollouts", "validations")}
        for file in self._files.values():
            _keep_until(file, self._step)
        self._files["evaluations"] = out / EVALUATIONS_FILE

    def note(self, text: str) -> None:
        """Show a line."""
        self.console.print(text, markup=False, highlight=False)

    def add_rollouts(self, records: Sequence[RolloutRecord]) -> None:
        """Take a batch of rollouts; they stay on the disk alone, as a run has hundreds of thousands."""
        self._stage = records[0].stage
        self._write("rollouts", [{"step": self._step + 1, **asdict(record)} for record in records])
        if self._trackers is not None:
            self._trackers.add_rollouts(self._step + 1, records)
        for reason, count in Counter(record.broken for record in records if record.broken).items():
            self.console.print(f"[yellow]{count} of {len(records)} rollouts broke and count as 0:[/] {reason}")

    def add_validation(self, step: int, stage: str, records: Sequence[RolloutRecord]) -> None:
        """Take the episodes of a validation."""
        figures = rollout_statistics([asdict(record) for record in records])
        entry = {"step": step, "stage": stage, "accuracy": figures["rollout/success"], **figures}
        self.validations.append(entry)
        self._write("validations", [entry])
        if self._trackers is not None:
            self._trackers.add_validation({"accuracy": entry["accuracy"], **figures})
        self.note(f"update {step}: {entry['accuracy']:.1%} of {len(records)} validation tasks solved, hints off")

    def add_evaluations(self, episodes: Sequence[EvaluatedEpisode]) -> None:
        """Take what the trained model was tested on; what comes first takes the place of an earlier test's."""
        has_some = bool(self.evaluations)
        self.evaluations += episodes
        if "evaluations" in self._files:
            write_episodes(episodes, self._files["evaluations"], append=has_some)
        passes: dict[tuple[str, str], list[EvaluatedEpisode]] = {}
        for episode in episodes:
            passes.setdefault((episode.run.options["evaluation"], episode.run.feedback), []).append(episode)
        for (name, feedback), played in passes.items():
            solved = sum(episode.success for episode in played) / len(played)
            progress = sum(episode.progress for episode in played) / len(played)
            self.note(f"{name}, feedback {feedback}: {solved:.1%} of {len(played)} solved, progress {progress:.1%}")
            if self._trackers is not None:
                self._trackers.add_evaluation(name, feedback, rollout_statistics([e.model_dump() for e in played]))

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Remember where the run is, and how long the update took."""
        self._step = state.global_step
        self._seconds = time.monotonic() - self._began

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Show and write an update, and add to it what callbacks after this one may want to log too."""
        if "grad_norm" not in logs:
            return  # the summary at the end
        if "reward" in logs:  # later updates from one batch have no rollouts of their own
            logs["frac_reward_zero_std"] = logs.pop(WITHOUT_SPREAD)  # in place of TRL's own, which misses many
            logs["cut"] = sum(value for name, value in logs.items() if name.startswith("rollout/truncated_by_"))
        rollouts = sum(logs.get(f"seconds/{phase}", 0.0) for phase in ("generation", "environment"))
        logs["seconds/loss"] = self._seconds - rollouts
        logs["skipped_updates"] = self._guard.skipped
        update = {"step": state.global_step, "stage": self._stage, "processes": self._processes, **logs}
        self.updates.append(update)
        self._write("updates", [update])
        self.console.print(_row(update, with_head=len(self.updates) == 1))

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
        if self.updates and not self._mean("clip_ratio/region_mean"):
            found.append("the clip range never acted: each batch made a single update, or updates too small to matter")
        cut = self._mean("cut")
        if cut > 0.25:
            found.append(f"{cut:.0%} of the rollouts were cut off by a limit on tokens or steps")
        if self._guard.skipped:
            found.append(f"{self._guard.skipped} updates were skipped since their gradient was not finite")
        return found

    def _mean(self, name: str) -> float:
        """Return the mean of a figure over the updates that have it."""
        values = [update[name] for update in self.updates if update.get(name) is not None]
        return sum(values) / len(values) if values else 0.0

    def _write(self, name: str, entries: Sequence[Mapping[str, Any]]) -> None:
        if name not in self._files:
            return
        with self._files[name].open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(_finite(entry)) + "\n" for entry in entries)


def _finite(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with null for what JSON has no numbers for."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in entry.items()
    }


def _row(update: Mapping[str, Any], with_head: bool) -> Table:
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
    """Drop the lines of a log that come after an update, and a last line that was cut off."""
    kept = []
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []:
        try:
            entry = json.loads(line)
        except ValueError:
            break
        if entry["step"] <= step:
            kept.append(line)
    file.write_text("".join(kept), encoding="utf-8")
