"""The command `envtune`. It needs the extra `eval`; without it, it says how to add it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_EXTRA = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Args:
        arguments: The words after `envtune`; those of the process by default.

    Returns:
        0: done; 1: the run found failures; 2: wrong usage or input; 130: interrupted.
    """
    try:
        from envtune_gym.commands.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        sys.stderr.write('error: the command line needs typer and rich; run: pip install "envtune-gym[eval]"\n')
        return 2
    except KeyboardInterrupt:  # loading takes long enough to be interrupted
        return 130
    return run(sys.argv[1:] if arguments is None else arguments)
