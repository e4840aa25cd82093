"""The benchmark's verdict and the paper's progress, turn by turn against a task's ground truth.

The verdict is that of the official `multi_turn_checker`; progress is R_P of the paper (section 3): the share of
the task's turns that passed, whether reached or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.tasks.task import TASKS_KEPT, Task
from envtune_gym.world import Snapshot, World

__all__ = ["EpisodeScorer", "GroundTruth", "TurnResult", "Verdict", "ground_truth", "score_trajectory"]

EMPTY_TURN = "multi_turn:empty_turn_model_response"
STATE_MISMATCH = "multi_turn:instance_state_mismatch"
RESPONSE_MISMATCH = "multi_turn:execution_response_mismatch"
FORCE_TERMINATED = "multi_turn:force_terminated"


class TurnResult(NamedTuple):
    """How a finished turn compares with the ground truth.

    Attributes:
        turn: Index of the turn.
        state_ok: Every domain's public state equals the ground truth's after this turn.
        response_ok: Each result of the ground truth's calls of this turn is among all results so far.
        passed: Whether the turn counts for progress. One without ground truth does, unless it asks for what is
            impossible yet (miss_func, miss_param) and a call was made, refused or not.
        error_type: What the official checker would call the failure of this turn, or None. A turn without ground
            truth has none, for the benchmark does not score it.
        wrong_domains: The domains whose state differs.
    """

    turn: int
    state_ok: bool
    response_ok: bool
    passed: bool
    error_type: str | None = None
    wrong_domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a trajectory is worth.

    Attributes:
        valid: The official verdict.
        error_type: The official name of what failed first, or None.
        turns: The result of each turn that was reached.
        progress: Passed turns divided by the turns of the task, in [0, 1].
    """

    valid: bool
    error_type: str | None
    turns: tuple[TurnResult, ...]
    progress: float


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """One run of a task's ground truth; never changed, and shared by all episodes of the task.

    Attributes:
        start: The world before the first turn. Fork it, never run it.
        results: Result texts of each turn's calls, counted, for the order is free.
        states: The public state after each turn.
    """

    start: World
    results: tuple[Counter[str], ...]
    states: tuple[Snapshot, ...]


@dataclass(frozen=True, slots=True)
class _Key:
    """A task by its content, so that equal tasks share one run and object identity plays no part."""

    task: Task

    def __hash__(self) -> int:
        return hash(self.task.fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.task.fingerprint == other.task.fingerprint


def ground_truth(task: Task) -> GroundTruth:
    """Return the run of a task's ground truth; the runs of the last 1,024 tasks are kept."""
    return _run_ground_truth(_Key(task))


@lru_cache(maxsize=TASKS_KEPT)
def _run_ground_truth(key: _Key) -> GroundTruth:
    task = key.task
    try:
        start = World(task.domains, task.initial_config, task.long_context)
    except TaskError as error:
        raise TaskError(f"task {task.id!r}: {error}") from error
    world = start.fork()
    results: list[Counter[str]] = []
    states: list[Snapshot] = []
    latest = start.snapshot()
    for calls in task.ground_truth:
        results.append(Counter(world.execute(call) for call in calls))
        changed = world.differing_domains(latest)
        if changed:  # most turns touch one domain or none: the others keep sharing one copy
            fresh = world.snapshot()
            latest = Snapshot({n: fresh.domains[n] if n in changed else d for n, d in latest.domains.items()})
        states.append(latest)
    return GroundTruth(start, tuple(results), tuple(states))


class EpisodeScorer:
    """Scores one episode as its turns are closed.

    Args:
        task: The task that is played.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._truth = ground_truth(task)
        self._results: dict[str, int] = {}
        self.turns: list[TurnResult] = []

    def new_world(self) -> World:
        """Return a world in the task's initial state."""
        return self._truth.start.fork()

    def close_turn(self, world: World, results_by_step: Sequence[Sequence[str]]) -> TurnResult:
        """Compare the world and this turn's results with the ground truth, which moves on in any case.

        Args:
            world: The agent's world after the turn.
            results_by_step: Result texts of the turn's calls, by step.
        """
        turn = len(self.turns)
        truth = self._task.ground_truth[turn]
        seen = self._results
        for results in results_by_step:
            for text in results:
                seen[text] = seen.get(text, 0) + 1
        wrong = tuple(world.differing_domains(self._truth.states[turn]))
        response_ok = True
        for text, count in self._truth.results[turn].items():
            if seen.get(text, 0) < count:
                response_ok = False
                break
        error = None
        if truth:
            if _is_empty(results_by_step):
                error = EMPTY_TURN
            elif wrong:
                error = STATE_MISMATCH
            elif not response_ok:
                error = RESPONSE_MISMATCH
            passed = error is None
        else:
            passed = not (_calls_are_wrong_when_unscored(self._task) and any(results_by_step))
        result = TurnResult(turn, not wrong, response_ok, passed, error, wrong)
        self.turns.append(result)
        return result

    def verdict(self) -> Verdict:
        """Return the verdict on the turns closed so far; turns that were not reached terminate it by force."""
        if len(self.turns) < self._task.num_turns:
            error: str | None = FORCE_TERMINATED
        else:
            error = next((turn.error_type for turn in self.turns if turn.error_type), None)
        return Verdict(error is None, error, tuple(self.turns), self.progress)

    @property
    def progress(self) -> float:
        """R_P so far: passed turns divided by all turns of the task."""
        return sum(turn.passed for turn in self.turns) / self._task.num_turns


def score_trajectory(task: Task, steps_per_turn: Sequence[Sequence[Sequence[str | Call]]]) -> Verdict:
    """Return what the official checker says of a trajectory.

    Args:
        task: The task that was played.
        steps_per_turn: For each turn the steps, for each step the calls in BFCL's Python syntax (or parsed).
            Withheld and excluded tools run, as they do officially.

    Returns:
        The verdict. Another number of turns than the task's is `multi_turn:force_terminated`.

    Raises:
        ConfigurationError: If a list is missing around the calls.
    """
    scorer = EpisodeScorer(task)
    world = scorer.new_world()
    for steps in steps_per_turn[: task.num_turns]:
        results = []
        for step in steps:
            if isinstance(step, str):  # its characters would pass for calls
                raise ConfigurationError(
                    f"a trajectory is a list (turns) of lists (steps) of lists of calls; found {step!r}"
                )
            results.append([world.execute(c) if isinstance(c, str) else world.run(c).content for c in step])
        scorer.close_turn(world, results)
    verdict = scorer.verdict()
    if len(steps_per_turn) > task.num_turns:
        return Verdict(False, FORCE_TERMINATED, verdict.turns, verdict.progress)
    return verdict


def _is_empty(steps: Sequence[Sequence[str]]) -> bool:
    """Tell whether a turn counts as empty officially: no step at all, or a single one without calls."""
    return not steps or (len(steps) == 1 and not steps[0])


def _calls_are_wrong_when_unscored(task: Task) -> bool:
    """Tell whether a turn without ground truth is one that asks for something impossible yet."""
    return any(category in ("miss_func", "miss_param") for category in task.category.split("+"))
