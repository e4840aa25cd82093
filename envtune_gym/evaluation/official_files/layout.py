"""Where official result files lie and what they are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.tasks import CATEGORIES

__all__ = ["find_files", "model_of", "result_file", "task_number"]

_GROUP = "multi_turn"
_FILE = re.compile(r"BFCL_(v\d+)_multi_turn_(\w+)_result\.json", re.ASCII)
_VERSION = "v4"
_ID = re.compile(r"multi_turn_(\w+?)_(\d{1,9})", re.ASCII)


def result_file(folder: Path, model: str, category: str) -> Path:
    """Return the file of a model and a category; slashes in a model's name become underscores, as officially.

    Raises:
        ConfigurationError: If the name of the model cannot be that of a folder.
    """
    name = model.replace("/", "_")
    if not name or name.startswith(".") or not name.isprintable() or "\\" in name:
        raise ConfigurationError(f"{model!r} is no name of a model; name one that `bfcl models` lists")
    return folder / name / _GROUP / f"BFCL_{_VERSION}_multi_turn_{category}_result.json"


def find_files(path: Path) -> list[Path]:
    """Return the result files of the multi-turn categories at a path: itself, or those in a folder, in order.

    Raises:
        DataError: If there is none, or one of another version of the benchmark.
    """
    candidates = sorted(path.rglob("BFCL_*_multi_turn_*_result.json")) if path.is_dir() else [path]
    found = [file for file in candidates if _is_result(file)]
    if not found:
        names = " or ".join(f"BFCL_{_VERSION}_multi_turn_{name}_result.json" for name in CATEGORIES[:2])
        raise DataError(f"{path} has no official result file; one is called {names}, say")
    return found


def model_of(file: Path) -> str:
    """Return the name of the model that a result file is about: that of its folder."""
    folder = file.resolve().parent
    return folder.parent.name if folder.name == _GROUP else folder.name


def task_number(task_id: str) -> tuple[int, int]:
    """Return what official files are sorted by: the place of the category, and the number."""
    match = _ID.fullmatch(task_id)
    known: Sequence[str] = CATEGORIES
    if match is None or match[1] not in known:
        return len(known), 0
    return known.index(match[1]), int(match[2])


def _is_result(file: Path) -> bool:
    match = _FILE.fullmatch(file.name)
    if match is None or match[2] not in CATEGORIES:
        return False
    if match[1] != _VERSION:
        raise DataError(
            f"{file} is of version {match[1][1:]} of the benchmark, whose tasks are others; {_VERSION} is read"
        )
    return True
