"""Is a task fair? Runs its ground truth and compares it with what the user says and the tools reveal.

The findings are leads for a reader, not verdicts: a value may be computed in ways that the audit cannot see.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class
from envtune_gym.domains.base import TODAY, Tool
from envtune_gym.official import load_tool_docs
from envtune_gym.tasks.scenarios import scenario_of
from envtune_gym.tasks.stated import Stated
from envtune_gym.tasks.task import Task
from envtune_gym.world import ToolResult, World

__all__ = ["FINDING_KINDS", "Finding", "FindingKind", "audit_task", "audit_tasks"]

FindingKind = Literal[
    "argument_not_stated", "request_differs", "withheld_tool_called", "date_in_past", "ground_truth_fails"
]
FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)

_TODAY = TODAY.isoformat()  # bookings and card dates before it are past

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CARD_MONTH = re.compile(r"(\d\d)/(\d{4})")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a task that a reader should look at.

    Attributes:
        task_id: The task.
        turn: Index of the turn.
        call: Index of the ground-truth call within the turn, or None if it is about the request.
        kind: One of `FINDING_KINDS`.
        detail: What was found, in a sentence.
    """

    task_id: str
    turn: int
    call: int | None
    kind: FindingKind
    detail: str


def audit_tasks(tasks: Iterable[Task], on_task: Callable[[Task], object] | None = None) -> list[Finding]:
    """Return the findings on each task, and those on requests that differ between variants of a scenario.

    Args:
        tasks: The tasks.
        on_task: Called after each, for progress bars.
    """
    tasks = list(tasks)
    findings: list[Finding] = []
    for task in tasks:
        findings += audit_task(task)
        if on_task is not None:
            on_task(task)
    return [*findings, *_compare_variants(tasks)]


def audit_task(task: Task) -> list[Finding]:
    """Return what is doubtful about one task.

    An argument counts as known if a user message so far or an earlier result says it, if the tool's documentation
    lists it, if the state or a tool without required arguments reveals it (the agent can look), if it is a sum,
    difference, product or quotient of two known numbers, or if another value would have the same effect.
    """
    world = World(task.domains, task.initial_config, task.long_context)
    findings: list[Finding] = []
    said = ""
    for turn, calls in enumerate(task.ground_truth):
        said += f"\n{task.turns[turn]}"
        for index, text in enumerate(calls):
            call = parse_call(text)
            before = world.fork()
            result = world.run(call)
            for kind, detail in _check_call(task, turn, call, before, result, said):
                findings.append(Finding(task.id, turn, index, kind, detail))
            said += f"\n{result.content}"
    return findings


def _check_call(
    task: Task, turn: int, call: Call, before: World, result: ToolResult, said: str
) -> Iterator[tuple[FindingKind, str]]:
    if result.error is not None:
        yield "ground_truth_fails", f"{call.name} gives {result.error.code}"
    if call.name in task.withheld(turn):
        yield "withheld_tool_called", f"{call.name} is withheld in this turn"
    for name, value in result.arguments.items():
        if name != "date_of_birth" and isinstance(value, str) and _is_past(value):
            yield "date_in_past", f"{name}={value!r} is before {_TODAY}"
    stated = Stated(said)
    for value in dict.fromkeys(_scalars([*call.args, *call.kwargs.values()])):
        if _says(stated, value) or not _matters(call, value, before) or _can_be_found(task, call, value, before, said):
            continue
        near = Stated("\n".join(task.turns[: turn + 1])).nearly(value) if isinstance(value, str) else None
        if near is None:
            yield "argument_not_stated", f"{call.name} needs {value!r}, which nothing says or reveals"
        else:
            yield "request_differs", f"{call.name} needs {value!r}, the user says {near!r}"


