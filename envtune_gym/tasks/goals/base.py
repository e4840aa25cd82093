"""What a goal is: one thing that a user may want, how it is said, and the calls that achieve it.

To add one, write a function of a `Plan` and register it:

    @goal("TicketAPI", needs=("ticket",))
    def close_ticket(plan: Plan) -> None:
        ticket = plan.take("ticket", known=True)
        plan.ask(
            "[Please close|Close|You can close] {ticket}[, it is obsolete|, we no longer need it|].",
            "{ticket_is} no longer needed[, so|;] [close it|please close it].",
            ...
        )
        plan.call("close_ticket", ticket_id=ticket["id"])

The planner offers a goal when its domains are involved and there is something of each kind that it needs. A goal that
finds itself unfit after all raises `Unfit` before its first call. Every argument must come from the request or from the
result of an earlier call; `generation.proof` checks that, and that each call matters.

A domain that has a configuration also has one scenario, which makes it and says what is there.

An outside package names the module of its domain's scenario and goals by an entry point in the group
`envtune_gym.goals`, under the domain's name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks.goals.plan import Plan

__all__ = ["Goal", "goal", "goals_of", "scenario", "scenario_of"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A registered goal.

    Attributes:
        name: Name of its function.
        domains: The domains whose tools it calls.
        needs: Kinds of things that must be there.
        write: The function.
        weight: How often it is taken, in relation to others.
        once: Whether a task has it at most once; others may come back about something else.
    """

    name: str
    domains: tuple[str, ...]
    needs: tuple[str, ...]
    write: Callable[[Plan], None]
    weight: float
    once: bool


_Goal = TypeVar("_Goal", bound=Callable[[Plan], None])
_Scenario = TypeVar("_Scenario", bound=Callable[[Plan], dict[str, Any]])

_GOALS: dict[str, Goal] = {}
_SCENARIOS: dict[str, Callable[[Plan], dict[str, Any]]] = {}


def goal(*domains: str, needs: Iterable[str] = (), weight: float = 1.0, once: bool = False) -> Callable[[_Goal], _Goal]:
    """Register a function as a goal.

    Args:
        domains: The domains whose tools it calls.
        needs: Kinds of things that must be there.
        weight: How often it is taken, in relation to others.
        once: Whether a task has it at most once.

    Raises:
        ConfigurationError: If another goal has the name.
    """

    def register(write: _Goal) -> _Goal:
        name = write.__name__
        if name in _GOALS:
            raise ConfigurationError(f"a goal {name!r} exists already; rename one of the two functions")
        _GOALS[name] = Goal(name, domains, tuple(needs), write, weight, once)
        goals_of.cache_clear()
        return write

    return register


def scenario(domain: str) -> Callable[[_Scenario], _Scenario]:
    """Register a function of a `Plan` that returns a configuration of a domain, and gives what there is in it.

    Raises:
        ConfigurationError: If the domain has one already.
    """

    def register(write: _Scenario) -> _Scenario:
        if domain in _SCENARIOS:
            raise ConfigurationError(f"{domain} has a scenario already")
        _SCENARIOS[domain] = write
        return write

    return register


def scenario_of(domain: str) -> Callable[[Plan], dict[str, Any]]:
    """Return the scenario of a domain.

    Raises:
        ConfigurationError: If the domain's module registers none.
    """
    _load(domain)
    if domain not in _SCENARIOS:
        raise ConfigurationError(f"{domain} has no scenario, so no tasks can be generated for it; see docs/tasks.md")
    return _SCENARIOS[domain]


@lru_cache(maxsize=512)
def goals_of(domains: tuple[str, ...]) -> Mapping[str, Goal]:
    """Return the goals that some domains are enough for, by name."""
    for domain in domains:
        _load(domain)
    if len(domains) > 1:
        importlib.import_module("envtune_gym.tasks.goals.across")
    return {name: _GOALS[name] for name in sorted(_GOALS) if set(_GOALS[name].domains) <= set(domains)}


def _load(domain: str) -> None:
    """Import the module with a domain's goals; an outside package names its own, or has none."""
    if domain in BUILTIN_DOMAINS:
        module = domain_class(domain).__module__.rpartition(".")[2]
        importlib.import_module(f"envtune_gym.tasks.goals.{module}")
        return
    for point in entry_points(group="envtune_gym.goals", name=domain):
        point.load()
