"""A plan: the scenario in the making that goals write into, turn by turn, by asking for things and doing them.

The world behind it is a real one. A goal says what the user wants (`ask`), runs the calls that achieve it (`call`), and
leaves behind what later goals may build on (`give`): a booking, a ticket, an amount of money.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from envtune_gym.callsyntax import Call
from envtune_gym.domains import domain_class
from envtune_gym.errors import TaskError
from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.goals.people import Cast
from envtune_gym.tasks.goals.wording import word
from envtune_gym.world import World

__all__ = ["Discarded", "Plan", "Step", "Thing", "Unfit"]

B = TypeVar("B")


class Unfit(Exception):
    """Raised by a goal, before its first call, that does not fit the plan as it stands."""


class Discarded(Exception):
    """A task that is given up while it is made.

    Attributes:
        reason: Why, in words that can be counted.
        detail: What was found.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(eq=False, slots=True)
class Thing:
    """Something that requests can be about: a booking, a file, an amount.

    Attributes:
        kind: What it is.
        label: Words that single it out among all others.
        short: Words for it while it is the last of its kind that was spoken of.
        known: Whether the agent has seen what its calls need: it has been said, or a result has shown it.
        values: What goals keep about it.
    """

    kind: str
    label: str
    short: tuple[str, ...] = ()
    known: bool = True
    values: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.values[name] = value


@dataclass(slots=True)
class Step:
    """What one goal adds: a request and the calls that meet it.

    Attributes:
        goal: Name of the goal.
        request: What the user says.
        vague: The same without something that nobody could guess or look up; empty if there is no such wording.
        answer: What was left out, said in the next turn.
        withhold: Tools without which the request cannot be met.
        calls: The calls, with the texts of their results.
    """

    goal: str
    request: str = ""
    vague: str = ""
    answer: str = ""
    withhold: tuple[str, ...] = ()
    calls: list[Call] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