def _scalars(value: Any) -> Iterator[Any]:
    """Yield the strings and numbers within an argument; truth values and None are choices, not information."""
    if isinstance(value, Call):
        yield from _scalars([*value.args, *value.kwargs.values()])
    elif isinstance(value, Mapping):
        yield from _scalars(list(value.values()))
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from _scalars(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield value


def _says(stated: Stated, value: Any) -> bool:
    return stated.string(value) if isinstance(value, str) else stated.number(value)


def _matters(call: Call, value: Any, before: World) -> bool:
    """Tell whether another value in its place would change the result or the state."""
    right, wrong = before.fork(), before.fork()
    arguments = {name: _altered(argument, value) for name, argument in call.kwargs.items()}
    altered = Call(call.name, arguments, tuple(_altered(argument, value) for argument in call.args))
    return right.run(call).content != wrong.run(altered).content or not right.same_state(wrong)


def _altered(argument: Any, value: Any) -> Any:
    if isinstance(argument, list):
        return [_altered(item, value) for item in argument]
    if type(argument) is not type(value) or argument != value:
        return argument
    return f"{value}x" if isinstance(value, str) else value + 1


def _can_be_found(task: Task, call: Call, value: Any, before: World, said: str) -> bool:
    """Tell whether the documentation, the state or arithmetic leads to a value that nobody has said."""
    documentation = _documentation(task, call.name)
    revealed = _revealed(before)
    if isinstance(value, str):
        return (len(value) > 2 and Stated(documentation).string(value)) or Stated(revealed).string(value)
    if not float(value).is_integer() or abs(value) >= 10:  # a small number is somewhere in every state
        return Stated(revealed).number(value) or Stated(said + revealed + documentation).derivable(value)
    return False


def _documentation(task: Task, name: str) -> str:
    """Return a tool's documentation as the task shows it."""
    domain = next(domain for domain in task.domains if name in domain_class(domain).tools)
    if task.source == "bfcl":
        return json.dumps(next(doc for doc in load_tool_docs(domain) if doc["name"] == name))
    return json.dumps(domain_class(domain).tools[name].schema)


def _revealed(world: World) -> str:
    """Return the state, and what the tools that need no argument say of it."""
    fork = world.fork()
    results = [fork.call(name, {}).content for name, tool in world.tools.items() if _needs_nothing(tool)]
    return "\n".join([json.dumps(world.state()), *results])


def _needs_nothing(tool: Tool) -> bool:
    return all(parameter.default is not parameter.empty for parameter in tool.signature.parameters.values())


def _is_past(value: str) -> bool:
    if _DAY.fullmatch(value):
        return value < _TODAY
    month = _CARD_MONTH.fullmatch(value)
    return month is not None and f"{month[2]}-{month[1]}" < _TODAY[:7]


def _compare_variants(tasks: list[Task]) -> Iterator[Finding]:
    """Find requests of official variants that should equal those of the base task: only punctuation may differ."""
    base = {
        scenario_of(task.id, task.source): task for task in tasks if task.source == "bfcl" and task.category == "base"
    }
    for task in tasks:
        original = base.get(scenario_of(task.id, task.source))
        if original is None or task.source != "bfcl" or task.category not in ("miss_func", "long_context"):
            continue
        turns = [turn for turn in range(task.num_turns) if turn not in task.missed_functions]
        for turn, expected in zip(turns, original.turns, strict=False):
            removed, added = _changed_words(expected, task.turns[turn])
            if removed or added:
                detail = f"the request has {added!r} where that of {original.id} has {removed!r}"
                yield Finding(task.id, turn, None, "request_differs", detail)


def _changed_words(one: str, other: str) -> tuple[str, str]:
    """Return the words that stand only in one text, and those only in the other."""
    words, others = (re.findall(r"[^\W_]+", text.lower()) for text in (one, other))
    if "".join(words) == "".join(others):
        return "", ""
    codes = difflib.SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    changed = [(words[i:j], others[k:m]) for tag, i, j, k, m in codes if tag != "equal"]
    return " ".join(w for left, _ in changed for w in left), " ".join(w for _, right in changed for w in right)
