"""Generated tasks: an endless source that needs no data, made of goals and proven when made.

A *cell* is a kind of task: first domain, category, shape (how large), split. The stream goes through the cells again
and again with a growing number, and a task's id says cell and number, so that each task can be made from its id alone:
`gen-TravelAPI-miss_func-t3g2d1-train-17`. Tasks of one number, domain and shape are variants of one scenario, unless it
could not be had in a category. A scenario belongs to the split that its configuration hashes to (where that is empty,
the calls of its first turn), so nothing of the test split is met in training under another id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.tasks.generation.categories import make_turns
from envtune_gym.tasks.generation.filler import can_be_filled
from envtune_gym.tasks.generation.planner import plan_task
from envtune_gym.tasks.generation.proof import prove
from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.generation.shape import Shape, shapes_of
from envtune_gym.tasks.generation.speech import MANNERS
from envtune_gym.tasks.goals import Discarded
from envtune_gym.tasks.source import TaskSource
from envtune_gym.tasks.splits import SPLITS, check_split
from envtune_gym.tasks.task import CATEGORIES, TASKS_KEPT, Task

__all__ = ["OTHER_SPLIT", "VERSION", "GeneratedSource", "source"]

VERSION = "2"
"""Raised whenever the task of some id changes."""

OTHER_SPLIT = "other split"
"""What is counted, beside the reasons of the proof, where a scenario fell into another split than was wanted."""

_ID = re.compile(r"gen-([\w.-]+)-(0|[1-9]\d{0,17})", re.ASCII)
_ATTEMPTS = 400


class Cell(NamedTuple):
    """A kind of task."""

    domain: str
    category: str
    shape: Shape
    split: str

    @property
    def name(self) -> str:
        """The fields, joined."""
        code = self.shape.code("long_context" in self.category)
        # The official executor makes identifiers of ids, and can do so with a full stop, but not with a plus.
        return f"{self.domain}-{self.category.replace('+', '.')}-{code}-{self.split}"

    def id(self, number: int) -> str:
        """Return the id of the task with a number."""
        return f"gen-{self.name}-{number}"


def source(
    categories: Iterable[str] | None = None,
    split: str = "all",
    domains: Iterable[str] | None = None,
    difficulty: Any = None,
) -> GeneratedSource:
    """Return the stream of generated tasks that meet some conditions; see `GeneratedSource`."""
    return GeneratedSource(categories, split, domains, difficulty)


class GeneratedSource(TaskSource):
    """The stream of generated tasks.

    Args:
        categories: The categories wanted, combined ones included (`miss_func+long_context`); the four plain ones by
            default.
        split: `train`, `val`, `test`, or `all` for the three mixed.
        domains: Tasks that begin with any of these domains; all built-in domains by default.
        difficulty: Levels or numbers, as `shapes_of` takes them; all levels by default.

    Raises:
        ConfigurationError: If a category, split, difficulty or domain is unknown, or nothing meets the conditions.
    """

    name = "generated"
    version = VERSION
    size = None

    def __init__(
        self,
        categories: Iterable[str] | None = None,
        split: str = "all",
        domains: Iterable[str] | None = None,
        difficulty: Any = None,
    ) -> None:
        wanted = CATEGORIES if categories is None else tuple(map(_check_category, categories))
        begins = BUILTIN_DOMAINS if domains is None else tuple(domains)
        self._arguments = (wanted, split, begins, difficulty)
        for domain in begins:
            domain_class(domain)  # says which ones are known
        splits = SPLITS if check_split(split) == "all" else (split,)
        self._cells = [
            Cell(domain, category, shape, part)
            for domain in begins
            for category in wanted
            for shape in shapes_of(difficulty)
            if _has_room(shape, category)
            for part in splits
        ]
        if not self._cells:
            raise ConfigurationError("no generated task meets the conditions; loosen categories or difficulty")
        _shuffle(self._cells)
        self._positions = {cell.name: position for position, cell in enumerate(self._cells)}
        self.period = len(self._cells)
        self.categories = tuple(dict.fromkeys(name for name in wanted if any(c.category == name for c in self._cells)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the conditions alone."""
        return type(self), self._arguments

    def task(self, index: int) -> Task:
        """Return the task at an index.

        Raises:
            TaskError: If the goals of a domain give none.
        """
        return _make(*self._locate(index))

    def make(self, index: int, discarded: Counter[str]) -> Task:
        """Return the task at an index, made anew, and count why others were given up on the way.

        Args:
            index: The index.
            discarded: Gains the reasons, and `OTHER_SPLIT`.
        """
        return _search(*self._locate(index), discarded).task

    def goals_of_task(self, index: int) -> tuple[str, ...]:
        """Return the names of the goals of the task at an index, in order; it is made anew for that."""
        return _search(*self._locate(index), Counter()).goals

    def task_id(self, index: int) -> str:
        """Return the id of the task at an index."""
        cell, number = self._locate(index)
        return cell.id(number)

    def category(self, index: int) -> str:
        """Return the category of the task at an index."""
        return self._locate(index)[0].category

    def split(self, index: int) -> str:
        """Return the split of the task at an index."""
        return self._locate(index)[0].split

    def kind(self, index: int) -> str:
        """Return the name of the cell of the task at an index."""
        return self._locate(index)[0].name

    def index_of(self, task_id: str) -> int | None:
        """Return the index of the task with an id, or None if this stream does not hold it."""
        match = _ID.fullmatch(task_id)
        position = self._positions.get(match[1]) if match else None
        return None if match is None or position is None else int(match[2]) * self.period + position

    def _locate(self, index: int) -> tuple[Cell, int]:
        """Return the cell of the task at an index, and its number there."""
        number, position = divmod(index, len(self._cells))
        return self._cells[position], number


