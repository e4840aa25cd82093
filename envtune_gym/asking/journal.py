"""What a run has finished so far, on the disk at once: a run that was killed goes on from there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from envtune_gym.errors import DataError

__all__ = ["JournalFile"]

R = TypeVar("R", bound=BaseModel)


class JournalFile(Generic[R]):
    """A file to which records are appended; each reaches the disk before the run goes on.

    Args:
        path: The file; its folder is made if it is missing.
        kind: The kind of its records.
        advice: What a broken line's message says to do, such as "remove the line to have its cause asked again".

    Attributes:
        path: The file.
        recovered: The records that an earlier run has left.

    Raises:
        DataError: If the file cannot be read or written, or is broken. A last line that a kill cut off is not: it is
            removed.
    """

    def __init__(self, path: Path, kind: type[R], advice: str) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.recovered: list[R] = _recover(path, kind, advice)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write {error.filename or path}: {error.strerror or error}") from error

    def add(self, record: R) -> None:
        """Append a record."""
        self._file.write(record.model_dump_json() + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _recover(path: Path, kind: type[R], advice: str) -> list[R]:
    """Return what an earlier run has left, and cut off a last line that is not whole."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    records = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            records.append(kind.model_validate_json(line))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, fault["loc"]))
            raise DataError(f"{path}, line {number}: {field}: {fault['msg']}; {advice}") from None
    return records
