"""Generated tasks: an endless source that needs no data, made of the task families.

A *cell* is a kind of task: family, category, number of scored turns, split. The stream goes through the cells again
and again with a growing number, and a task's id says cell and number, so each task can be made from its id alone:
`gen-first_message-miss_func-3-train-17`. Tasks of one family, split and number are variants of one scenario. A scenario
belongs to the split that the calls of its first two turns hash to, so none of the test split is met in training under
another id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.tasks.families import MAX_TURNS, Draft, DraftTurn, Family, families
from envtune_gym.tasks.families.rng import Rng
from envtune_gym.tasks.source import TaskSource
from envtune_gym.tasks.splits import SPLITS, check_split
from envtune_gym.tasks.task import CATEGORIES, TOOLS_ADDED_MESSAGE, Task

__all__ = ["DIFFICULTIES", "VERSION", "GeneratedSource", "source"]

VERSION = "1"
"""Raised whenever the task of some id changes."""

DIFFICULTIES = tuple(range(1, MAX_TURNS))
"""The number of scored turns less one: 1 is a task of two turns, 3 one of four."""

_ID = re.compile(r"gen-(\w+)-(\w+)-(\d)-(\w+)-(0|[1-9]\d{0,17})", re.ASCII)
_ATTEMPTS = 200  # drafts of a scenario until one falls into the split; a third of them does


class _Cell(NamedTuple):
    """A kind of task."""

    family: str
    category: str
    turns: int
    split: str


class _Turn(NamedTuple):
    """A user turn of the finished task, and the tools that come back with it."""

    request: str
    calls: tuple[str, ...]
    returned: tuple[str, ...] = ()


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
        categories: The categories wanted; all by default.
        split: `train`, `val`, `test`, or `all` for the three mixed.
        domains: Tasks that involve any of these domains; those of all built-in domains by default.
        difficulty: One of `DIFFICULTIES`; all by default.

    Raises:
        ConfigurationError: If a category, split or difficulty is unknown, or no family meets the conditions.
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
        wanted = CATEGORIES if categories is None else tuple(categories)
        self._arguments = (wanted, split, None if domains is None else tuple(domains), difficulty)
        for category in wanted:
            if category not in CATEGORIES:
                raise ConfigurationError(f"unknown category {category!r}; known: {', '.join(CATEGORIES)}")
        splits = SPLITS if check_split(split) == "all" else (split,)
        found = families(self._arguments[2])
        self._families = {family.name: family for family in found}
        self._cells = [
            _Cell(family.name, category, turns, part)
            for family in found
            for category in family.categories
            if category in wanted
            for turns in _numbers_of_turns(difficulty)
            for part in splits
        ]
        if not self._cells:
            raise ConfigurationError("no generated task meets the conditions; loosen categories or domains")
        _shuffle(self._cells)
        self._positions = {cell: position for position, cell in enumerate(self._cells)}
        self.categories = tuple(name for name in CATEGORIES if any(cell.category == name for cell in self._cells))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the conditions alone."""
        return type(self), self._arguments

    def task(self, index: int) -> Task:
        """Return the task at an index."""
        cell, number = self._locate(index)
        return _make(self._families[cell.family], cell, number)

    def task_id(self, index: int) -> str:
        """Return the id of the task at an index."""
        return _id(*self._locate(index))

    def category(self, index: int) -> str:
        """Return the category of the task at an index."""
        return self._locate(index)[0].category

    def split(self, index: int) -> str:
        """Return the split of the task at an index."""
        return self._locate(index)[0].split

    def index_of(self, task_id: str) -> int | None:
        """Return the index of the task with an id, or None if this stream does not hold it."""
        match = _ID.fullmatch(task_id)
        if match is None:
            return None
        position = self._positions.get(_Cell(match[1], match[2], int(match[3]), match[4]))
        return None if position is None else int(match[5]) * len(self._cells) + position

    def _locate(self, index: int) -> tuple[_Cell, int]:
        """Return the cell of the task at an index, and its number there."""
        number, position = divmod(index, len(self._cells))
        return self._cells[position], number


