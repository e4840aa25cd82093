"""Files of lines, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from envtune_gym.errors import DataError

__all__ = ["write_lines"]


def write_lines(path: str | os.PathLike[str], lines: Iterable[str], what: str) -> int:
    """Write lines to a file and return how many; if anything goes wrong on the way, the file is left as it was.

    Args:
        path: The file.
        lines: The lines, without their ends.
        what: What messages call the file.

    Raises:
        DataError: If the file cannot be written.
    """
    target = Path(path).expanduser().absolute()
    count = 0
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, suffix=".tmp", delete=False) as file:
            temporary = file.name
            for line in lines:
                file.write(line + "\n")
                count += 1
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise DataError(f"cannot write the {what} {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
    return count
