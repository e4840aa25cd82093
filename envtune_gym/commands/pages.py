"""Measured text in pages of the documentation: written between two marks, by the command that measured it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from envtune_gym.errors import ConfigurationError, DataError

__all__ = ["Page", "check_page", "markdown_table", "write_page"]

Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Write the result into a page too, between its two marks.")
]


def check_page(page: Path, name: str) -> None:
    """Make sure, before a long measurement, that a page has a place for it.

    Raises:
        DataError: If the page cannot be read.
        ConfigurationError: If it has no marks.
    """
    _split(page, name)


def write_page(page: Path, name: str, text: str) -> None:
    """Write text between the marks `<!-- name: begin -->` and `<!-- name: end -->` of a page.

    Raises:
        DataError: If the page cannot be read.
        ConfigurationError: If it has no marks.
    """
    before, after = _split(page, name)
    page.write_text(f"{before}{_begin(name)}\n{text}\n{_end(name)}{after}", encoding="utf-8")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1) -> str:
    """Return a table in Markdown.

    Args:
        columns: Names of the columns.
        rows: The cells.
        left: How many of the first columns hold words; the others stand to the right.
    """
    rule = ["---" if index < left else "--:" for index in range(len(columns))]
    lines = (columns, rule, *rows)
    return "\n".join(f"| {' | '.join(f'{c:,}' if isinstance(c, int) else str(c) for c in line)} |" for line in lines)


def _begin(name: str) -> str:
    return f"<!-- {name}: begin -->"


def _end(name: str) -> str:
    return f"<!-- {name}: end -->"


def _split(page: Path, name: str) -> tuple[str, str]:
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot read {page}: {error.strerror or error}") from error
    before, begin, rest = text.partition(_begin(name))
    _, end, after = rest.partition(_end(name))
    if not begin or not end:
        raise ConfigurationError(f"{page} has no place for it; mark it by the lines {_begin(name)} and {_end(name)}")
    return before, after
