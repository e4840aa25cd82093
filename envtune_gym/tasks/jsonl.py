"""Task files: one `Task` a line, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from envtune_gym.errors import DataError, TaskError
from envtune_gym.tasks.lines import write_lines
from envtune_gym.tasks.source import ListSource
from envtune_gym.tasks.task import Task
from envtune_gym.world import World

__all__ = ["JsonlSource", "jsonl_source", "save_jsonl"]


class JsonlSource(ListSource):
    """The tasks of a file; checked whole when opened, so that a broken line does not stop a run half-way."""

    def __init__(self, path: Path, content: bytes) -> None:
        super().__init__(_read(path, content), name=str(path), version=_digest(content))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the instruction to open the file again; it must not have changed until then."""
        return _reopen, (self.name, self.version)


def jsonl_source(path: str | os.PathLike[str]) -> JsonlSource:
    """Open a task file.

    Raises:
        DataError: If it cannot be read, is empty, or a line is not a task of an id of its own; the message names
            the file, the line and the field.
    """
    absolute = Path(path).expanduser().absolute()
    try:
        content = absolute.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the task file {path}: {error.strerror or error}") from error
    return _open(absolute, content)


def save_jsonl(tasks: Iterable[Task], path: str | os.PathLike[str]) -> int:
    """Write tasks to a file, whole or not at all, and return how many.

    Raises:
        DataError: If the file cannot be written.
    """
    return write_lines(path, (task.model_dump_json(exclude_defaults=True) for task in tasks), "task file")


@lru_cache(maxsize=8)
def _open(path: Path, content: bytes) -> JsonlSource:
    return JsonlSource(path, content)


def _reopen(name: str, version: str) -> JsonlSource:
    source = jsonl_source(name)
    if source.version != version:
        raise DataError(f"the task file {name} has changed since it was opened; load it again")
    return source


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read(path: Path, content: bytes) -> list[Task]:
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        task = _parse_line(f"{path}, line {number}", line)
        if task.id in lines:
            raise DataError(f"{path}, line {number}: id: {task.id!r} stands in line {lines[task.id]} already")
        lines[task.id] = number
        tasks.append(task)
    if not tasks:
        raise DataError(f"the task file {path} is empty; each line must be a task as JSON (see save_jsonl)")
    return tasks


def _parse_line(where: str, line: bytes) -> Task:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise DataError(f"{where}: not JSON: {error}") from None
    try:
        task = Task.model_validate(data)
        World(task.domains, task.initial_config)  # a configuration that no world can be built from
    except TaskError as error:
        raise DataError(f"{where}: {error}") from None
    return task
