"""A cell of an experiment: a warm start, or a method that goes on from it, and what its model can do in the end."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
from experiment_plan import Experiment
from rich.console import Console
from sft import Args as SftArgs
from sft import fine_tune, progress_bars
from sft_trajectories import demonstrations, tokenised, training_tasks
from transformers import set_seed

from envtune_gym.evaluation.run_logs import EVALUATIONS_FILE, read_lines
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, write_episodes
from envtune_gym.integrations.models import load_model
from envtune_gym.training.evaluation import evaluate, evaluation_engine
from envtune_gym.training.grpo import train
from envtune_gym.training.processes import Processes
from envtune_gym.training.settings import Settings
from envtune_gym.training.trainer import last_checkpoint

CELL_FILE = "cell.json"
"""Written last: the sign that a cell is done."""
_PHASES = ("generation", "environment", "loss")
MODEL = "model"
"""The directory of a supervised model, in that of its cell."""


def warm_start(experiment: Experiment, out: Path, directory: Path, seed: int) -> dict[str, Any]:
    """Train the model that all methods of a seed begin with, and test it."""
    args = experiment.sft_args(experiment.warm_start, out, directory, seed)
    settings = experiment.train_settings(experiment.baseline, out, directory, str(directory / MODEL), seed)
    return {"method": "warm start", **_supervise(args, settings, directory)}


def play_cell(experiment: Experiment, method: str, out: Path, warm: Path, directory: Path, seed: int) -> dict[str, Any]:
    """Train with a method from the warm start on, and test the model."""
    start = str(warm / MODEL)
    settings = experiment.train_settings(method, out, directory, start, seed)
    supervised = experiment.method(method).supervised
    if supervised is None:
        return {"method": method, **_reinforce(settings)}
    args = experiment.sft_args({**supervised, "model": start}, out, directory, seed)
    return {"method": method, **_supervise(args, settings, directory)}


def _reinforce(settings: Settings) -> dict[str, Any]:
    began = time.monotonic()
    log = train(settings, resume=last_checkpoint(Path(settings.out)) is not None)
    whole = time.monotonic() - began
    updates = [entry for _, entry in read_lines(Path(settings.out, "updates.jsonl"))]  # those before a resumption too
    seconds, tokens = (
        {name: sum(update.get(f"{unit}/{name}", 0.0) for update in updates) for name in names}
        for unit, names in (("seconds", _PHASES), ("tokens", ("prompt", "generated", "environment")))
    )
    return {
        "training_seconds": round(sum(seconds.values()), 1),
        "whole_seconds": round(whole, 1),
        "phases": {name: round(value, 1) for name, value in seconds.items()},
        "updates": len(updates),
        "rollouts": settings.batches * settings.groups * settings.group_size,
        "tokens": {name: round(value) for name, value in tokens.items()},
        **_scores(log.evaluations),
    }


def _supervise(args: SftArgs, settings: Settings, directory: Path) -> dict[str, Any]:
    set_seed(args.seed)
    model, tokenizer = load_model(args.model)
    with progress_bars(Console(stderr=True)) as bars:
        rows = tokenised(demonstrations(training_tasks(args), args), tokenizer, args, bars)
        began = time.monotonic()
        summary = fine_tune(model, tokenizer, rows, args, bars)
        seconds = time.monotonic() - began
    model.save_pretrained(directory / MODEL)
    tokenizer.save_pretrained(directory / MODEL)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    episodes = evaluate(model, tokenizer, settings, evaluation_engine(settings), Processes(), f"local:{directory}")
    write_episodes(episodes, directory / EVALUATIONS_FILE)
    return {
        "training_seconds": round(seconds, 1),
        "updates": args.steps,
        "trajectories": len(rows.rows),
        "tokens": {"read": sum(len(row["input_ids"]) for row in rows.rows)},
        "losses": [round(loss, 4) for loss in (summary["losses"][0], summary["losses"][-1])],
        **_scores(episodes),
    }


def _scores(episodes: list[EvaluatedEpisode]) -> dict[str, Any]:
    """Return success and progress by evaluation and feedback, and print them as a line."""
    passes: dict[str, list[EvaluatedEpisode]] = {}
    for episode in episodes:
        passes.setdefault(f"{episode.run.options['evaluation']}, feedback {episode.run.feedback}", []).append(episode)
    scores = {
        name: {
            "success": round(sum(episode.success for episode in played) / len(played), 4),
            "progress": round(sum(episode.progress for episode in played) / len(played), 4),
        }
        for name, played in passes.items()
    }
    print(json.dumps(scores))
    return {"scores": scores}
