"""The lending desk of a library, as a domain of envtune-gym."""

from __future__ import annotations

from pathlib import Path

__all__ = ["TASKS"]

TASKS = Path(__file__).with_name("tasks.jsonl")
"""Tasks written by hand; pass the path wherever tasks are chosen."""