def _check_category(name: str) -> str:
    """Return a category's name with its parts in the usual order.

    Raises:
        ConfigurationError: If it is none.
    """
    parts = name.split("+")
    if not set(parts) <= set(CATEGORIES) or len(set(parts)) < len(parts) or ("base" in parts and len(parts) > 1):
        known = ", ".join(CATEGORIES)
        raise ConfigurationError(f"unknown category {name!r}; known: {known} (those after base may be joined by '+')")
    return "+".join(sorted(parts, key=CATEGORIES.index))


def _has_room(shape: Shape, category: str) -> bool:
    """Tell whether a task has a turn for each thing that is withheld or left unsaid."""
    return shape.turns >= sum(name in ("miss_func", "miss_param") for name in category.split("+"))


def _shuffle(cells: list[Cell]) -> None:
    """Mix the cells, so that any stretch of the stream has tasks of all kinds."""
    rng = Rng("cells")
    for position in range(len(cells) - 1, 0, -1):
        other = rng.below(position + 1)
        cells[position], cells[other] = cells[other], cells[position]


@lru_cache(maxsize=TASKS_KEPT)
def _make(cell: Cell, number: int) -> Task:
    """Return the task of a cell with a number; repeated rollouts of one task make it once."""
    return _search(cell, number, Counter()).task


def _search(cell: Cell, number: int, discarded: Counter[str]) -> _Draft:
    """Draft tasks until one is proven and of the split."""
    for attempt in range(_ATTEMPTS):
        try:
            draft = _draft(cell, number, attempt)
        except Discarded as error:
            discarded[error.reason] += 1
            continue
        if draft is not None:
            return draft
        discarded[OTHER_SPLIT] += 1
    raise TaskError(f"the goals of {cell.domain} give no task {cell.id(number)}: {dict(discarded)}")


class _Draft(NamedTuple):
    """A proven task and the names of its goals."""

    task: Task
    goals: tuple[str, ...]


def _draft(cell: Cell, number: int, attempt: int) -> _Draft | None:
    """Return the task of an attempt, or None if it is of another split.

    Raises:
        Discarded: If it cannot be proven.
    """
    scenario = f"{cell.domain}/{cell.shape.code(False)}/{cell.split}/{number}/{attempt}"
    filled = "long_context" in cell.category
    domains = _domains(cell, Rng(f"{scenario}/domains"), filled)
    planned = plan_task(domains, cell.shape, scenario, filled, lambda key: SPLITS[key % len(SPLITS)] == cell.split)
    if planned is None:
        return None
    rng = Rng(f"{scenario}/{cell.category}")
    manner = Rng(f"{scenario}/manner").pick(MANNERS)
    turns = make_turns(planned.turns, cell.category, manner, rng)
    task = Task(
        id=cell.id(number),
        category=cell.category,
        domains=planned.domains,
        initial_config=planned.config,
        turns=[turn.message for turn in turns],
        ground_truth=[turn.calls for turn in turns],
        missed_functions={position: turn.returned for position, turn in enumerate(turns) if turn.returned},
        source="generated",
        source_version=VERSION,
    )
    prove(task)
    return _Draft(task, tuple(step.goal for steps in planned.turns for step in steps))


def _domains(cell: Cell, rng: Rng, filled: bool) -> tuple[str, ...]:
    """Return the domains of a task: its first, and others as the shape asks; one at least that filler fits into."""
    others = [name for name in BUILTIN_DOMAINS if name != cell.domain]
    chosen = [cell.domain, *rng.sample(others, cell.shape.domains - 1)]
    if filled and not any(map(can_be_filled, chosen)):
        partner = rng.pick([name for name in others if can_be_filled(name)])
        chosen = [*chosen[: max(1, cell.shape.domains - 1)], partner]
    return tuple(chosen)
