"""Where tasks come from: the interface between a `TaskSet` and the files or generators behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from envtune_gym.tasks.task import CATEGORIES, Task

__all__ = ["ListSource", "TaskSource"]


class TaskSource(ABC):
    """An indexed collection of tasks, finite or endless, that makes a task when it is asked for.

    To add one, give the four attributes and `task`; override the other methods where the answer is known without
    making the task. A source must be picklable, and cheaply so: worker processes get a copy of it.

    Attributes:
        name: What messages call it.
        version: Changes whenever the tasks do.
        categories: The categories that its tasks may have.
        size: Number of tasks, or None if there is no end to them.
        period: Of an endless source: after how many tasks their kinds come again in the same order.
    """

    name: str
    version: str
    categories: tuple[str, ...]
    size: int | None
    period: int = 1

    @abstractmethod
    def task(self, index: int) -> Task:
        """Return the task at an index (not negative, less than `size`); the same one each time."""

    def task_id(self, index: int) -> str:
        """Return the id of the task at an index."""
        return self.task(index).id

    def category(self, index: int) -> str:
        """Return the category of the task at an index."""
        return self.task(index).category

    def split(self, index: int) -> str | None:
        """Return the split of the task at an index; None if the tasks at hand are not split."""
        return None

    def kind(self, index: int) -> str:
        """Return what kind of task is at an index: tasks of a kind are about equally hard."""
        task = self.task(index)
        return f"{task.domains[0]}-{task.category}-t{sum(map(bool, task.ground_truth))}"

    @abstractmethod
    def index_of(self, task_id: str) -> int | None:
        """Return the index of the task with an id, or None if there is none."""


class ListSource(TaskSource):
    """Tasks that are at hand already."""

    def __init__(self, tasks: Sequence[Task], name: str = "list", version: str = "") -> None:
        self.name = name
        self.version = version
        self.size = len(tasks)
        self._tasks = tuple(tasks)
        self._positions = {task.id: index for index, task in enumerate(self._tasks)}
        found = {task.category for task in self._tasks}
        self.categories = (*(c for c in CATEGORIES if c in found), *sorted(found - set(CATEGORIES)))

    def task(self, index: int) -> Task:
        """Return the task at an index."""
        return self._tasks[index]

    def index_of(self, task_id: str) -> int | None:
        """Return the index of the task with an id, or None."""
        return self._positions.get(task_id)
