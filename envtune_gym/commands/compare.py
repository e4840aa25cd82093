"""`envtune compare`: two runs over the same tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, print_json, print_renderables
from envtune_gym.commands.score import NamedRun, load_runs
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.numbers.comparison import compare

__all__ = ["EXAMPLES", "compare_command"]

EXAMPLES = examples(
    "envtune compare runs/before.jsonl runs/after.jsonl",
    "envtune compare runs/before.jsonl result/gpt-4o-2024-11-20-FC --json",
)


def compare_command(
    first: Annotated[Path, typer.Argument(metavar="A", help="A run's file, or one model's official result files.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The run to compare it with, likewise.")],
    as_json: Json = False,
) -> None:
    """Compare two runs on the episodes that both have: what flipped, by how much B is better, and McNemar's test.

    Pairs are episodes of the same task and sample. Settings in which the runs differ are named.
    """
    old, new = _one(first), _one(second)
    names = (old.name, new.name) if old.name != new.name else (str(first), str(second))
    comparison = compare(old.episodes, new.episodes, names)
    if as_json:
        print_json(comparison.to_dict())
    else:
        print_renderables(comparison.tables())


def _one(path: Path) -> NamedRun:
    runs = load_runs(path)
    if len(runs) > 1:
        raise ConfigurationError(f"{path} holds {len(runs)} models; name the folder of one")
    return runs[0]
