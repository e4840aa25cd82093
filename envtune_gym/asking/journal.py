"""What a run has finished so far, on the disk at once: a run that was killed goes on from there."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from envtune_gym.errors import DataError

try:
    import fcntl
except ImportError:  # Windows has no such locks; two runs in one file are then the user's own affair
    fcntl = None  # type: ignore[assignment]

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
        DataError: If the file cannot be read or written, another process writes it, or it is broken; it is then left as
            it is. A last line that a kill cut off is no fault: it is removed.
    """

    def __init__(self, path: Path, kind: type[R], advice: str, *, sync_every: float = 0.0) -> None:
        self.path = path
        self._sync_every = sync_every
        self._synced = 0.0
        if path.exists() and not path.is_file():  # a device may have no end
            raise DataError(f"{path} is no ordinary file; choose another one")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise DataError(f"cannot write {error.filename or path}: {error.strerror or error}") from error
        try:
            self._lock()
            self.recovered: list[R] = _recover(path, kind, advice)
        except OSError as error:
            self._file.close()
            raise DataError(f"cannot write {path}: {error.strerror or error}") from error
        except BaseException:
            self._file.close()
            raise

    def add(self, record: R) -> None:
        """Append a record.

        Raises:
            DataError: If it cannot be written; the file ends with the record before it.
        """
        size = os.fstat(self._file.fileno()).st_size
        left = memoryview(f"{record.model_dump_json()}\n".encode())
        try:
            while left:
                left = left[self._file.write(left) :]
            now = time.monotonic()
            if now - self._synced >= self._sync_every:
                os.fsync(self._file.fileno())
                self._synced = now
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(size)
            raise DataError(f"cannot write {self.path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file.

        Raises:
            DataError: If it cannot be written through to the disk.
        """
        try:
            if not self._file.closed:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror or error}") from error
        finally:
            self._file.close()

    def _lock(self) -> None:
        """Keep other processes from writing the file; a lock ends with its process, however that ends."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"{self.path} is being written by another run; wait for its end, or stop it") from None
        except OSError:  # a file system without locks
            return


def _recover(path: Path, kind: type[R], advice: str) -> list[R]:
    """Return what an earlier run has left, and cut off a last line that is not whole."""
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
            place = f"{path}, line {number}: {field}" if field else f"{path}, line {number}"
            raise DataError(f"{place}: {fault['msg']}; {advice}") from None
    if torn:  # only now, when the file has turned out to be one of these
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return records
