"""`envtune score`: the numbers of a run, or of official result files, and runs as official result files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from envtune_gym.commands.files import refuse_to_overwrite
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_renderables, progress
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.numbers.failures import failure_counts
from envtune_gym.evaluation.numbers.summary import RunSummary, summarise
from envtune_gym.evaluation.official_files.reading import read_results
from envtune_gym.evaluation.official_files.writing import Exported, export_run
from envtune_gym.evaluation.rollout_reading import visible
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, write_episodes
from envtune_gym.tasks import Task
from envtune_gym.viewer.opening import TaskFinder, open_run

__all__ = ["EXAMPLES", "NamedRun", "load_runs", "score_command"]

EXAMPLES = examples(
    "envtune score runs/gpt.jsonl",
    "envtune score runs/gpt.jsonl --export result --model gpt-4o-2024-11-20-FC",
    "envtune score result --json",
    "envtune score result/gpt-4o-2024-11-20/multi_turn --out runs/official.jsonl",
)

_DIFFERING_SHOWN = 5


@dataclass(frozen=True)
class NamedRun:
    """A run that was loaded.

    Attributes:
        name: What to call it: the file, or the model of official result files.
        episodes: Its episodes.
        find_task: Returns the task with an id and a source.
    """

    name: str
    episodes: Sequence[EvaluatedEpisode]
    find_task: Callable[[str, str], Task]

    def summarise(self) -> RunSummary:
        """Return the numbers, with a progress bar, for the failures are played again."""
        with progress(f"failures of {visible(self.name)}", len(self.episodes)) as advance:
            failures = failure_counts(self.episodes, self.find_task, advance)
        return summarise(self.episodes, failures)


def score_command(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A run's file (.jsonl), an official result file, or a folder of such."),
    ],
    tasks: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Where a run's tasks are; by default where its file says.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A new file: official results as a run's, for view and compare.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the run in the official layout: FOLDER/MODEL/...")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --export: a model that `bfcl models` lists, of that mode.")
    ] = None,
    sample: Annotated[int, typer.Option(min=0, metavar="N", help="With --export: which sample of each task.")] = 0,
    as_json: Json = False,
) -> None:
    """Print the numbers of a run or of official result files, and convert one into the other.

    Official result files are scored here, with the benchmark's own decoding and verdict. What --export writes is scored
    by `bfcl evaluate --partial-eval`, to which the model's name tells how to decode: the native mode (a name with -FC)
    for the action formats openai and tool_call, the prompting mode for python.
    """
    if (export is None) != (model is None):
        raise ConfigurationError("--export and --model go together")
    refuse_to_overwrite(out)
    runs = load_runs(path, tasks)
    if (out is not None or export is not None) and len(runs) > 1:
        raise ConfigurationError(f"{path} holds {len(runs)} models; name the folder of one")
    summaries = [(run, run.summarise()) for run in runs]
    if out is not None:
        _write(out, runs[0])
    exported = None
    if export is not None and model is not None:
        exported = export_run(runs[0].episodes, export, model, runs[0].find_task, sample)
    if as_json:
        print_json(_as_data(summaries, exported))
        return
    for run, summary in summaries:
        print_line(f"=== {visible(run.name)}")
        print_renderables(summary.tables())
    if exported is not None:
        _print_exported(exported)


def load_runs(path: Path, tasks: str | None = None) -> list[NamedRun]:
    """Return the runs at a path: of a run's file one, of official result files one for each model.

    Args:
        path: The path.
        tasks: Where the tasks of a run's file are found; None: where it says.

    Raises:
        DataError: If it cannot be read.
        ConfigurationError: If it holds no episode.
    """
    if path.suffix == ".json" or (path.is_dir() and not (path / "rollouts.jsonl").is_file()):
        with progress("scoring", None) as advance:
            models = read_results(path, advance)
        return [NamedRun(name, episodes, TaskFinder()) for name, episodes in models.items()]
    opened = open_run(path, tasks)
    return [NamedRun(opened.name, [one.episode for one in opened.episodes], opened.find_task)]


def _write(out: Path, run: NamedRun) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_episodes(run.episodes, out)
    except OSError as error:
        raise DataError(f"cannot write {out}: {error.strerror or error}") from error


def _as_data(summaries: Sequence[tuple[NamedRun, RunSummary]], exported: Exported | None) -> dict[str, Any]:
    runs = [
        {"name": run.name, "circumstances": summary.circumstances, **summary.to_dict()} for run, summary in summaries
    ]
    data: dict[str, Any] = {"runs": runs}
    if exported is not None:
        data["exported"] = {str(file): count for file, count in exported.files.items()}
        data["differing"] = exported.differing
    return data


def _print_exported(exported: Exported) -> None:
    for file, count in exported.files.items():
        print_line(f"{count:,} entries in {file}")
    if exported.differing:
        shown = ", ".join(exported.differing[:_DIFFERING_SHOWN])
        others = len(exported.differing) - _DIFFERING_SHOWN
        more = f" and {others:,} more" if others > 0 else ""
        print_line(f"officially these get another verdict than was recorded: {shown}{more}")
