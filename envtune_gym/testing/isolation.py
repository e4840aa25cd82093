"""Isolation: worlds and rollouts share nothing that can change."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.domains.base import Domain
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.testing.base import Start, Suite
from envtune_gym.testing.hostile import make_env
from envtune_gym.testing.results import kept
from envtune_gym.world import World

__all__ = ["IsolationSuite", "oracle_actions", "shared_data"]

_ROLLOUTS = 16


class IsolationSuite(Suite):
    """Fork, snapshot and restore are complete; nothing reaches another world, the configuration or a module."""

    def test_a_world_reaches_neither_its_twin_nor_its_configuration_nor_a_module(self) -> None:
        """What calls change belongs to the world that they run in."""

        def check(start: Start) -> None:
            config, shared = repr(start.config), shared_data(self.domain_class())
            one, twin = start.world(), start.world()
            before = kept(twin)
            _run(one, start)
            assert kept(twin) == before, "another world of the same configuration has changed"
            assert kept(start.world()) == before, "a new world of the same configuration is another"
            assert repr(start.config) == config, "the configuration has changed: copy with copy_plain what is kept"
            assert shared_data(self.domain_class()) == shared, "data of a module or class has changed"

        self.check_programs(check)

    def test_a_fork_behaves_the_same_and_goes_its_own_way(self) -> None:
        """A fork has all that its original has, and neither hears of the other."""

        def check(start: Start) -> None:
            world = start.world()
            half = len(start.program) // 2
            _run(world, start, stop=half)
            before, fork = kept(world), world.fork()
            assert kept(fork) == before
            outcome = _run(fork, start, start_at=half)
            assert kept(world) == before, "a call in the fork has changed the original"
            after = kept(fork)
            assert _run(world, start, start_at=half) == outcome, "the fork behaved otherwise than its original"
            assert kept(world) == after
            assert kept(fork) == after, "a call in the original has changed the fork"

        self.check_programs(check)

    def test_a_snapshot_can_be_gone_back_to_as_often_as_wanted(self) -> None:
        """After `restore` a world is and behaves as it was and did."""

        def check(start: Start) -> None:
            world = start.world()
            half = len(start.program) // 2
            _run(world, start, stop=half)
            before, snapshot = kept(world), world.snapshot()
            outcomes = []
            for _ in range(3):
                outcomes.append((_run(world, start, start_at=half), kept(world)))
                world.restore(snapshot)
                assert kept(world) == before
            assert outcomes[1:] == outcomes[:-1], "after going back, the same calls came to something else"

        self.check_programs(check)

    def test_a_fork_has_every_attribute(self) -> None:
        """What an instance keeps stands in `state_fields` or `hidden_fields`, or its own `fork` copies it."""

        def check(start: Start) -> None:
            world = start.world()
            _run(world, start)
            domain = world.snapshot().domains[self.domain]
            missing = set(vars(domain)) - set(vars(domain.fork()))
            assert not missing, f"a fork lacks {sorted(missing)}: name them in state_fields or hidden_fields"

        self.check_programs(check)

    def test_what_state_returns_is_fresh(self) -> None:
        """Whoever changes what `state` returned has not changed the world."""

        def check(start: Start) -> None:
            world = start.world()
            _run(world, start)
            before = kept(world)
            _spoil(world.state())
            assert kept(world) == before

        self.check_programs(check)

    def test_interleaved_rollouts_end_as_each_does_alone(self) -> None:
        """The rollouts of a group take turns in one process."""
        for task in self.played_tasks():
            alone = _play(task)
            rollouts = [_Rollout(task) for _ in range(_ROLLOUTS)]
            for action in oracle_actions(task):
                for rollout in rollouts:
                    rollout.step(action)
            assert {rollout.outcome() for rollout in rollouts} == {alone}

    def test_rollouts_that_go_astray_do_not_disturb_their_neighbours(self) -> None:
        """One follows the ground truth, the other the ground truth of other tasks."""
        tasks = self.played_tasks()
        for task in tasks:
            alone = _play(task)
            good, bad = _Rollout(task), _Rollout(task)
            wrecking = [action for other in tasks for action in oracle_actions(other)]
            for index, action in enumerate(oracle_actions(task)):
                bad.step(wrecking[index % len(wrecking)])
                good.step(action)
            assert good.outcome() == alone

    def test_threads_end_as_each_does_alone(self) -> None:
        """The rollouts of a group run in threads."""
        for task in self.played_tasks():
            with ThreadPoolExecutor(_ROLLOUTS) as pool:
                ends = set(pool.map(_play, [task] * _ROLLOUTS))
            assert ends == {_play(task)}


class _Rollout:
    """A rollout of a task, with all that it has been told."""

    def __init__(self, task: Task) -> None:
        self._env = make_env(TaskSet([task]), "python")
        self._told: list[Any] = []

    def step(self, action: str) -> None:
        """Take a step, unless the episode is over."""
        if not self._env.episode.over:
            *told, info = self._env.step(action)
            self._told += [told, info["turn_results"]]

    def outcome(self) -> str:
        """Return what was told and the state."""
        return json.dumps([self._told, self._env.episode.world.state()])


def oracle_actions(task: Task) -> list[str]:
    """Return the actions that play a task's ground truth, one call a step."""
    actions: list[str] = []
    for calls in task.ground_truth:
        actions += [render_calls([parse_call(call)], "python") for call in calls]
        actions.append(render_answer("done", "python"))
    return actions


def shared_data(cls: type[Domain]) -> dict[str, str]:
    """Return what all worlds of a domain can see, as text: plain data of its classes and of its package's modules."""
    places: list[tuple[str, Any]] = []
    for one in cls.__mro__:
        places += [(f"{one.__qualname__}.{name}", value) for name, value in vars(one).items()]
    for module in _modules(cls):
        places += [(f"{module.__name__}.{name}", value) for name, value in vars(module).items()]
    plain = (dict, list, set, int, float, str, tuple, type(None))
    return {name: repr(value) for name, value in places if type(value) in plain and not name.endswith("__")}


def _modules(cls: type[Domain]) -> list[ModuleType]:
    """Return the modules of a domain's package that are loaded, and the domain's own."""
    package = cls.__module__.rpartition(".")[0]
    return [
        module
        for name, module in list(sys.modules.items())
        if name == cls.__module__ or (package and name.startswith(f"{package}."))
    ]


def _run(world: World, start: Start, start_at: int = 0, stop: int | None = None) -> list[str]:
    return [world.run(call).content for call in start.program[start_at:stop]]


def _spoil(value: Any) -> None:
    """Change all containers within a value."""
    if isinstance(value, dict):
        for item in list(value.values()):
            _spoil(item)
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in list(value):
            _spoil(item)
        value.append("spoilt")


def _play(task: Task) -> str:
    rollout = _Rollout(task)
    for action in oracle_actions(task):
        rollout.step(action)
    return rollout.outcome()
