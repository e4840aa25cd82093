"""Are tasks fair by the official backends and checker? What the second proof asserts of a task.

A task is turned into the official form, goes through JSON, and is then run by official code alone. The logic is
independent of the proof that the generator itself makes (`envtune_gym.tasks.generation.proof`), so that a mistake in
one of the two is seen by the other. To be quick, worlds are copied before each turn, and what changes the turn runs on
a copy; the official functions still run the calls and compare states and results.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from official_worlds import WorldCopy, checker, fills, is_nameable, isolated, run
from provenance import Known, called_name, documents, scalars, tools_of

from envtune_gym import Task

__all__ = ["CHECKS", "Fault", "check_entry", "check_task"]

CHECKS = {
    "format": "the entry has the official form, and the official backends load it",
    "call fails": "each call of the ground truth succeeds",
    "invalid": "the ground truth is valid",
    "nothing passes": "doing nothing fails in each turn with a ground truth, by state or results",
    "not needed": "without any one call its turn fails, by state or results",
    "hidden order": "neighbouring calls that notice nothing of each other may change places",
    "random order": "no neighbouring calls both draw random numbers of a domain, in whichever order",
    "reading harms": "reading more than is needed, before each turn, leaves it valid",
    "unheard of": "each argument stands in the conversation so far, in a result or in the tool's documentation",
    "withheld": "no tool is needed before it comes back",
    "nothing left out": "what answers a vague request says something that was not known before",
}
"""The checks, by the name of their fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a task fails in: the check, and where."""

    task_id: str
    check: str
    detail: str


@dataclass
class _Turn:
    """A turn of the ground truth as it went officially.

    Attributes:
        calls: Its calls.
        results: Their results.
        drawn: For each call the domains in which it drew random numbers.
        moved: For each call whether it changed the working directory, on which later calls depend in plain sight.
        seen: The results of all earlier turns.
        before: The world before it, pickled.
        after: The world after it, likewise.
    """

    calls: list[str]
    results: list[str] = field(default_factory=list)
    drawn: list[set[str]] = field(default_factory=list)
    moved: list[bool] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    before: bytes = b""
    after: bytes = b""

    @cached_property
    def _end(self) -> WorldCopy:
        return WorldCopy.load(self.after)

    def passes(self, world: WorldCopy, results: Sequence[str]) -> bool:
        """Tell whether the turn passes officially, given the world and the results that other calls led to."""
        return bool(
            checker.state_checker(world.instances, self._end.instances)["valid"]
            and checker.response_checker([*self.seen, *results], self.results, 0)["valid"]
        )

    def passes_with(self, calls: Sequence[str]) -> bool:
        """Tell whether the turn passes officially if it is answered by other calls."""
        world = WorldCopy.load(self.before)
        return self.passes(world, world.run(calls) if calls else [])


def check_task(task: Task, counts: Counter[str] | None = None) -> list[Fault]:
    """Return what is wrong with a task, as the benchmark would read it from a file.

    Args:
        task: The task.
        counts: Gains how often each check was made.
    """
    entry = json.loads(json.dumps(task.to_bfcl()))
    truth = json.loads(json.dumps(task.ground_truth))
    return check_entry(entry, truth, list(task.turns), task.long_context, Counter() if counts is None else counts)


def check_entry(
    entry: dict[str, Any], truth: list[list[str]], said: Sequence[str], filled: bool, counts: Counter[str]
) -> list[Fault]:
    """Return what is wrong with an official entry.

    Args:
        entry: The entry.
        truth: Its ground truth.
        said: What the user says by turn; in turns at which tools come back, whatever stands in for the message.
        filled: Whether the official filler is meant to be loaded.
        counts: Gains how often each check was made.
    """
    found = [("format", detail) for detail in _check_format(entry, truth, filled)]
    counts["format"] += 1
    if not found:
        with isolated() as name:
            try:
                turns = _run(entry, truth, name)
            except Exception as error:  # the official loaders raise whatever they run into
                found = [("format", f"the official backends cannot load it: {error!r}")]
            else:
                found = list(_check_run(entry, truth, turns, said, name, counts))
    return [Fault(entry["id"], check, detail) for check, detail in found]


def _check_format(entry: dict[str, Any], truth: list[list[str]], filled: bool) -> Iterator[str]:
    question = entry["question"]
    missed = entry.get("missed_function", {})
    if len(question) != len(truth):
        yield f"{len(question)} turns, {len(truth)} of them with a ground truth"
    for turn, messages in enumerate(question):
        back = str(turn) in missed
        if [message.get("role") for message in messages] != ([] if back else ["user"]):
            yield f"turn {turn}: the messages {messages}"
        elif not back and not messages[0]["content"].strip():
            yield f"turn {turn}: nothing is said"
    domains = entry["involved_classes"]
    if not set(entry["initial_config"]) <= set(domains):
        yield f"configuration of domains that are not involved: {sorted(entry['initial_config'])}"
    documented = {name for domain in domains for name in tools_of(domain)}
    for turn, names in missed.items():
        if not (turn.isdecimal() and 0 < int(turn) < len(question)) or not set(names) <= documented:
            yield f"missed_function {turn}: {names}"
    if not is_nameable(entry["id"]):
        yield "the official executor makes a variable's name of the id, and cannot of this one"
    if fills(entry["id"]) != filled:
        yield "by the id the official checker takes its own filler for long contexts"


def _run(entry: dict[str, Any], truth: list[list[str]], name: str) -> list[_Turn]:
    """Run the ground truth call by call under the entry's own id, as the benchmark's runner does."""
    where = (entry["involved_classes"], entry["initial_config"], fills(entry["id"]), name, entry["id"])
    world = WorldCopy(run([], *where)[1])
    seen: list[str] = []
    turns = [_Turn(calls) for calls in truth]
    state = world.dump()
    random, place = world.random_states(), world.working_directory()
    for turn in turns:
        turn.before, turn.seen = state, list(seen)
        for call in turn.calls:
            turn.results += run([call], *where)[0]
            place, before = world.working_directory(), place
            turn.moved.append(place is not before)
            now = world.random_states()
            turn.drawn.append({domain for domain in now if now[domain] != random[domain]})
            random = now
        state = world.dump() if turn.calls else state
        turn.after = state
        seen += turn.results
    return turns


def _check_run(
    entry: dict[str, Any],
    truth: list[list[str]],
    turns: Sequence[_Turn],
    said: Sequence[str],
    name: str,
    counts: Counter[str],
) -> Iterator[tuple[str, str]]:
    for turn in turns:
        for call, result in zip(turn.calls, turn.results, strict=True):
            counts["call fails"] += 1
            if _failed(result):
                yield "call fails", f"{call}: {result[:200]}"
    counts["invalid"] += 1
    verdict = checker.multi_turn_checker([[calls] for calls in truth], truth, entry, entry["id"], name)
    if not verdict["valid"]:
        yield "invalid", str(verdict["error_type"])
    for turn in turns:
        yield from _check_turn(turn, counts)
    yield from _check_reads(turns, counts)
    yield from _check_arguments(entry, turns, said, counts)
    yield from _check_withheld(entry.get("missed_function", {}), truth, counts)


def _failed(result: str) -> bool:
    if result.startswith("Error"):
        return True
    try:
        shown = json.loads(result)
    except ValueError:
        return False
    return isinstance(shown, dict) and "error" in shown


def _check_turn(turn: _Turn, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    if not turn.calls:
        return
    counts["nothing passes"] += 1
    if turn.passes_with([]):
        yield "nothing passes", ", ".join(turn.calls)
    for index, call in enumerate(turn.calls):
        rest = [*turn.calls[:index], *turn.calls[index + 1 :]]
        counts["not needed"] += 1
        if turn.passes_with(rest):
            yield "not needed", call
    for index in range(len(turn.calls) - 1):
        yield from _check_neighbours(turn, index, counts)


def _check_neighbours(turn: _Turn, index: int, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Exchange a call with the next one: where neither shows it, and neither has failed by it, nothing may change."""
    first, second = turn.calls[index : index + 2]
    world = WorldCopy.load(turn.before)
    results = world.run([*turn.calls[:index], second, first, *turn.calls[index + 2 :]])
    changed = {results[index] != turn.results[index + 1], results[index + 1] != turn.results[index]}
    counts["hidden order"] += 1
    noticed = changed != {False} or any(turn.moved[index : index + 2])
    if not noticed and not turn.passes(world, results):
        yield "hidden order", f"{first} and {second}"
    counts["random order"] += 1
    both_draw = turn.drawn[index] & turn.drawn[index + 1]
    if both_draw and not any(map(_failed, results[index : index + 2])):
        yield "random order", f"{first} and {second}"


