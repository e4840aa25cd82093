"""What a task family is: a function that drafts a scenario by running its calls, and the generator it draws from.

To add a family, write a function of a `Draft` and register it with `@family(<domains>)`. It starts the world, then
asks turn by turn and solves each request by calling tools:

    @family("MathAPI", categories=("base", "miss_param"))
    def sums(draft: Draft) -> None:
        draft.start(MathAPI={})
        for _ in range(MAX_TURNS):
            a, b = draft.rng.between(2, 99), draft.rng.between(100, 999)
            draft.ask(f"Add {a} to {b}.", f"What is {b} plus {a}?", vague=[f"Add {a}."], answer=[f"To {b}."])
            draft.call("add", a=a, b=b)

Honesty is up to the family: every argument comes from a request or from the result of an earlier call, and each call
is needed. `tests/tasks/test_families.py` checks it for all families.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from envtune_gym.callsyntax import Call
from envtune_gym.domains import domain_class
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.tasks.families.filler import can_be_filled, fill
from envtune_gym.tasks.families.phrases import dress
from envtune_gym.tasks.families.rng import Rng
from envtune_gym.tasks.task import CATEGORIES
from envtune_gym.world import World

__all__ = ["MAX_TURNS", "REGISTRY", "Draft", "DraftTurn", "Family", "family"]

MAX_TURNS = 4
"""User turns that a family drafts; shorter tasks are the beginning of its scenario."""

_SIMPLE = ("base", "miss_func", "miss_param")


@dataclass(slots=True)
class DraftTurn:
    """One user turn of a draft.

    Attributes:
        request: What the user says.
        vague: The same without something that nobody could guess or look up; empty if there is no such wording.
        answer: What was left out, said in the next turn.
        withhold: Tools of this turn without which the request cannot be met.
        calls: The calls that solve it.
    """

    request: str
    vague: str
    answer: str
    withhold: tuple[str, ...]
    calls: list[Call] = field(default_factory=list)


class Draft:
    """A scenario in the making: the configuration, the requests, and a world in which the solution is run.

    Args:
        domains: The domains involved.
        seed: Text that decides everything about the draft.
        long_context: Whether the configuration is padded with filler; the scenario stays the same.

    Attributes:
        seed: The seed.
        rng: What the family draws from.
        config: The configuration by domain.
        turns: The turns so far.
        indistinct: Whether two calls of tools without state have the same result, so that one would pass for both.
    """

    def __init__(self, domains: tuple[str, ...], seed: str, long_context: bool = False) -> None:
        self.seed = seed
        self.rng = Rng(seed)
        self.config: dict[str, dict[str, Any]] = {}
        self.turns: list[DraftTurn] = []
        self.indistinct = False
        self._domains = domains
        self._filler_rng = Rng(f"{seed}/filler") if long_context else None
        self._stateless = frozenset(name for name in domains if not domain_class(name).state_fields)
        self._seen: set[str] = set()

    def start(self, **config: dict[str, Any]) -> None:
        """Build the world from the configuration of each domain."""
        if self._filler_rng is not None:
            for domain, values in config.items():
                fill(domain, values, self._filler_rng)
        self.config = config
        self._world = World(self._domains, config)

    def ask(
        self,
        *requests: str,
        vague: Sequence[str] = (),
        answer: Sequence[str] = (),
        withhold: Sequence[str] = (),
    ) -> None:
        """Open the next turn.

        Args:
            requests: Wordings of the request, of which one is taken.
            vague: Wordings that leave something out which the user alone knows.
            answer: Wordings in which the user then gives it.
            withhold: Tools of this turn that nothing can stand in for.
        """
        first = not self.turns
        request = dress(self.rng, self.rng.pick(requests), first)
        left_out = dress(self.rng, self.rng.pick(vague), first) if vague else ""
        self.turns.append(DraftTurn(request, left_out, self.rng.pick(answer) if answer else "", tuple(withhold)))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Run a call of the solution and return its result; one that is not a JSON object gives `{}`.

        Raises:
            TaskError: If the call fails, or cannot have been meant: the family is broken.
        """
        call = Call(name, arguments)
        result = self._world.run(call)
        fault = result.error or result.silent
        if fault is not None:
            raise TaskError(f"a family's own call {call.source()} fails: {fault.code}")
        self._note_repetition(name, result.content)
        self.turns[-1].calls.append(call)
        return _read(result.content)

    @property
    def key(self) -> int:
        """A number that the calls of the first two turns decide; scenarios with different numbers differ in these."""
        calls = [call.source() for turn in self.turns[:2] for call in turn.calls]
        digest = hashlib.sha256("\n".join(calls).encode()).digest()
        return int.from_bytes(digest[:8], "big")

    def _note_repetition(self, name: str, content: str) -> None:
        """Mark the draft if a tool without state repeats an earlier result: nobody could tell a missing call."""
        if self._stateless and self._world.tools[name].domain in self._stateless:
            self.indistinct = self.indistinct or content in self._seen
            self._seen.add(content)


@dataclass(frozen=True, slots=True)
class Family:
    """A registered family.

    Attributes:
        name: Name of its function; part of the ids of its tasks.
        domains: The domains involved.
        categories: The categories that its drafts allow.
        write: The function.
    """

    name: str
    domains: tuple[str, ...]
    categories: tuple[str, ...]
    write: Callable[[Draft], None]

    def draft(self, seed: str, long_context: bool = False) -> Draft:
        """Return the draft of a seed."""
        draft = Draft(self.domains, seed, long_context)
        self.write(draft)
        return draft


REGISTRY: dict[str, Family] = {}
"""All families by name, filled as their modules are imported."""

F = TypeVar("F", bound=Callable[[Draft], None])


def family(*domains: str, categories: Sequence[str] = _SIMPLE) -> Callable[[F], F]:
    """Register a function as a task family.

    Args:
        domains: The domains that its scenarios involve.
        categories: Which of base, miss_func and miss_param it allows: the second needs a tool to withhold in the
            first two turns, the third a vague wording there. long_context is added where a domain has room for it.

    Raises:
        ConfigurationError: If another family has the name, or a category is unknown.
    """
    unknown = [name for name in categories if name not in _SIMPLE]
    if unknown:
        raise ConfigurationError(f"unknown category {unknown[0]!r} of a family; known: {', '.join(_SIMPLE)}")

    def register(write: F) -> F:
        name = write.__name__
        if name in REGISTRY:
            raise ConfigurationError(f"a task family {name!r} exists already; rename one of the two functions")
        filled = ("long_context",) if any(map(can_be_filled, domains)) else ()
        allowed = tuple(category for category in CATEGORIES if category in (*categories, *filled))
        REGISTRY[name] = Family(name, domains, allowed, write)
        return write

    return register


def _read(content: str) -> dict[str, Any]:
    try:
        result = json.loads(content)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
