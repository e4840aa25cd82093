"""Sets of tasks: lazy views over sources, to be sliced, filtered, shuffled, split and joined."""

from __future__ import annotations

import difflib
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from typing_extensions import Self

from envtune_gym.errors import ConfigurationError, UnknownTaskError
from envtune_gym.tasks.quarantine import load_quarantine
from envtune_gym.tasks.source import ListSource, TaskSource
from envtune_gym.tasks.splits import check_split
from envtune_gym.tasks.task import Task

if TYPE_CHECKING:
    import datasets

__all__ = ["TaskSet"]

_ENDLESS = range(sys.maxsize)
_SAMPLED = 2**31  # an endless set is sampled from this many of its tasks


class TaskSet(Sequence[Task]):
    """A sequence of tasks that makes each when it is touched.

    Every operation gives a new set over the same source; none copies tasks. An endless set can be indexed,
    iterated, sampled and sliced; what needs to see all tasks asks for a slice first.

    Args:
        source: Where the tasks come from, or the tasks themselves.
        indices: Which tasks of the source, in order; all of them by default.

    Raises:
        ConfigurationError: If two tasks of a list have the same id.
    """

    def __init__(self, source: TaskSource | Iterable[Task], indices: Sequence[int] | None = None) -> None:
        self._source = source if isinstance(source, TaskSource) else _list_source(source)
        if indices is None:
            indices = _ENDLESS if self._source.size is None else range(self._source.size)
        self._indices = indices

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the source and the indices, not what has been made of them."""
        return type(self), (self._source, self._indices)

    def __repr__(self) -> str:
        size = f"{len(self)} tasks" if self.is_finite else "endless"
        return f"<TaskSet {' '.join(filter(None, (self._source.name, self._source.version)))}: {size}>"

    @property
    def is_finite(self) -> bool:
        """Whether the set has an end."""
        return not (isinstance(self._indices, range) and self._indices.stop == sys.maxsize)

    def __len__(self) -> int:
        """Return the number of tasks.

        Raises:
            ConfigurationError: If the set is endless.
        """
        self._need_end("len()")
        return len(self._indices)

    def __bool__(self) -> bool:
        """Tell whether there is any task."""
        return bool(self._indices)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Task | Self:
        """Return one task, or a set of some.

        Raises:
            IndexError: If a finite set has no such task.
            ConfigurationError: If the index of an endless set counts from its end.
        """
        if isinstance(index, slice):
            if any(bound is not None and bound < 0 for bound in (index.start, index.stop, index.step)):
                self._need_end("a negative bound")
            return self._view(self._indices[index])
        if index < 0:
            self._need_end("a negative index")
        return self._source.task(self._indices[index])

    def __iter__(self) -> Iterator[Task]:
        """Iterate over the tasks."""
        return map(self._source.task, self._indices)

    def __contains__(self, item: object) -> bool:
        """Tell whether the set holds a task, or one with an id."""
        if isinstance(item, Task):
            index = self._find(item.id)
            return index is not None and self._source.task(index) == item
        return isinstance(item, str) and self._find(item) is not None

    def __add__(self, other: TaskSet) -> TaskSet:
        """Join two finite sets.

        Raises:
            ConfigurationError: If one is endless, or an id occurs in both.
        """
        if not isinstance(other, TaskSet):
            return NotImplemented
        self._need_end("joining sets")
        other._need_end("joining sets")
        both = set(self.ids).intersection(other.ids)
        if both:
            raise ConfigurationError(f"the task {min(both)!r} is in both sets; ids are unique within a set")
        return TaskSet(_Joined((self, other)))

    @property
    def ids(self) -> list[str]:
        """The ids of the tasks, in order; few sources need to make the tasks for it."""
        self._need_end("listing the ids")
        return [self._source.task_id(index) for index in self._indices]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories that occur; of an endless set, those that may."""
        if not self.is_finite:
            return self._source.categories
        found = {self._source.category(index) for index in self._indices}
        return tuple(category for category in self._source.categories if category in found)

    def get(self, task_id: str) -> Task:
        """Return the task with an id.

        Raises:
            UnknownTaskError: If the set has none; the message names similar ids.
        """
        index = self._find(task_id) if isinstance(task_id, str) else None
        if index is None:
            raise UnknownTaskError(
                f"no task {task_id!r} among the tasks of {self._source.name}{self._similar(task_id)}"
            )
        return self._source.task(index)

    def filter(self, predicate: Callable[[Task], bool]) -> Self:
        """Return the tasks for which a function is true; makes each task."""
        self._need_end("filter()")
        return self._view([index for index in self._indices if predicate(self._source.task(index))])

    def with_categories(self, categories: Iterable[str]) -> Self:
        """Return the tasks of some categories, each named in full (`miss_func+miss_param` is a category of its own)."""
        wanted = set(categories)
        self._need_end("choosing categories")
        return self._view([index for index in self._indices if self._source.category(index) in wanted])

    def split(self, name: str) -> Self:
        """Return the tasks of one split: `train`, `val`, `test`; `all` is the set itself.

        Raises:
            ConfigurationError: If the name is unknown, or the tasks at hand are not split.
        """
        if check_split(name) == "all":
            return self
        self._need_end("split()")
        splits = [self._source.split(index) for index in self._indices]
        if None in splits:
            raise ConfigurationError(f"the tasks of {self._source.name} are not split; use split='all'")
        return self._view([index for index, split in zip(self._indices, splits, strict=True) if split == name])

    def shuffle(self, seed: int) -> Self:
        """Return the tasks in an order that depends on the seed alone."""
        self._need_end("shuffle()")
        order = np.random.default_rng(seed).permutation(len(self._indices))
        return self._view([self._indices[position] for position in order])

    def spread(self, number: int) -> Self:
        """Return so many of the tasks, or all if there are fewer.

        Of a finite set evenly spaced ones, so that each category of the official tasks, which go by category, is there;
        of an endless one the first.
        """
        if not self.is_finite:
            return self[:number]
        size = len(self._indices)
        wanted = min(number, size)
        return self._view([self._indices[place * size // wanted] for place in range(wanted)])

    def kinds(self) -> dict[str, Self]:
        """Return the tasks by kind; those of a kind are about equally hard."""
        indices: dict[str, Sequence[int]] = {}
        if not self.is_finite:
            period = self._source.period
            for position in range(period):
                indices[self._source.kind(self._indices[position])] = self._indices[position::period]
        else:
            groups: dict[str, list[int]] = {}
            for index in self._indices:
                groups.setdefault(self._source.kind(index), []).append(index)
            indices.update(groups)
        return {kind: self._view(indices[kind]) for kind in sorted(indices)}

    def kind_of(self, task_id: str) -> str | None:
        """Return the kind of the task with an id, or None if the set has no such task."""
        index = self._find(task_id)
        return None if index is None else self._source.kind(index)

    def sample(self, rng: np.random.Generator) -> Task:
        """Return a task drawn uniformly (of an endless set: from its first two thousand million).

        Raises:
            ConfigurationError: If the set is empty.
        """
        if not self:
            raise ConfigurationError("cannot sample from an empty TaskSet; loosen what it was filtered by")
        bound = len(self._indices) if self.is_finite else min(_SAMPLED, len(self._indices))
        return self._source.task(self._indices[int(rng.integers(bound))])

    def to_hf_dataset(self) -> datasets.Dataset:
        """Return the tasks as a dataset of Hugging Face, one a row, with what makes each hard in numbers.

        Columns: `id`, `category`, `domains`, `turns`, `ground_truth`, `initial_config` (JSON text), `missed_functions`
        (likewise), `excluded_functions`, `long_context`, `path`, `source`, `version`, and `difficulty_*` as
        `Difficulty` has them.

        Raises:
            ConfigurationError: If the set is endless, or `datasets` is not installed.
        """
        from envtune_gym.tasks.hf import to_dataset

        self._need_end("to_hf_dataset()")
        return to_dataset(self)

    @classmethod
    def from_hf_dataset(cls, dataset: datasets.Dataset) -> Self:
        """Return the tasks of such a dataset; further columns are left aside.

        Raises:
            DataError: If a column is missing, or a row is not a task.
        """
        from envtune_gym.tasks.hf import from_dataset

        return cls(from_dataset(dataset))

    def without_quarantined(self) -> Self:
        """Return the tasks that the audit of the official data found fair (`load_quarantine` lists the others)."""
        quarantined = load_quarantine()
        self._need_end("without_quarantined()")
        return self._view([index for index in self._indices if self._source.task_id(index) not in quarantined])

    def _view(self, indices: Sequence[int]) -> Self:
        return type(self)(self._source, indices)

    def _need_end(self, what: str) -> None:
        if not self.is_finite:
            raise ConfigurationError(
                f"{what} needs a finite TaskSet, and {self._source.name} is endless; slice it: [:50]"
            )

    @cached_property
    def _members(self) -> frozenset[int] | range:
        return self._indices if isinstance(self._indices, range) else frozenset(self._indices)

    def _find(self, task_id: str) -> int | None:
        """Return the source's index of a task of this set."""
        index = self._source.index_of(task_id)
        return index if index is not None and index in self._members else None

    def _similar(self, task_id: str) -> str:
        comparable = self.is_finite and isinstance(task_id, str)
        near = difflib.get_close_matches(task_id, self.ids, n=3) if comparable else []
        return f"; similar: {', '.join(near)}" if near else ""


class _Joined(TaskSource):
    """Finite task sets one after another."""

    def __init__(self, sets: tuple[TaskSet, ...]) -> None:
        self._sets = sets
        self._ends = list(accumulate(len(tasks) for tasks in sets))
        self.size = self._ends[-1]
        self.name = " + ".join(dict.fromkeys(tasks._source.name for tasks in sets))
        self.version = ""
        self.categories = tuple(dict.fromkeys(category for tasks in sets for category in tasks.categories))

    def _locate(self, index: int) -> tuple[TaskSource, int]:
        """Return the source behind an index, and its own index there."""
        part = bisect_right(self._ends, index)
        tasks = self._sets[part]
        return tasks._source, tasks._indices[index - self._ends[part] + len(tasks)]

    def task(self, index: int) -> Task:
        """Return the task at an index."""
        source, own = self._locate(index)
        return source.task(own)

    def task_id(self, index: int) -> str:
        """Return the id of the task at an index."""
        source, own = self._locate(index)
        return source.task_id(own)

    def category(self, index: int) -> str:
        """Return the category of the task at an index."""
        source, own = self._locate(index)
        return source.category(own)

    def split(self, index: int) -> str | None:
        """Return the split of the task at an index, or None."""
        source, own = self._locate(index)
        return source.split(own)

    def kind(self, index: int) -> str:
        """Return the kind of the task at an index."""
        source, own = self._locate(index)
        return source.kind(own)

    def index_of(self, task_id: str) -> int | None:
        """Return the index of the task with an id, or None."""
        return self._by_id.get(task_id)

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {self.task_id(index): index for index in range(self._ends[-1])}


def _list_source(tasks: Iterable[Task]) -> ListSource:
    tasks = tuple(tasks)
    seen: set[str] = set()
    for task in tasks:
        if not isinstance(task, Task):
            raise ConfigurationError(f"a TaskSet is made of Task objects, not {type(task).__name__}")
        if task.id in seen:
            raise ConfigurationError(f"the task id {task.id!r} occurs twice; ids are unique within a set")
        seen.add(task.id)
    return ListSource(tasks)