class Plan:
    """A scenario in the making.

    Args:
        domains: The domains involved.
        seed: Text that decides everything drawn.

    Attributes:
        domains: The domains involved.
        rng: What scenarios and goals draw from.
        cast: The people of the scenario, the same in all domains.
        steps: What the goals so far have added.
    """

    def __init__(self, domains: tuple[str, ...], seed: str) -> None:
        self.domains = domains
        self.rng = Rng(seed)
        self.cast = Cast(self.rng)
        self.steps: list[Step] = []
        self._books: dict[type, Any] = {}
        self._things: dict[str, list[Thing]] = {}
        self._spoken: dict[str, Thing] = {}
        self._draws = {tool for name in domains for tool in domain_class(name).random_tools}

    def start(self, config: dict[str, dict[str, Any]]) -> None:
        """Build the world from the configuration of each domain."""
        self.world = World(self.domains, config)

    # What scenarios and goals remember.

    def keep(self, book: Any) -> None:
        """Keep a scenario's own notes: an object of a class of its own, found again by that class."""
        self._books[type(book)] = book

    def book(self, kind: type[B]) -> B:
        """Return the notes of a class that a scenario has kept."""
        book: B = self._books[kind]
        return book

    def give(self, kind: str, label: str, short: Iterable[str] = (), *, known: bool = True, **values: Any) -> Thing:
        """Add something that later goals may be about, and return it.

        Args:
            kind: What it is; goals ask for it by that word.
            label: Words that single it out: "the ticket 'Broken scanner'".
            short: Words for it while it is the last of its kind that was spoken of: "that ticket".
            known: Whether results or the user have shown what calls about it need (its id, for example).
            values: What goals need to know about it.
        """
        thing = Thing(kind, label, tuple(short), known, values)
        self._things.setdefault(kind, []).append(thing)
        if self.steps:  # a scenario's things have not been spoken of
            self._spoken[kind] = thing
        return thing

    def drop(self, thing: Thing) -> None:
        """Forget something that is gone or not to be used again."""
        self._things[thing.kind].remove(thing)

    def has(self, kind: str) -> bool:
        """Tell whether there is anything of a kind."""
        return bool(self._things.get(kind))

    def has_new(self, kind: str) -> bool:
        """Tell whether a goal has left anything of a kind."""
        return kind in self._spoken and bool(self._things[kind])

    def things(self, kind: str) -> list[Thing]:
        """Return all things of a kind, oldest first."""
        return list(self._things.get(kind, ()))

    def take(self, kind: str, known: bool | None = None, where: Callable[[Thing], bool] | None = None) -> Thing:
        """Return something of a kind to be about: often the latest.

        Args:
            kind: The kind.
            known: Only what the agent knows, or does not know, enough about; None: either.
            where: Told a thing; only those for which it is true.

        Raises:
            Unfit: If there is none.
        """
        found = [
            thing
            for thing in self._things.get(kind, ())
            if (known is None or thing.known == known) and (where is None or where(thing))
        ]
        if not found:
            raise Unfit(kind)
        return found[-1] if self.rng.chance(0.6) else self.rng.pick(found)

    def has_come_up(self, text: str) -> bool:
        """Tell whether an earlier goal's request or result holds a text."""
        return any(text in one for step in self.steps for one in (step.request, *step.results))

    def has_shown(self, name: str, /, **arguments: Any) -> bool:
        """Tell whether an earlier result holds what a reading call would show now, so that nobody needs to make it."""
        content = self.world.run(Call(name, arguments)).content
        return any(content in result for step in self.steps for result in step.results)

    def just_called(self, name: str, **arguments: Any) -> bool:
        """Tell whether the last call before the present goal was this one, with these arguments among others.

        Some calls do not show which of them came first, though it matters: writing to a file and copying it. One turn
        must not have both in a row.
        """
        calls = self.steps[-2].calls if len(self.steps) > 1 else []
        return bool(calls) and calls[-1].name == name and arguments.items() <= calls[-1].kwargs.items()

    def lately_called(self, *tools: str, steps: int = 2) -> bool:
        """Tell whether one of the last steps, which may be part of the same turn, calls any of some tools.

        Calls that undo or overwrite each other make a strange message, and no result shows in which order they come.
        """
        return any(call.name in tools for step in self.steps[-1 - steps : -1] for call in step.calls)

    # What goals do.

    def ask(
        self,
        *requests: str,
        vague: Sequence[str] = (),
        answer: Sequence[str] = (),
        withhold: Sequence[str] = (),
        **values: object,
    ) -> None:
        """Say what the user wants; each goal asks once, before its first call.

        Args:
            requests: Templates of the request (see `wording`).
            vague: Templates that leave out something which the user alone knows.
            answer: Templates in which the user then says it.
            withhold: Tools of this goal that nothing can stand in for.
            values: What the templates speak of. A `Thing` becomes "that ticket", or its label if that is not clear.
        """
        step = self.steps[-1]
        # Whatever is spoken of in a vague request and in its answer is named in the same words.
        texts = {name: self._refer(value) if isinstance(value, Thing) else str(value) for name, value in values.items()}
        step.request = word(self.rng, requests, texts)
        if vague:
            step.vague = word(self.rng, vague, texts)
            step.answer = word(self.rng, answer, texts)
        step.withhold = tuple(withhold)

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Run a call of the solution and return its result; one that is not a JSON object gives `{}`.

        Raises:
            Discarded: If the call fails or cannot have been meant.
        """
        step = self.steps[-1]
        if not step.request:
            raise TaskError(f"the goal {step.goal!r} calls {name} before it asks")
        call = Call(name, arguments)
        result = self.world.run(call)
        fault = result.error or result.silent
        if fault is not None:
            raise Discarded("call fails", f"{step.goal}: {call.source()}: {fault.code}")
        step.calls.append(call)
        step.results.append(result.content)
        return _read(result.content)

    def draws(self, step: Step) -> bool:
        """Tell whether a step calls a tool that draws random numbers, so that the order of calls matters."""
        return any(call.name in self._draws for call in step.calls)

    def _refer(self, thing: Thing) -> str:
        """Return words for something: short ones while nothing else of its kind can be meant."""
        clear = self._spoken.get(thing.kind) is thing
        self._spoken[thing.kind] = thing
        return self.rng.pick(thing.short) if clear and thing.short else thing.label


def _read(content: str) -> dict[str, Any]:
    try:
        result = json.loads(content)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
