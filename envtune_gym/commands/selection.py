"""The flags that choose tasks, the same for every command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import numpy as np
import typer

from envtune_gym.errors import ConfigurationError, UnknownTaskError
from envtune_gym.tasks import SPLITS, Task, TaskSet, load_tasks
from envtune_gym.tasks.load import source_of

__all__ = ["ENDLESS_LIMIT", "Selection", "Source", "names", "takes_selection"]

ENDLESS_LIMIT = 100
"""Tasks that are taken of an endless source when no limit is given."""

_STARTS = 2**31
_DEFAULT_SOURCE = "generated"

Source = Annotated[
    str, typer.Option("--tasks", metavar="SOURCE", help="'generated', 'bfcl', or the path of a .jsonl file.")
]


@dataclass(frozen=True)
class Selection:
    """A choice of tasks; the fields are the flags.

    Attributes:
        tasks: The source.
        categories: Names of categories, each perhaps several joined by commas.
        domains: Names of domains, likewise; a task of any of them is taken.
        split: The split.
        difficulty: Levels of generated tasks, or their numbers.
        limit: The most tasks to take: evenly spaced ones, so that each category is there, or with a seed the first of
            the shuffled ones.
        seed: Order of a finite source, place in an endless one.
        skip_quarantined: Whether official tasks that cannot fairly be solved are left out.
    """

    tasks: Source = _DEFAULT_SOURCE
    categories: Annotated[
        list[str] | None, typer.Option("--categories", metavar="NAMES", help="Comma-separated or repeated; all.")
    ] = None
    domains: Annotated[
        list[str] | None, typer.Option("--domains", metavar="NAMES", help="Tasks that involve any of these; all.")
    ] = None
    split: Annotated[str, typer.Option("--split", metavar="|".join((*SPLITS, "all")), help="Part of the tasks.")] = (
        "all"
    )
    difficulty: Annotated[
        list[str] | None,
        typer.Option("--difficulty", metavar="LEVEL", help="Of generated tasks: 1-5, or numbers: turns=4,domains=2."),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, metavar="N", help=f"At most N tasks, evenly spaced; of an endless source {ENDLESS_LIMIT}."
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, metavar="N", help="Shuffle before the limit; of an endless source another part."),
    ] = None
    skip_quarantined: Annotated[
        bool, typer.Option("--skip-quarantined", help="Leave out official tasks that cannot fairly be solved.")
    ] = False

    def open(self) -> TaskSet:
        """Return all tasks that meet the conditions, endless perhaps.

        Raises:
            ConfigurationError: If a name is unknown or no task is left.
            DataError: If the data of the source is missing or broken.
        """
        tasks = load_tasks(self.tasks, names(self.categories), self.split, names(self.domains), self.difficulty or None)
        return tasks.without_quarantined() if self.skip_quarantined and tasks.is_finite else tasks

    def choose(self, tasks: TaskSet) -> TaskSet:
        """Return the tasks that seed and limit choose of a set; a finite set."""
        if tasks.is_finite:
            limit = self.limit or len(tasks)
            chosen = tasks.spread(limit) if self.seed is None else tasks.shuffle(self.seed)[:limit]
        else:
            start = 0 if self.seed is None else int(np.random.default_rng(self.seed).integers(_STARTS))
            chosen = tasks[start : start + (self.limit or ENDLESS_LIMIT)]
        if not chosen:
            raise ConfigurationError("no task is left; loosen the selection")
        return chosen

    def load(self) -> TaskSet:
        """Return the chosen tasks.

        Raises:
            ConfigurationError: As `open` does.
            DataError: As `open` does.
        """
        return self.choose(self.open())

    def find(self, tasks: TaskSet, task_id: str) -> Task:
        """Return a task of a set that this selection opened.

        Raises:
            UnknownTaskError: If the set has no such task; the message says which `--tasks` may have it.
        """
        try:
            return tasks.get(task_id)
        except UnknownTaskError as error:
            source = source_of(task_id)
            if source == self.tasks or (not source and self.tasks != _DEFAULT_SOURCE):
                raise
            raise UnknownTaskError(f"{error}; give the source that has it: --tasks {source or 'FILE'}") from None

    def load_recorded(self, task_ids: Iterable[str]) -> TaskSet:
        """Return the chosen ones of some tasks that a file has recorded.

        Args:
            task_ids: Their ids, each once.

        Raises:
            UnknownTaskError: If the source has no task of an id at all.
            ConfigurationError: If no task is left.
        """
        everything = Selection(tasks=self.tasks).open()
        wanted = self.open()
        recorded = [self.find(everything, task_id) for task_id in task_ids]
        chosen = [task for task in recorded if task.id in wanted]
        if not chosen:
            raise ConfigurationError("no selected task has recorded actions; loosen the selection")
        return self.choose(TaskSet(chosen))


def takes_selection(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the task-selection flags after its own; it receives them as its argument `selection`."""
    own = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name != "selection"
    ]
    hints = get_type_hints(Selection, include_extras=True)
    flags = [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(Selection).parameters.values()
    ]

    @functools.wraps(command)
    def wrapped(**options: Any) -> None:
        selection = Selection(**{flag.name: options.pop(flag.name) for flag in flags})
        command(selection=selection, **options)

    # typer reads a command's parameters from here.
    wrapped.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *flags)}
    return wrapped


def names(values: list[str] | None) -> list[str] | None:
    """Return the names in comma-separated values; None where the flag was not given."""
    if not values:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
