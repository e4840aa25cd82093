"""A hint book in the making: what a run has finished so far is in the journal beside it at once."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import Self

from envtune_gym.asking import JournalFile
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
        self._file = JournalFile(self.path, Entry, "remove the line to have its cause asked again")
        for entry in self._file.recovered:
            self._entries.setdefault(entry.cause, entry)
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
        self._file.add(entry)
        self._entries[entry.cause] = entry
        self._is_changed = True