def _check_reads(turns: Sequence[_Turn], counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Go through all turns, before each of which everything is read that can be read without an argument."""
    world = WorldCopy.load(turns[0].before)
    reads = _harmless(world)
    for turn in turns:
        before = world.dump()
        world.run(reads)
        if not world.same(WorldCopy.load(before)):  # a read that changes nothing at first may do so later
            world = WorldCopy.load(before)
            reads = _harmless(world)
            world.run(reads)
        results = world.run(turn.calls) if turn.calls else []
        counts["reading harms"] += 1
        if turn.calls and not turn.passes(world, results):
            yield "reading harms", ", ".join(reads)
            return


_restless: set[str] = set()
"""Calls that have been seen to change some world; they are tried one by one, and all others together."""


def _harmless(world: WorldCopy) -> list[str]:
    """Return calls without arguments that leave a world as it is."""
    pickled = world.dump()

    def leaves_alone(calls: Sequence[str]) -> bool:
        other = WorldCopy.load(pickled)
        other.run(calls)
        return other.same(world)

    calls = [
        f"{name}()"
        for domain in world.instances
        for name, entry in tools_of(domain).items()
        if not entry["parameters"]["required"]
    ]
    calm = [call for call in calls if call not in _restless]
    if not leaves_alone(calm):
        _restless.update(call for call in calm if not leaves_alone([call]))
    return [call for call in calls if call not in _restless or leaves_alone([call])]


def _check_arguments(
    entry: dict[str, Any], turns: Sequence[_Turn], said: Sequence[str], counts: Counter[str]
) -> Iterator[tuple[str, str]]:
    owners = {name: domain for domain in entry["involved_classes"] for name in tools_of(domain)}
    known = Known()
    missed = entry.get("missed_function", {})
    for number, turn in enumerate(turns):
        values = [(called_name(call), value) for call in turn.calls for value in scalars(call)]
        waiting = number and not turns[number - 1].calls and str(number) not in missed
        if waiting:
            counts["nothing left out"] += 1
            if turn.calls and all(known.has(one) or documents(owners[tool], tool, one) for tool, one in values):
                yield "nothing left out", said[number - 1]
        known.read(said[number])
        for call, result in zip(turn.calls, turn.results, strict=True):
            tool = called_name(call)
            for value in scalars(call):
                counts["unheard of"] += 1
                if not known.has(value) and not documents(owners[tool], tool, value):
                    yield "unheard of", f"{call}: {value!r}"
            known.read(result)


def _check_withheld(
    missed: dict[str, list[str]], truth: Sequence[Sequence[str]], counts: Counter[str]
) -> Iterator[tuple[str, str]]:
    for back, names in missed.items():
        counts["withheld"] += 1
        early = {called_name(call) for calls in truth[: int(back)] for call in calls} & set(names)
        if early or not {called_name(call) for call in truth[int(back)]} & set(names):
            yield "withheld", f"turn {back}: {', '.join(names)}"
