"""The proof that a task is fair: its ground truth is run in many ways, most of which must fail.

A task passes if

1. every call of the ground truth succeeds;
2. every argument is said by the user or shown by an earlier result, or is a choice that the documentation lists;
3. without any one call, its turn fails: a change of state or a required result is missing (so doing nothing fails too);
4. calls of a turn that do not notice each other may come in either order, and no turn draws random numbers twice;
5. reading more than is needed does no harm;
6. what is withheld is not needed before it comes back, and what is left unsaid cannot be known before it is said.

`prove` runs on this package's world; `benchmarks/second_proof.py` repeats it with the official backends and checker.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class
from envtune_gym.tasks.goals.plan import Discarded
from envtune_gym.tasks.stated import Stated
from envtune_gym.tasks.task import Task
from envtune_gym.world import World

__all__ = ["harmless_reads", "is_grounded", "prove"]


@dataclass(frozen=True, slots=True)
class _TurnRun:
    """A turn of the ground truth as it went.

    Attributes:
        before: The world before it.
        after: The world after it; neither is ever run.
        calls: Its calls.
        results: The texts of their results.
        seen: Results of all earlier turns, which count as given.
    """

    before: World
    after: World
    calls: list[Call]
    results: list[str]
    seen: Counter[str]

    def passes(self, world: World, results: Sequence[str]) -> bool:
        """Tell whether other calls would pass in this turn, by state and by results."""
        if not world.same_state(self.after):
            return False
        had = Counter(results)
        return all(had[text] + self.seen[text] >= count for text, count in Counter(self.results).items())


def prove(task: Task) -> None:
    """Prove that a task is fair.

    Raises:
        Discarded: If it is not; the reason is one of the six above.
    """
    runs = _run(task)
    _check_grounding(task, runs)
    for run in runs:
        _check_each_call_matters(run)
    _check_order(runs)
    _check_reads(runs)
    _check_withheld(task)


def _run(task: Task) -> list[_TurnRun]:
    world = World(task.domains, task.initial_config, task.long_context)
    seen: Counter[str] = Counter()
    runs: list[_TurnRun] = []
    draws = {name for domain in task.domains for name in domain_class(domain).random_tools}
    for texts in task.ground_truth:
        before = world.fork()
        calls = [parse_call(text) for text in texts]
        if sum(call.name in draws for call in calls) > 1:
            raise Discarded("random order", "a turn draws twice")
        results: list[str] = []
        for call in calls:
            result = world.run(call)
            fault = result.error or result.silent
            if fault is not None:
                raise Discarded("call fails", f"{call.source()}: {fault.code}")
            results.append(result.content)
        runs.append(_TurnRun(before, world.fork(), calls, results, seen.copy()))
        seen.update(results)
    return runs


def _check_each_call_matters(run: _TurnRun) -> None:
    for left_out in range(len(run.calls)):
        world = run.before.fork()
        results = [world.run(call).content for index, call in enumerate(run.calls) if index != left_out]
        if run.passes(world, results):
            raise Discarded("call not needed", run.calls[left_out].source())


def _check_order(runs: Sequence[_TurnRun]) -> None:
    """Swap neighbouring calls of a turn; if neither notices, this turn and all later ones must pass."""
    moving = {name for domain in runs[0].before.domains for name in domain_class(domain).moving_tools}
    for turn, run in enumerate(runs):
        for first in range(len(run.calls) - 1):
            pair = run.calls[first : first + 2]
            if moving.intersection(call.name for call in pair):
                continue
            world = run.before.fork()
            results = [world.run(call).content for call in run.calls[:first]]
            swapped = [world.run(call).content for call in reversed(pair)]
            if swapped[::-1] != run.results[first : first + 2]:
                continue
            results += swapped + [world.run(call).content for call in run.calls[first + 2 :]]
            if not (run.passes(world, results) and _passes_later(runs[turn + 1 :], world)):
                raise Discarded("hidden order", " and ".join(call.source() for call in pair))


def _passes_later(runs: Sequence[_TurnRun], world: World) -> bool:
    """Tell whether the later turns pass from a world that has come about in another way."""
    return all(run.passes(world, [world.run(call).content for call in run.calls]) for run in runs)


def _check_reads(runs: Sequence[_TurnRun]) -> None:
    """Read what can be read before each turn: all turns must pass."""
    reads = [harmless_reads(runs[0].before)] * len(runs)
    if not _passes_with(reads, runs):  # what changes nothing at first may do so later
        reads = [harmless_reads(run.before) for run in runs]
        if not _passes_with(reads, runs):
            raise Discarded("reading harms", ", ".join(dict.fromkeys(chain.from_iterable(reads))))


def harmless_reads(world: World) -> list[str]:
    """Return the tools that need no argument, draw nothing, and change nothing that shows when called in a world.

    A call that changes what shows is no read: whoever makes it means to.
    """
    world = world.fork()
    found: list[str] = []
    for domain in world.domains:
        before = world.snapshot()
        for name in _needing_nothing(domain):
            world.call(name, {})
            if world.same_state(before):
                found.append(name)
            else:
                world.restore(before)
    return found


def _passes_with(reads: Sequence[Sequence[str]], runs: Sequence[_TurnRun]) -> bool:
    """Tell whether all turns pass if some tools are called before each."""
    world = runs[0].before.fork()
    for tools, run in zip(reads, runs, strict=True):
        for name in tools:
            world.call(name, {})
        if not _passes_later([run], world):
            return False
    return True


@lru_cache(maxsize=128)
def _needing_nothing(domain: str) -> tuple[str, ...]:
    """Return the tools of a domain that need no argument, neither draw random numbers nor move."""
    made = domain_class(domain)
    return tuple(
        name
        for name, tool in made.tools.items()
        if name not in made.random_tools
        and name not in made.moving_tools
        and all(parameter.default is not parameter.empty for parameter in tool.signature.parameters.values())
    )


def _check_grounding(task: Task, runs: Sequence[_TurnRun]) -> None:
    """Check that every argument is known when it is needed, and that what is left unsaid is not known before."""
    said: list[str] = []
    shown: list[str] = []
    waiting = False  # whether the turn before could not be solved for lack of something that only the user knows
    for turn, run in enumerate(runs):
        before = list(said)
        said.append(task.turns[turn])
        values = [(call, value) for call in run.calls for value in _scalars(call.kwargs)]
        if (
            waiting
            and run.calls
            and not any(_is_news(value, before, shown, call.name, run.before) for call, value in values)
        ):
            raise Discarded("nothing was left out", task.turns[turn - 1])
        for call, content in zip(run.calls, run.results, strict=True):
            for value in _scalars(call.kwargs):
                if not is_grounded(value, said, shown, call.name, task.domains):
                    raise Discarded("argument not grounded", f"{call.source()}: {value!r}")
            shown.append(content)
        waiting = not run.calls and turn + 1 not in task.missed_functions


def _is_news(value: Any, said: Sequence[str], shown: Sequence[str], tool: str, world: World) -> bool:
    """Tell whether nobody could have known a value: nothing has said it, and the state leaves a choice at least."""
    if is_grounded(value, said, shown, tool, world.domains):
        return False
    if isinstance(value, str) and any(value.casefold() in text.casefold() for text in (*said, *shown)):
        return False  # in other letters
    places: dict[str, set[Any]] = {}
    for place, found in _places(world.state(), ""):
        places.setdefault(place, set()).add(found)
    return not any(options == {value} for options in places.values())


def _places(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the scalars of a state with where they stand; entries of a list or of a table count as one place."""
    if isinstance(value, dict):
        table = len(value) > 1 and all(isinstance(item, dict) for item in value.values())
        for key, item in value.items():
            yield from _places(item, f"{place}/*" if table else f"{place}/{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _places(item, f"{place}/*")
    else:
        yield place, value


def is_grounded(value: Any, said: Sequence[str], shown: Sequence[str], tool: str, domains: tuple[str, ...]) -> bool:
    """Tell whether an agent can know an argument's value.

    Args:
        value: A string or number.
        said: What the user has said so far.
        shown: The results so far.
        tool: The tool that is called; values that its documentation lists can be chosen.
        domains: The domains of the task.
    """
    if isinstance(value, str):
        written = json.dumps(value)[1:-1]  # as results have it: a line break is two characters there
        if any(value in text for text in reversed(said)) or any(written in text for text in reversed(shown)):
            return True
        has_words = any(map(str.isalnum, value))
        if (len(value) > 2 or not has_words) and value in _documentation(domains, tool):
            return True
        return has_words and Stated("\n".join(said)).string(value)
    text = json.dumps(value)
    if any(text in one for one in reversed(said)) or any(text in one for one in reversed(shown)):
        return True
    return Stated("\n".join(said)).number(value)


@lru_cache(maxsize=512)
def _documentation(domains: tuple[str, ...], tool: str) -> str:
    domain = next(domain for domain in domains if tool in domain_class(domain).tools)
    return json.dumps(domain_class(domain).tools[tool].schema)


def _scalars(value: Any) -> Iterator[Any]:
    """Yield the strings and numbers within an argument; truth values and None are choices, not information."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield value


def _check_withheld(task: Task) -> None:
    for back, names in task.missed_functions.items():
        needed = {parse_call(text).name for text in task.ground_truth[back]}
        earlier = {parse_call(text).name for calls in task.ground_truth[:back] for text in calls}
        if not needed.issuperset(names) or earlier.intersection(names):
            raise Discarded("withheld tool", ", ".join(names))
