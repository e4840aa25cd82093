"""`CandidateActionWrapper`: a choice among a few calls in place of text, for agents that have no language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.curriculum import stage_tasks
from envtune_gym.env import Episode
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.world import name_arguments
from envtune_gym.wrappers.base import EnvtuneWrapper, layers
from envtune_gym.wrappers.curriculum import CurriculumWrapper

__all__ = ["CandidateActionWrapper"]

_STREAM = 0xCA11
"""Keeps our draws apart from the environment's: from the same seed, ours would otherwise tell which task it drew."""
_LISTED = 4_096
_TABLES = 2
_ROOMS = 2
_TRIES = 8
_ANSWER = "Done."


class CandidateActionWrapper(EnvtuneWrapper):
    """Makes the action a number: which of the candidate calls of the present turn to make, or to answer.

    Actions 0 to `candidates` - 1 make the candidate of that number; the last action, `candidates`, answers "Done." and
    so ends the turn. There may be fewer candidates than numbers: `info["action_mask"]` and `action_masks()` (which
    sb3-contrib asks for) are 1 for what can be chosen, and any other number answers, too. `info["candidates"]` has the
    calls in Python syntax; they stay the same, in the same order, until the turn ends.

    ## Where the candidates come from
    From the ground truth of this turn in the task that is played and in other tasks of its kind, its companions, which
    stay the same over the episode. So a wrong candidate is a call that would be right elsewhere: another tool of the
    domain, or the same tool with other values, and in later turns values that have been seen before. Calls of tools
    that are not on offer are left out.

    ## Why they do not tell which is right
    Tasks are drawn into a pool and dealt to tables by a rule that does not know which of them is played: tasks for the
    same tools to the same table, tasks with the same calls to different ones. Whoever sits at the table is as likely
    as the others to be the task that is played, so without the request, or what the calls do, no property of a
    candidate (its place, its tool, its values, whether it is new) says anything of whether it is right. It takes tasks
    of a kind that are drawn with equal chances; calls that most tasks of a kind have in common are right more often.

    Args:
        env: The environment to wrap; its action is text. With a `CurriculumWrapper` inside, the companions are tasks
            of the same stage.
        candidates: Numbers for candidates; a task needs twice as many as the calls of its longest turn.

    Raises:
        ConfigurationError: If the number is not at least 2, or there is no EnvTune environment inside; at `reset`, if
            the task has too many calls, or no companions.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import CandidateActionWrapper
        >>> env = CandidateActionWrapper(gym.make("EnvTune/MathAPI-v0", split="train", difficulty=1), candidates=4)
        >>> _, info = env.reset(seed=0)
        >>> len(info["candidates"]), info["action_mask"].tolist(), env.action_space
        (4, [1, 1, 1, 1, 1], Discrete(5))
    """

    def __init__(self, env: gym.Env[str, str], candidates: int = 12) -> None:
        if type(candidates) is not int or candidates < 2:
            raise ConfigurationError(f"candidates must be an integer of at least 2, not {candidates!r}")
        super().__init__(env, candidates=candidates)
        self.action_space = Discrete(candidates + 1)  # type: ignore[assignment]
        self._capacity = candidates
        self._rng = np.random.default_rng()
        self._companions = _Companions(self.unwrapped.tasks)
        self._stories: list[Task] = []
        self._turn = -1
        self.candidates: tuple[Call, ...] = ()

    @property
    def answer(self) -> int:
        """The action that ends the turn."""
        return self._capacity

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions can be chosen now, as sb3-contrib's `MaskablePPO` asks for it."""
        mask = np.zeros(self._capacity + 1, dtype=np.bool_)
        mask[: len(self.candidates)] = True
        mask[self.answer] = True
        return mask

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, and draw the companions of its task."""
        if seed is not None:
            self._rng = np.random.default_rng([_STREAM, seed])
        observation, info = self.env.reset(seed=seed, options=options)
        self._began_episode()
        self._begin()
        return observation, self._with_candidates(info)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Make the candidate of that number, or answer.

        Raises:
            ConfigurationError: If the action is not a number of the action space.
        """
        observation, reward, terminated, truncated, info = self.env.step(self.text_of(action))
        if self._began_episode():
            self._begin()
        elif self.unwrapped.episode.turn != self._turn:
            self._open_turn()
        return observation, float(reward), terminated, truncated, self._with_candidates(info)

    def text_of(self, action: Any) -> str:
        """Return the assistant message that an action stands for.

        Raises:
            ConfigurationError: If the action is not a number of the action space, or the action format cannot hold the
                call (nested calls need `python`).
        """
        if isinstance(action, np.ndarray) and action.size == 1:
            action = action.item()
        if not isinstance(action, (int, np.integer)) or not 0 <= action <= self._capacity:
            raise ConfigurationError(f"an action is an integer from 0 to {self._capacity}, not {action!r}")
        action_format = self.unwrapped.action_format
        if action >= len(self.candidates):
            return render_answer(_ANSWER, action_format)
        try:
            return render_calls([self.candidates[int(action)]], action_format)
        except ValueError as error:
            raise ConfigurationError(f"{error}; try action_format='python'") from None

    def _begin(self) -> None:
        """Seat the task of the episode with companions, and open its first turn."""
        task = self.unwrapped.episode.task
        if _longest_turn(task) * 2 > self._capacity:
            raise ConfigurationError(
                f"task {task.id} makes {_longest_turn(task)} calls in one turn: "
                f"CandidateActionWrapper needs candidates={2 * _longest_turn(task)} or more"
            )
        curriculum = next((layer for layer in layers(self.env) if isinstance(layer, CurriculumWrapper)), None)
        self._companions.serve(self.unwrapped.tasks, curriculum)
        others, stories = self._companions.draw(task, self._capacity, self._rng)
        self._stories = _table_of(task, others, stories, self._rng)
        self._open_turn()

    def _open_turn(self) -> None:
        """Take the calls of all stories in this turn, each once, in an order that is drawn anew."""
        episode: Episode = self.unwrapped.episode
        self._turn, offered = episode.turn, frozenset(episode.offered)
        calls: dict[str, Call] = {}
        for task in self._stories:
            for text in task.ground_truth[self._turn] if self._turn < task.num_turns else ():
                call, source, tools = _read(text, task.domains)
                if offered.issuperset(tools):
                    calls[source] = call
        texts = sorted(calls)  # what a seed's shuffle makes of them must not depend on whose calls came first
        self.candidates = tuple(calls[texts[place]] for place in self._rng.permutation(len(texts)))

    def _with_candidates(self, info: dict[str, Any]) -> dict[str, Any]:
        candidates = [call.source() for call in self.candidates]
        return {**info, "candidates": candidates, "action_mask": self.action_masks().astype(np.int8)}


