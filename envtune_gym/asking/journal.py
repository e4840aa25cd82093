"""What a run has finished so far, on the disk at once: a run that was killed goes on from there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from envtune_gym.errors import DataError

__all__ = ["JournalFile"]

R = TypeVar("R", bound=BaseModel)


class JournalFile(Generic[R]):
    """A file to which records are appended; each is out of the process's hands before the run goes on.

    Args:
        path: The file; its folder is made if it is missing.
        kind: The kind of its records.
        advice: What a broken line's message says to do, such as "remove the line to have its cause asked again".
        sync_every: Seconds in which a failure of the machine itself may cost records; 0 writes each through to the
            disk, which is slow where there are many. A process that is killed loses none either way.

    Attributes:
        path: The file.
        recovered: The records that an earlier run has left.

    Raises:
        DataError: If the file cannot be read or written, or is broken; it is then left as it is. A last line that a
            kill cut off is no fault: it is removed.
    """

    def __init__(self, path: Path, kind: type[R], advice: str, *, sync_every: float = 0.0) -> None:
        self.path = path
        self._sync_every = sync_every
        self._synced = 0.0
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
        now = time.monotonic()
        if now - self._synced >= self._sync_every:
            os.fsync(self._file.fileno())
            self._synced = now

    def close(self) -> None:
        """Close the file."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()


def _recover(path: Path, kind: type[R], advice: str) -> list[R]:
    """Return what an earlier run has left, and cut off a last line that is not whole."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    torn = content[len(whole) :]
    if not b"{".startswith(torn[:1]):
        raise DataError(f"{path} is no file of such records, or its last line is broken; choose another file")
    records = []
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        try:
            records.append(kind.model_validate_json(line))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, fault["loc"]))
            raise DataError(f"{path}, line {number}: {field}: {fault['msg']}; {advice}") from None
    if torn:  # only now, when the file has turned out to be one of these
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return records
