"""`envtune view`: runs as a page for the browser, or in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envtune_gym.commands.output import Json, examples, print_json, print_line, progress
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.rollout_reading import visible
from envtune_gym.viewer.building import ViewedRun, build_page
from envtune_gym.viewer.opening import open_run
from envtune_gym.viewer.selecting import Conditions, select, view
from envtune_gym.viewer.terminal import as_data, print_runs

__all__ = ["EXAMPLES", "view_command"]

_PAGE_BEGINS = b"<!doctype html>"

EXAMPLES = examples(
    "envtune view runs/eval.jsonl",
    "envtune view --compare runs/plain.jsonl runs/tuned.jsonl --out compared.html",
    "envtune view runs/grpo/rollouts.jsonl --failed --limit 200",
    "envtune view runs/eval.jsonl --terminal --failed --category miss_param --conversations",
)


def view_command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="A file of episodes, or a training run's directory.")
    ],
    compare: Annotated[bool, typer.Option("--compare", help="Put two files side by side, flips first.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page; by default beside the first file.")
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="'generated', 'bfcl' or a .jsonl file; by default what the file says."),
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Print it here, and write no page.")] = False,
    conversations: Annotated[
        bool, typer.Option("--conversations", help="In the terminal: print each episode in full.")
    ] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Only episodes that failed.")] = False,
    solved: Annotated[bool, typer.Option("--solved", help="Only those that were solved.")] = False,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of a category.")] = None,
    domain: Annotated[str | None, typer.Option(metavar="NAME", help="Only those that involve a domain.")] = None,
    failure: Annotated[str | None, typer.Option(metavar="CLASS", help="Only those of a failure class.")] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Only those of a task.")] = None,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Only those in which a text occurs.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="The first N that fit.")] = None,
    as_json: Json = False,
) -> None:
    """Show what happened in a run: figures, and every conversation with calls, results, hints and verdicts.

    Reads what `envtune eval`, `envtune train` (rollouts.jsonl) and `envtune replay --out` write, and plays the messages
    again to show what the environment said. The page is one file that loads nothing from elsewhere.
    """
    if failed and solved:
        raise ConfigurationError("--failed and --solved exclude each other")
    if compare != (len(runs) == 2) or len(runs) > 2:
        raise ConfigurationError("give one file, or --compare and two files")
    if conversations and not terminal:
        raise ConfigurationError("--conversations goes with --terminal; the page has all conversations")
    if out is not None and terminal:
        raise ConfigurationError("--out names the page, and with --terminal there is none; leave one of them out")
    page = out or _beside(runs)
    if _is_something_else(page):
        raise ConfigurationError(f"{page} is no page, and is not to be lost; give another --out")
    conditions = Conditions(
        success=True if solved else False if failed else None,
        category=category,
        domain=domain,
        failure=failure,
        task_id=task,
        text=text,
        limit=limit,
    )
    opened = [open_run(path, tasks) for path in runs]
    chosen = select(opened, conditions)
    with progress("episodes", sum(map(len, chosen))) as advance:
        viewed = view(opened, chosen, conditions, advance)
    if terminal and as_json:
        print_json(as_data(viewed))
    elif terminal:
        print_runs(viewed, in_full=conversations)
    else:
        _write(viewed, page, as_json)


def _is_something_else(page: Path) -> bool:
    """Tell whether there is a file in the page's place that no page was written to: the run itself, say."""
    if not page.is_file():
        return False
    with page.open("rb") as stream:
        return stream.read(len(_PAGE_BEGINS)) not in (_PAGE_BEGINS, b"")


def _beside(runs: list[Path]) -> Path:
    first, *others = (path / "rollouts.jsonl" if path.is_dir() else path for path in runs)
    name = "-against-".join((first.stem, *(other.stem for other in others)))
    return first.with_name(f"{name}.html")


def _write(runs: list[ViewedRun], out: Path, as_json: bool) -> None:
    page = build_page(runs)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {out}: {error.strerror or error}") from error
    episodes = sum(len(run.episodes) for run in runs)
    if as_json:
        print_json({"page": str(out), "episodes": episodes, "bytes": len(page.encode())})
    else:
        print_line(
            f"{episodes:,} episodes in {visible(str(out))} ({len(page.encode()) / 1e6:.1f} MB); open it in a browser"
        )
