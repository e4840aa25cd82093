"""What commands that keep a run in a file of its own have in common: they overwrite nothing."""

from __future__ import annotations

from pathlib import Path

from envtune_gym.errors import ConfigurationError

__all__ = ["refuse_to_overwrite"]


def refuse_to_overwrite(out: Path | None) -> None:
    """Check, before any work is done, that a file to be written to holds nothing yet.

    Raises:
        ConfigurationError: If it does.
    """
    if out is not None and out.is_file() and out.stat().st_size:
        raise ConfigurationError(f"{out} exists already: remove it, or choose another --out")
