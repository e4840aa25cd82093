"""What the benchmarks of speed leave: a Markdown table, and the same figures as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

__all__ = ["Columns", "device_name", "markdown", "report"]

Columns = Mapping[str, tuple[str, str]]
"""Titles, each with the name of a figure and how it is written, as in `format`."""


def device_name() -> str:
    """Return what a benchmark runs on."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"


def markdown(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a Markdown table; a figure that is missing or None is left blank."""
    lines = [list(columns), ["-"] * len(columns)]
    lines += [[_cell(row.get(name), written) for name, written in columns.values()] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(value: Any, written: str) -> str:
    return "" if value is None else format(value, written)


def report(
    out: Path | None, name: str, args: argparse.Namespace, columns: Columns, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write `<name>.md` and `<name>.json` into a directory, if there is one; may be called after every row."""
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    device, versions = device_name(), {"torch": torch.__version__}
    given = {
        key: value if isinstance(value, (int, float, list, tuple)) else str(value) for key, value in vars(args).items()
    }
    figures = {"device": device, "versions": versions, "arguments": given, "rows": list(rows)}
    (out / f"{name}.json").write_text(json.dumps(figures, indent=2, default=str) + "\n", encoding="utf-8")
    head = f"{device}, torch {torch.__version__}"
    (out / f"{name}.md").write_text(f"{head}\n\n{markdown(columns, rows)}", encoding="utf-8")
