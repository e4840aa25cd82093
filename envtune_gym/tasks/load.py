"""`load_tasks`: from the name of a source to a set of tasks."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import Any

from envtune_gym.domains import domain_names
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks.bfcl import bfcl_source
from envtune_gym.tasks.jsonl import jsonl_source
from envtune_gym.tasks.source import TaskSource
from envtune_gym.tasks.splits import check_split
from envtune_gym.tasks.task import CATEGORIES
from envtune_gym.tasks.taskset import TaskSet

__all__ = ["NAMED_SOURCES", "load_tasks", "source_of"]

NAMED_SOURCES = {"bfcl": "multi_turn_", "generated": "gen-"}
"""The sources that are opened by a name, each with how the ids of its tasks begin."""


def load_tasks(
    source: str | os.PathLike[str] | TaskSet,
    categories: Iterable[str] | None = None,
    split: str = "all",
    domains: Iterable[str] | None = None,
    difficulty: Any = None,
) -> TaskSet:
    """Return the tasks of a source that meet some conditions.

    Args:
        source: `"generated"` (endless, needs no data), `"bfcl"` (the official tasks), the path of a `.jsonl` file
            of tasks, or a set to choose from.
        categories: Names of the categories wanted; all by default.
        split: `train`, `val`, `test` or `all`. A `.jsonl` file is not split.
        domains: Tasks that involve any of these domains; all by default.
        difficulty: For `"generated"` only: levels or numbers, as `tasks.generation.shape.shapes_of` takes them.

    Raises:
        ConfigurationError: If a name is unknown, does not apply to the source, or no task is left.
        DataError: If the data of the source is missing or broken.
    """
    check_split(split)
    wanted_categories = _names(categories, "categories")
    wanted_domains = _names(domains, "domains")
    for name in wanted_domains or ():
        if name not in domain_names():
            raise ConfigurationError(f"unknown domain {name!r}; known: {', '.join(domain_names())}")
    if source == "generated":
        return TaskSet(_generated(wanted_categories, split, wanted_domains, difficulty))
    if difficulty is not None:
        raise ConfigurationError("difficulty applies to tasks='generated' only; leave it out for other sources")
    tasks = _open(source)
    if wanted_categories is not None:
        tasks = _of_categories(tasks, wanted_categories)
    tasks = tasks.split(split)
    if wanted_domains is not None:
        tasks = tasks.filter(lambda task: not set(wanted_domains).isdisjoint(task.domains))
    if not tasks:
        raise ConfigurationError(f"no task of {source} meets the conditions; loosen categories, split or domains")
    return tasks


def source_of(task_id: str) -> str:
    """Return the name of the source that an id looks like one of; empty: of none that has a name."""
    return next((name for name, start in NAMED_SOURCES.items() if task_id.startswith(start)), "")


def _open(source: str | os.PathLike[str] | TaskSet) -> TaskSet:
    if isinstance(source, TaskSet):
        return source
    if source == "bfcl":
        return TaskSet(bfcl_source())
    if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith(".jsonl"):
        return TaskSet(jsonl_source(source))
    raise ConfigurationError(
        f"unknown task source {source!r}; known: 'generated', 'bfcl', the path of a .jsonl file, or a TaskSet"
    )


def _names(names: Iterable[str] | None, what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, Iterable):
        raise ConfigurationError(f"{what} are a list of names, not {names!r}")
    chosen = (names,) if isinstance(names, str) else tuple(map(str, names))
    if not chosen:
        raise ConfigurationError(f"{what} is empty; name at least one, or leave it out for all")
    return chosen


def _of_categories(tasks: TaskSet, categories: tuple[str, ...]) -> TaskSet:
    for name in categories:
        if not set(name.split("+")) <= set(CATEGORIES):
            raise ConfigurationError(f"unknown category {name!r}; known: {', '.join(CATEGORIES)}")
    chosen = tasks.with_categories(categories)
    if not chosen:
        raise ConfigurationError(f"no task is of {', '.join(categories)}; there are: {', '.join(tasks.categories)}")
    return chosen


def _generated(
    categories: tuple[str, ...] | None, split: str, domains: tuple[str, ...] | None, difficulty: Any
) -> TaskSource:
    """Load the generator when it is first wanted: it builds on the task sets of this package."""
    generated = importlib.import_module("envtune_gym.tasks.generated")
    source: TaskSource = generated.source(categories=categories, split=split, domains=domains, difficulty=difficulty)
    return source