class _Companions:
    """Finds tasks of a kind in a set, or in the present stage of a curriculum."""

    def __init__(self, tasks: TaskSet) -> None:
        self._served: tuple[Any, ...] = (tasks,)
        self._use(tasks)

    def _use(self, tasks: TaskSet) -> None:
        self._tasks = tasks
        self._kinds: dict[str, TaskSet] | None = None
        self._listed: dict[tuple[str | None, tuple[int, int] | None], list[Task]] = {}

    def serve(self, tasks: TaskSet, curriculum: CurriculumWrapper | None) -> None:
        """Take the tasks of an episode that has just begun; a curriculum draws them from the stage that it is in."""
        served = (tasks,) if curriculum is None else (tasks, curriculum.stage)
        if served != self._served:
            self._served = served
            self._use(tasks if curriculum is None else stage_tasks(tasks, curriculum.stage))

    def draw(self, task: Task, capacity: int, rng: np.random.Generator) -> tuple[list[Task], int]:
        """Return others that may sit with a task, and how many a table then seats.

        Raises:
            ConfigurationError: If there are none.
        """
        seats = capacity // max(1, _longest_turn(task))
        others = self._drawn(task, self._kind_of(task), _shape(task), seats * _TABLES * _ROOMS - 1, rng)
        if not others:  # of no task is there another of its kind: then of any that fits
            others = self._drawn(task, None, None, capacity * _TABLES * _ROOMS - 1, rng)
            others = [other for other in others if _longest_turn(other) * 2 <= capacity]
            seats = capacity // max(1, *map(_longest_turn, [task, *others]))
        if not others:
            raise ConfigurationError(
                f"task {task.id} is the only one of its domains: CandidateActionWrapper takes wrong candidates from "
                "other tasks, so serve more of them"
            )
        return others, seats

    def _kind_of(self, task: Task) -> str:
        """Return the kind of a task; "" if it was played by its id and the stage of the curriculum has it not."""
        return self._tasks.kind_of(task.id) or ""

    def _drawn(
        self, task: Task, kind: str | None, shape: tuple[int, int] | None, number: int, rng: np.random.Generator
    ) -> list[Task]:
        """Draw other tasks of a kind and shape; of any kind and shape if they are None."""
        tasks = self._of_kind(kind)

        def fits(other: Task) -> bool:
            return other.id != task.id and not set(other.domains).isdisjoint(task.domains)

        if tasks.is_finite and len(tasks) <= _LISTED:
            found = [other for other in self._listing(kind, shape) if fits(other)]
            return [found[place] for place in rng.permutation(len(found))[:number]]
        drawn: dict[str, Task] = {}
        for _ in range(number * _TRIES):
            other = tasks.sample(rng)
            if fits(other) and shape in (None, _shape(other)):
                drawn[other.id] = other
            if len(drawn) == number:
                break
        return list(drawn.values())

    def _listing(self, kind: str | None, shape: tuple[int, int] | None) -> list[Task]:
        """Return the tasks of a kind and shape; they are kept, for making a task takes time."""
        if (kind, shape) not in self._listed:
            tasks = self._of_kind(kind)
            self._listed[kind, shape] = [task for task in tasks if shape in (None, _shape(task))]
        return self._listed[kind, shape]

    def _of_kind(self, kind: str | None) -> TaskSet:
        if kind is None:
            return self._tasks
        if self._kinds is None:
            self._kinds = self._tasks.kinds()
        return self._kinds.get(kind, TaskSet([]))


