"""All commands under `envtune`, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from envtune_gym import __version__
from envtune_gym.commands import (
    bench,
    compare,
    evaluate,
    hints,
    mcp,
    play,
    replay,
    rollouts,
    run_report,
    score,
    tasks,
    train,
    view,
)
from envtune_gym.commands.output import examples
from envtune_gym.errors import EnvtuneError
from envtune_gym.evaluation.rollout_reading import visible

__all__ = ["app", "run"]

USAGE = 2
INTERRUPTED = 130

# Errors in the words of the command line. Typer exports no base class of them, and newer versions bring their own.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="envtune",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=examples("envtune replay --tasks bfcl"),
)
app.command("replay", epilog=replay.EXAMPLES)(replay.replay_command)
app.command("train", epilog=train.EXAMPLES)(train.train_command)
app.command("rollouts", epilog=rollouts.EXAMPLES)(rollouts.rollouts_command)
app.command("report", epilog=run_report.EXAMPLES)(run_report.report_command)
app.command("eval", epilog=evaluate.EXAMPLES)(evaluate.eval_command)
app.command("play", epilog=play.EXAMPLES)(play.play_command)
app.command("score", epilog=score.EXAMPLES)(score.score_command)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare_command)
app.command("view", epilog=view.EXAMPLES)(view.view_command)
app.command("bench", epilog=bench.EXAMPLES)(bench.bench_command)
app.add_typer(hints.app, name="hints")
app.add_typer(tasks.app, name="tasks")
app.command("mcp", epilog=mcp.SERVER_EXAMPLES)(mcp.server_command)
app.command("mcp-proxy", epilog=mcp.PROXY_EXAMPLES, context_settings=mcp.PROXY_SETTINGS)(mcp.proxy_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The BFCL multi-turn domains as environments: replay, inspect, measure and train.

    Exit codes: 0 done, 1 the run found failures, 2 wrong usage or input, 130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; a user's mistake becomes one line on stderr."""
    try:
        code = app(list(arguments) or ["--help"], prog_name="envtune", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        return _report(error.format_message())  # type: ignore[attr-defined]
    except EnvtuneError as error:
        return _report(str(error))
    except BrokenPipeError:
        # What is still buffered would raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except OSError as error:
        return _report(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit:  # outside standalone mode, typer and rich leave in this way only if a pipe broke
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _report(message: str) -> int:
    plain = message.replace(": Value error, ", ": ")  # what pydantic puts before any message of a check
    line = visible(" ".join(plain.split()))  # it may quote a file that was not written here
    sys.stderr.write(f"error: {line}\n")
    return USAGE
