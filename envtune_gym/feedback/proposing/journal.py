"""What a run has finished so far, on the disk at once: a run that was killed goes on from there."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError
from typing_extensions import Self

from envtune_gym.errors import DataError
from envtune_gym.feedback.proposing.bookfile import Entry, load_entries, write_entries, yaml_module

__all__ = ["Journal"]


class Journal:
    """The entries of a book and of the journal beside it; a context manager.

    Each new entry is appended to the journal and reaches the disk before the run goes on. On leaving, however that
    comes about, all entries are written to the book and the journal is removed.

    Args:
        book: The hint book. What it holds already is kept.

    Raises:
        DataError: If either file cannot be read or written, or is broken. A line that a kill cut off is not.
        ConfigurationError: If PyYAML is missing.
    """

    def __init__(self, book: Path) -> None:
        self.book = book.expanduser()
        self.path = self.book.with_name(f"{self.book.name}.journal")
        yaml_module()  # better missing now than when the work is done
        in_book = load_entries(self.book) if self.book.exists() else []
        self._entries = {entry.cause: entry for entry in in_book}
        try:
            self.book.parent.mkdir(parents=True, exist_ok=True)
            for entry in self._recover():
                self._entries.setdefault(entry.cause, entry)
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write {error.filename or self.path}: {error.strerror or error}") from error
        self._is_changed = len(self._entries) > len(in_book)

    @property
    def entries(self) -> list[Entry]:
        """All entries so far."""
        return list(self._entries.values())

    def __contains__(self, cause: object) -> bool:
        """Tell whether a cause has an entry."""
        return cause in self._entries

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write the book, unless it has everything already, and remove the journal."""
        self._file.close()
        if self._is_changed:
            write_entries(self.book, self.entries)
        self.path.unlink()

    def add(self, entry: Entry) -> None:
        """Keep a new entry."""
        self._file.write(entry.model_dump_json() + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._entries[entry.cause] = entry
        self._is_changed = True

    def _recover(self) -> list[Entry]:
        """Return what an earlier run has left, and cut off a last line that is not whole."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        entries = []
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entries.append(Entry.model_validate_json(line))
            except ValidationError as error:
                fault = error.errors(include_url=False, include_input=False)[0]
                field = ".".join(map(str, fault["loc"]))
                raise DataError(
                    f"{self.path}, line {number}: {field}: {fault['msg']}; remove the line to have its cause asked "
                    "again"
                ) from None
        return entries
