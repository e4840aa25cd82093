"""What commands print: results to stdout as tables or JSON, progress to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["Json", "examples", "percent", "print_json", "print_line", "print_renderables", "print_table", "progress"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]

_PIPED_WIDTH = 160


def examples(*lines: str) -> str:
    """Return the end of a command's help: command lines as examples, one a line."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    sys.stdout.write(json.dumps(data, indent=2) + "\n")


def print_line(text: str = "") -> None:
    """Print text as it is."""
    _stdout().print(text, soft_wrap=True)


def print_renderables(renderables: Iterable[RenderableType]) -> None:
    """Print what rich can render, such as tables that were made elsewhere."""
    for renderable in renderables:
        _stdout().print(renderable)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table.

    Args:
        title: Its headline.
        columns: Names of the columns.
        rows: The cells; columns that hold numbers, or text that begins with a digit, stand to the right.
    """
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    texts = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    for index, column in enumerate(columns):
        numeric = all(row[index][:1].isdigit() or not row[index] for row in texts)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in texts:
        table.add_row(*row)
    _stdout().print(table)


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{share:.1%}"


@contextmanager
def progress(description: str, total: int | None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on stderr, if that is a terminal; yield the function that moves it by one.

    The function takes any arguments, so that it can be handed to whatever reports on each piece of work.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total)
        yield lambda *_: bar.advance(task)


def _stdout() -> Console:
    """Return a console for the present stdout that prints text as it is."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    return console