def _table_of(played: Task, others: Sequence[Task], seats: int, rng: np.random.Generator) -> list[Task]:
    """Deal tasks to tables, and return the table at which the played one sits.

    The rule sees the pool as a set: the played task has no part in it but that its table is returned. Tasks for the
    same tools come to the same room, where tasks with the same calls come to different tables.
    """
    pool = [played, *others]
    tools = sorted(set(map(_tools, pool)))
    rank = dict(zip(tools, rng.permutation(len(tools)).tolist(), strict=True))
    ties = rng.permutation(len(pool)).tolist()
    order = sorted(
        range(len(pool)), key=lambda place: (rank[_tools(pool[place])], pool[place].ground_truth, ties[place])
    )
    rooms = max(1, len(pool) // (seats * _TABLES))
    room = next(room for room in np.array_split(order, rooms) if 0 in room)
    tables = -(-len(room) // seats)
    table = next(room[first::tables] for first in range(tables) if 0 in room[first::tables])
    return [pool[int(place)] for place in table]


@lru_cache(maxsize=2 * _LISTED)
def _read(text: str, domains: tuple[str, ...]) -> tuple[Call, str, frozenset[str]]:
    """Return a call with its arguments named, as it is shown, and the tools that it runs."""
    call = name_arguments(parse_call(text), domains)
    return call, call.source(), frozenset(call.names())


@lru_cache(maxsize=_LISTED)
def _tools_of_calls(ground_truth: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(sorted({parse_call(text).name for calls in ground_truth for text in calls}))


def _tools(task: Task) -> tuple[str, ...]:
    return _tools_of_calls(task.ground_truth)


def _longest_turn(task: Task) -> int:
    return max(map(len, task.ground_truth), default=0)


def _shape(task: Task) -> tuple[int, int]:
    """Return what the tasks of a table have in common beside their kind, as the number of candidates tells it."""
    return task.num_turns, _longest_turn(task)
