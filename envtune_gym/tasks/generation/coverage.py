"""What the stream of generated tasks covers: tools, goals and ways of solving, and what making it costs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from envtune_gym.callsyntax import parse_call
from envtune_gym.domains import domain_class
from envtune_gym.tasks.generated import OTHER_SPLIT, GeneratedSource
from envtune_gym.tasks.generation.proof import prove
from envtune_gym.tasks.goals import goals_of
from envtune_gym.tasks.task import Task

__all__ = ["Cost", "Coverage", "measure_coverage"]


@dataclass(slots=True)
class Cost:
    """What the tasks of a category have cost, on one core.

    Attributes:
        tasks: How many there are.
        making: Seconds for making them, drafts that were discarded and all proofs included.
        proving: Seconds for proving each of them once more.
    """

    tasks: int = 0
    making: float = 0.0
    proving: float = 0.0

    @property
    def rate(self) -> float:
        """Tasks made in a second."""
        return self.tasks / self.making


@dataclass(slots=True)
class Coverage:
    """What some generated tasks cover.

    Attributes:
        tasks: Number of tasks.
        domains: The domains that they begin with.
        calls: Calls in ground truths by domain and tool.
        goals: How often each goal occurs.
        sequences: The different sequences of tools, turn by turn, with how often each occurs.
        discarded: Drafts that were given up, by reason.
        other_split: Drafts that fell into another split than was wanted.
        costs: Time by category.
    """

    tasks: int = 0
    domains: set[str] = field(default_factory=set)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    goals: Counter[str] = field(default_factory=Counter)
    sequences: Counter[tuple[tuple[str, ...], ...]] = field(default_factory=Counter)
    discarded: Counter[str] = field(default_factory=Counter)
    other_split: int = 0
    costs: dict[str, Cost] = field(default_factory=dict)

    @property
    def unused_tools(self) -> list[tuple[str, str]]:
        """Tools that never occur, of the domains that tasks begin with."""
        tools = [(domain, tool) for domain in sorted(self.domains) for tool in domain_class(domain).tools]
        return [tool for tool in tools if tool not in self.calls]

    @property
    def unused_goals(self) -> list[str]:
        """Goals that never occur, of the domains that tasks begin with."""
        return [goal for goal in goals_of(tuple(sorted(self.domains))) if goal not in self.goals]

    @property
    def drafts(self) -> int:
        """Number of drafts of the wanted splits, discarded ones included."""
        return self.tasks + self.discarded.total()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        by_domain: dict[str, dict[str, int]] = {}
        for (domain, tool), count in self.calls.most_common():
            by_domain.setdefault(domain, {})[tool] = count
        return {
            "tasks": self.tasks,
            "drafts": self.drafts,
            "other_split": self.other_split,
            "discarded": dict(self.discarded.most_common()),
            "calls": by_domain,
            "unused_tools": [f"{domain}.{tool}" for domain, tool in self.unused_tools],
            "goals": dict(self.goals.most_common()),
            "unused_goals": self.unused_goals,
            "distinct_goals": len(self.goals),
            "distinct_sequences": len(self.sequences),
            "costs": {category: asdict(cost) for category, cost in self.costs.items()},
        }


def measure_coverage(
    source: GeneratedSource, indices: Iterable[int], on_task: Callable[[], object] | None = None
) -> Coverage:
    """Make tasks and return what they cover.

    Args:
        source: The stream.
        indices: Which of its tasks.
        on_task: Called after each task.
    """
    coverage = Coverage()
    for index in indices:
        task = _timed_task(source, index, coverage)
        coverage.tasks += 1
        coverage.domains.add(task.domains[0])
        coverage.goals.update(source.goals_of_task(index))
        _count_calls(task, coverage)
        if on_task is not None:
            on_task()
    coverage.other_split = coverage.discarded.pop(OTHER_SPLIT, 0)
    return coverage


def _timed_task(source: GeneratedSource, index: int, coverage: Coverage) -> Task:
    """Make a task and prove it once more; count the seconds of both."""
    started = time.perf_counter()
    task = source.make(index, coverage.discarded)
    made = time.perf_counter()
    prove(task)
    proven = time.perf_counter()
    cost = coverage.costs.setdefault(task.category, Cost())
    cost.tasks += 1
    cost.making += made - started
    cost.proving += proven - made
    return task


def _count_calls(task: Task, coverage: Coverage) -> None:
    owners = {tool: domain for domain in task.domains for tool in domain_class(domain).tools}
    turns = tuple(tuple(parse_call(text).name for text in calls) for calls in task.ground_truth)
    coverage.calls.update((owners[name], name) for names in turns for name in names)
    coverage.sequences[turns] += 1
