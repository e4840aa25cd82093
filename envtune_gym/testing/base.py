"""What every suite is told about the domain that it tests, and the worlds that it tests it in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class
from envtune_gym.domains.base import Domain, to_plain
from envtune_gym.tasks import Task, TaskSet, load_tasks
from envtune_gym.testing.values import programs, scalars_in
from envtune_gym.world import World

__all__ = ["Start", "Suite"]


@dataclass(frozen=True)
class Start:
    """Where a world of one domain begins, and what is done in it.

    Attributes:
        domain: The domain.
        config: Its configuration.
        program: Calls to make, one after another.
    """

    domain: str
    config: Mapping[str, Any]
    program: Sequence[Call]

    def world(self) -> World:
        """Return a new world; the configuration is handed over as it is."""
        return World([self.domain], {self.domain: self.config})


class Suite:
    """Base class of the suites; a subclass whose name begins with `Test` is collected by pytest.

    Class attributes:
        domain: Name of the domain.
        configs: Configurations that its worlds start from, beside those of the tasks.
        tasks: Tasks of the domain, as `load_tasks` takes them.
        played: How many of them are played.
        examples: How many random programs a property is tested with; they are the same in each run.
        failing_changes: Names of tools that may fail half-way and leave a changed state behind.
    """

    domain: ClassVar[str]
    configs: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    tasks: ClassVar[str | os.PathLike[str] | TaskSet] = "generated"
    played: ClassVar[int] = 4
    examples: ClassVar[int] = 40
    failing_changes: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def domain_class(cls) -> type[Domain]:
        """Return the class of the domain."""
        return domain_class(cls.domain)

    @classmethod
    def played_tasks(cls) -> TaskSet:
        """Return the tasks that are played."""
        return load_tasks(cls.tasks, domains=(cls.domain,))[: cls.played]

    @classmethod
    def check_programs(cls, check: Callable[[Start], None]) -> None:
        """Run a check on random programs, from each of the domain's starts."""

        @settings(
            max_examples=cls.examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(_starts(cls))
        def run(start: Start) -> None:
            check(start)

        run()


def _starts(suite: type[Suite]) -> SearchStrategy[Start]:
    """Return random programs that call the domain's tools, some as a task solves it, from one of its starts."""
    tools = suite.domain_class().tools
    played = suite.played_tasks()
    sources: list[tuple[Mapping[str, Any], tuple[Call, ...]]] = [(config, ()) for config in suite.configs]
    sources += [(task.initial_config.get(suite.domain, {}), _solution(task, tools)) for task in played]
    strategies = []
    for config, solution in sources:
        world = World([suite.domain], {suite.domain: config})
        familiar = scalars_in([to_plain(config), world.state()])
        strategies.append(programs(tools, familiar, solution).map(_starting(suite.domain, config)))
    return _any_of(strategies)


def _solution(task: Task, tools: Mapping[str, Any]) -> tuple[Call, ...]:
    """Return the calls of a ground truth to some tools."""
    calls = (parse_call(text) for texts in task.ground_truth for text in texts)
    return tuple(call for call in calls if set(call.names()) <= set(tools))


def _starting(domain: str, config: Mapping[str, Any]) -> Callable[[list[Call]], Start]:
    """Return what makes a start; each has a configuration of its own, which the domain may spoil."""
    return lambda program: Start(domain, deepcopy(config), program)


def _any_of(strategies: Sequence[SearchStrategy[Start]]) -> SearchStrategy[Start]:
    first, *others = strategies
    for other in others:
        first = first | other
    return first