def _numbers_of_turns(difficulty: Any) -> tuple[int, ...]:
    if difficulty is None:
        return tuple(level + 1 for level in DIFFICULTIES)
    if type(difficulty) is not int or difficulty not in DIFFICULTIES:
        raise ConfigurationError(f"unknown difficulty {difficulty!r}; known: {', '.join(map(str, DIFFICULTIES))}")
    return (difficulty + 1,)


def _shuffle(cells: list[_Cell]) -> None:
    """Mix the cells, so that any stretch of the stream has tasks of all kinds."""
    rng = Rng("cells")
    for position in range(len(cells) - 1, 0, -1):
        other = rng.below(position + 1)
        cells[position], cells[other] = cells[other], cells[position]


def _id(cell: _Cell, number: int) -> str:
    return f"gen-{cell.family}-{cell.category}-{cell.turns}-{cell.split}-{number}"


@lru_cache(maxsize=128)
def _make(family: Family, cell: _Cell, number: int) -> Task:
    """Return the task of a cell with a number; repeated rollouts of one task make it once."""
    draft = _scenario(family, cell.split, number)
    if cell.category == "long_context":
        draft = family.draft(draft.seed, long_context=True)
    turns = _variant(draft.turns[: cell.turns], cell.category, Rng(_id(cell, number)))
    return Task(
        id=_id(cell, number),
        category=cell.category,
        domains=family.domains,
        initial_config=draft.config,
        turns=[turn.request for turn in turns],
        ground_truth=[turn.calls for turn in turns],
        missed_functions={position: turn.returned for position, turn in enumerate(turns) if turn.returned},
        source="generated",
        source_version=VERSION,
    )


@lru_cache(maxsize=128)
def _scenario(family: Family, split: str, number: int) -> Draft:
    """Return the first draft that belongs to the split; it is shared by the variants, and not to be changed."""
    for attempt in range(_ATTEMPTS):
        draft = family.draft(f"{family.name}/{split}/{number}/{attempt}")
        if not draft.indistinct and SPLITS[draft.key % len(SPLITS)] == split:
            return draft
    raise TaskError(f"the task family {family.name!r} varies too little to give scenarios for each split")


def _variant(turns: list[DraftTurn], category: str, rng: Rng) -> list[_Turn]:
    """Return the turns as a category has them."""
    plain = [_Turn(turn.request, tuple(call.source() for call in turn.calls)) for turn in turns]
    if category == "miss_func":
        return _without_tool(plain, rng.pick(_withholdable(turns)))
    if category == "miss_param":
        return _without_parameter(plain, turns, rng.pick([i for i, turn in enumerate(turns) if turn.vague]))
    return plain


def _without_tool(plain: list[_Turn], chosen: tuple[int, str]) -> list[_Turn]:
    """Ask while a tool is withheld, and solve the request once it is back."""
    position, tool = chosen
    turn = plain[position]
    return [
        *plain[:position],
        turn._replace(calls=()),
        turn._replace(request=TOOLS_ADDED_MESSAGE, returned=(tool,)),
        *plain[position + 1 :],
    ]


def _without_parameter(plain: list[_Turn], turns: list[DraftTurn], position: int) -> list[_Turn]:
    """Ask vaguely, and solve the request once the user has said what was left out."""
    turn = turns[position]
    return [
        *plain[:position],
        _Turn(turn.vague, ()),
        plain[position]._replace(request=turn.answer),
        *plain[position + 1 :],
    ]


def _withholdable(turns: list[DraftTurn]) -> list[tuple[int, str]]:
    """Return the turns and their tools that can be withheld: an earlier turn must not need the tool."""
    used: set[str] = set()
    found: list[tuple[int, str]] = []
    for position, turn in enumerate(turns):
        found += [(position, tool) for tool in turn.withhold if tool not in used]
        used.update(call.name for call in turn.calls)
    return found
