"""Messages that fail in the course of a task, and whether what an agent writes next is what the task needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from typing import Literal

from envtune_gym.calls import ActionFormat, parse_action, render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.corruption import Corruption
from envtune_gym.evaluation.learner import Draft
from envtune_gym.evaluation.repair import draw_corruptions
from envtune_gym.evaluation.scenes import scenes
from envtune_gym.scoring import ground_truth
from envtune_gym.tasks import Task
from envtune_gym.tasks.scenarios import scenario_of
from envtune_gym.tooldocs import offered_names
from envtune_gym.world import Snapshot, World

__all__ = ["FailingCase", "Judgement", "draw_failing_cases", "failing_case", "judge"]

Read = Literal["call", "answer", "unreadable"]

_FORMAT: ActionFormat = "tool_call"
_DONE = "Done."
_NOT_YET = "I cannot do that with the tools and the information that I have."


@dataclass(frozen=True)
class FailingCase:
    """A message that fails, in its place; every message holds one call.

    Attributes:
        task: The task that is played, with `offer="strict"`.
        kind: The kind of corruption.
        before: The assistant's messages before it, of which none fails; the answers that end turns included.
        broken: The message that fails.
        needed: The calls of the ground truth up to this turn that have not been made, in order. Made one after
            another now, they succeed; the first is the right one.
        world: The world after the failure. Fork it, never run it.
        offered: Names of the tools on offer.
    """

    task: Task
    kind: str
    before: tuple[str, ...]
    broken: str
    needed: tuple[Call, ...]
    world: World
    offered: frozenset[str]

    @property
    def right(self) -> str:
        """The right message to send next."""
        return render_calls(self.needed[:1], _FORMAT)

    @property
    def scenario(self) -> str:
        """The name of the task's scenario, which its variants share."""
        return scenario_of(self.task.id, self.task.source)

    @property
    def corrected(self) -> tuple[str, ...]:
        """All messages up to the end of the turn, with the calls that are needed after the one that fails."""
        repair = (render_calls([call], _FORMAT) for call in self.needed)
        return (*self.before, self.broken, *repair, render_answer(_DONE, _FORMAT))

    @cached_property
    def outcomes(self) -> list[tuple[str, Snapshot]]:
        """The result and the state that each needed call brings about, of those that would succeed now."""
        found: list[tuple[str, Snapshot]] = []
        for call in self.needed:
            world = self.world.fork()
            result = world.run(call, self.offered)
            if not (result.error or result.silent):
                found.append((result.content, world.snapshot()))
        return found


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a message after a failure is worth; of several calls the first counts.

    Attributes:
        read: What the message was read as.
        right: Whether its call is the right one: the same tool, and equal arguments.
        succeeds: Whether its call runs without error and has the result and the state of a needed one.
        repeated: Whether it is the message that failed once more.
    """

    read: Read
    right: bool = False
    succeeds: bool = False
    repeated: bool = False


def judge(case: FailingCase, message: str) -> Judgement:
    """Judge what an agent writes after a failure."""
    reply = parse_action(message, _FORMAT)
    broken = parse_action(case.broken, _FORMAT)
    if reply.error is not None:
        return Judgement("unreadable", repeated=message.strip() == case.broken)
    if not reply.calls:
        return Judgement("answer")
    call = reply.calls[0]
    right = call == case.needed[0]
    return Judgement("call", right, right or _is_needed(case, call), reply.calls[:1] == broken.calls[:1])


def draw_failing_cases(tasks: Sequence[Task], kinds: Sequence[str], seed: int, limit: int) -> list[FailingCase]:
    """Draw cases from tasks, in turn of each kind that has any left.

    Kinds with which there is no right call yet, and mistakes that do not fail, give none.

    Args:
        tasks: The tasks whose ground truths are corrupted.
        kinds: Names of kinds of corruption.
        seed: Seed of the corruptions.
        limit: Cases, at most.

    Raises:
        ConfigurationError: If a kind is unknown.
    """
    per_kind = 1 + 2 * limit // len(kinds)  # some kinds have few, and others fill their places
    drawn = []
    for kind in kinds:
        cases = map(failing_case, draw_corruptions(tasks, kind, seed, per_kind))
        drawn.append([case for case in cases if case is not None])
    return [case for case in chain.from_iterable(zip_longest(*drawn)) if case is not None][:limit]


def failing_case(corruption: Corruption) -> FailingCase | None:
    """Return the case that a corruption makes.

    Returns:
        The case; None where nothing fails, where no call would be right, where the needed calls do not succeed after
        the failure, or where the action format cannot hold a call.
    """
    if corruption.effect != "error" or corruption.unsolvable:
        return None
    try:
        case = _played(corruption)
    except ValueError:  # a value that JSON does not have
        return None
    return case if case is not None and _solvable(case) else None


def _played(corruption: Corruption) -> FailingCase | None:
    """Carry out the plan up to what fails."""
    task, plan = corruption.task, corruption.plan
    needed = _ground_truth_calls(task, len(plan))
    world = ground_truth(task).start.fork()
    before: list[str] = []
    for turn, steps in enumerate(plan):
        offered = frozenset(offered_names(task, turn, "strict"))
        for step in steps:
            text = step.text if isinstance(step, Draft) else render_calls([step], _FORMAT)
            if isinstance(step, Draft) or world.run(step, offered).error:
                return FailingCase(task, corruption.kind, tuple(before), text, tuple(needed), world, offered)
            before.append(text)
            needed.remove(step)
        before.append(render_answer(_DONE if steps else _NOT_YET, _FORMAT))
    return None


def _ground_truth_calls(task: Task, turns: int) -> list[Call]:
    """Return the calls of the first turns of a task's ground truth, with named arguments."""
    named = next(scene.turns for scene in scenes(task) if scene.turn == turns - 1)
    return [call for calls in named for call in calls]


def _solvable(case: FailingCase) -> bool:
    world = case.world.fork()
    results = [world.run(call, case.offered) for call in case.needed]
    return bool(results) and not any(result.error or result.silent for result in results)


def _is_needed(case: FailingCase, call: Call) -> bool:
    world = case.world.fork()
    result = world.run(call, case.offered)
    if result.error or result.silent:
        return False
    return any(result.content == content and not world.differing_domains(state) for content, state in case.outcomes)
