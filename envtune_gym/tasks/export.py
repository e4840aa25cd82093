"""Tasks in the form of the official data files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from envtune_gym.errors import DataError
from envtune_gym.tasks.task import Task

__all__ = ["save_bfcl"]


def save_bfcl(tasks: Iterable[Task], path: str | os.PathLike[str]) -> int:
    """Write official entries to a file, and their ground truths to `possible_answer/` beside it; return how many.

    Raises:
        DataError: If a file cannot be written.
    """
    entries: list[str] = []
    answers: list[str] = []
    for task in tasks:
        entries.append(json.dumps(task.to_bfcl()) + "\n")
        answers.append(json.dumps({"id": task.id, "ground_truth": task.ground_truth}) + "\n")
    target = Path(path).expanduser()
    answer_file = target.parent / "possible_answer" / target.name
    try:
        answer_file.parent.mkdir(exist_ok=True)
        answer_file.write_text("".join(answers), encoding="utf-8")
        target.write_text("".join(entries), encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write the task file {path}: {error.strerror or error}") from error
    return len(entries)
