"""Recorded messages played again, with all that a person wants to see: calls, results, hints, and how each turn ended.

Records hold what the assistant said. What the environment said in between, hints included, and how its state differed
from the ground truth's, comes from playing the messages again under the settings of the run.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from envtune_gym.env import EnvtuneEnv, Episode
from envtune_gym.errors import EnvtuneError
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.state_difference import StateDifference, state_difference, truth_state
from envtune_gym.feedback.turns import turn_note
from envtune_gym.scoring import TurnResult
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["Playback", "PlayedStep", "PlayedTurn", "Seen", "ShownResult", "look_again", "play_again"]

_THOUGHT = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)


@dataclass(frozen=True)
class ShownResult:
    """What the environment said to a call, or to a message that could not be read.

    Attributes:
        role: `tool`, or `user` where the action format has no other way to answer an unreadable message.
        text: What the agent read.
        tool: The tool whose result it is; empty for a message that could not be read.
        official: What the benchmark would have shown.
        error: The kind of the failure; empty if the call succeeded.
    """

    role: str
    text: str
    tool: str = ""
    official: str = ""
    error: str = ""

    @property
    def is_augmented(self) -> bool:
        """Whether feedback has been added to it."""
        return self.text != self.official

    @property
    def hint(self) -> str:
        """What feedback has added; empty if nothing."""
        return _added(self.official, self.text) if self.is_augmented else ""


@dataclass(frozen=True)
class PlayedStep:
    """A message of the assistant and what came of it.

    Attributes:
        message: The message as it was sent.
        calls: Its calls, in Python syntax.
        answer: Its answer to the user, if it is one.
        thought: Reasoning in it that is marked as such.
        format_ok: Whether it kept the letter of the format.
        results: What the environment said to it.
    """

    message: str
    calls: Sequence[str] = ()
    answer: str | None = None
    thought: str = ""
    format_ok: bool = True
    results: Sequence[ShownResult] = ()


@dataclass(frozen=True)
class PlayedTurn:
    """A turn as it was played.

    Attributes:
        request: What the user said, without what feedback added.
        note: What feedback added to it about the turn before; empty if nothing.
        expected: The calls of the ground truth.
        steps: The assistant's messages.
        result: How it ended; None if it was not finished.
        differences: How the state differed from the ground truth's when the turn, or the episode, ended.
    """

    request: str
    note: str = ""
    expected: Sequence[str] = ()
    steps: Sequence[PlayedStep] = ()
    result: TurnResult | None = None
    differences: Sequence[StateDifference] = ()


@dataclass(frozen=True)
class Playback:
    """An episode played again.

    Attributes:
        turns: The turns that were begun.
        unsent: Messages for which the episode had no use: it ended before them.
        success: The benchmark's verdict.
        error_type: The benchmark's name of what failed first, or None.
    """

    turns: Sequence[PlayedTurn]
    unsent: Sequence[str] = ()
    success: bool = False
    error_type: str | None = None

    @property
    def finished(self) -> int:
        """Number of turns that were finished."""
        return sum(turn.result is not None for turn in self.turns)


def play_again(task: Task, messages: Sequence[str], run: RunSettings) -> Playback:
    """Play recorded messages of a task again.

    Args:
        task: The task.
        messages: The assistant's messages, as they were sent.
        run: What they were played under.

    Raises:
        EnvtuneError: If they cannot be played: a hint book is missing, say.
    """
    env = EnvtuneEnv(
        tasks=TaskSet([task]),
        action_format=run.action_format,
        decoder=run.decoder,
        offer=run.offer or None,
        max_steps_per_turn=run.max_steps_per_turn,
    )
    told = AugmentedFeedbackWrapper(env, run.feedback, run.hints or None)
    _, info = told.reset(options={"task_id": task.id})
    unsent = deque(messages)
    turns = _Turns(task, env.episode, info["messages"][-1]["content"])
    over = False
    while unsent and not over:
        message = unsent.popleft()
        _, _, terminated, truncated, info = told.step(message)
        over = terminated or truncated
        turns.add(message, info)
    return Playback(turns.all(), tuple(unsent), info.get("success", False), info.get("error_type"))


@dataclass(frozen=True)
class Seen:
    """What could be seen of an episode.

    Attributes:
        task: Its task, or None if it could not be played again.
        playback: The episode played again, likewise.
        notes: Why not, or how it differs from its record: by another version of tasks or environment, say.
    """

    task: Task | None = None
    playback: Playback | None = None
    notes: Sequence[str] = ()


def look_again(
    find_task: Callable[[], Task], messages: Sequence[str], run: RunSettings, *, success: bool, turns: int
) -> Seen:
    """Play a record's messages again, as far as that can be done.

    Args:
        find_task: Returns the task, or raises an `EnvtuneError`.
        messages: The assistant's messages, as they were sent.
        run: What they were played under.
        success: The verdict that the record has.
        turns: The number of finished turns that it has.
    """
    try:
        task = find_task()
        playback = play_again(task, messages, run)
    except EnvtuneError as error:
        return Seen(notes=[f"results not shown: {error}"])
    return Seen(task, playback, list(_disagreements(playback, success, turns)))


def _disagreements(playback: Playback, success: bool, turns: int) -> Iterator[str]:
    if playback.unsent:
        yield "played again, the episode ended before its last messages"
    if playback.success != success:
        yield f"played again, it was {'solved' if playback.success else 'not solved'}"
    elif playback.finished != turns:
        yield f"played again, {playback.finished} turns were finished, not {turns}"


@dataclass
class _Turns:
    """The turns of an episode while it is played."""

    task: Task
    episode: Episode
    request: str
    note: str = ""
    steps: list[PlayedStep] = field(default_factory=list)
    done: list[PlayedTurn] = field(default_factory=list)

    def add(self, message: str, info: Mapping[str, Any]) -> None:
        """Enter a message and what the environment made of it."""
        results, request = _answers(info)
        self.steps.append(replace(_step(message, self.episode), results=results))
        closed = self.episode.scorer.turns
        if len(closed) == len(self.done):
            return
        self.done.append(self._turn(closed[-1]))
        self.steps = []
        note = turn_note(closed[-1]) or "" if info["feedback"] == "diagnostic" else ""
        if note and request.endswith(note):
            request, self.note = request.removesuffix(note).rstrip("\n"), note
        else:
            self.note = ""
        self.request = request

    def all(self) -> list[PlayedTurn]:
        """Return the turns, the one that was not finished included."""
        is_open = len(self.done) < self.task.num_turns and not self.episode.over
        return [*self.done, self._turn(None)] if is_open else self.done

    def _turn(self, result: TurnResult | None) -> PlayedTurn:
        turn = len(self.done)
        differences: list[StateDifference] = []
        if result is None or not result.state_ok:
            differences = state_difference(truth_state(self.task, turn), self.episode.world.state())
        expected = self.task.ground_truth[turn]
        return PlayedTurn(self.request, self.note, expected, tuple(self.steps), result, differences)


def _step(message: str, episode: Episode) -> PlayedStep:
    """Return how the environment read a message."""
    reply = episode.reply
    if reply is None:
        return PlayedStep(message)
    thoughts = [reply.message.get("reasoning_content") or "", *_THOUGHT.findall(reply.message.get("content") or "")]
    thought = "\n".join(text.strip() for text in thoughts if isinstance(text, str) and text.strip())
    return PlayedStep(message, tuple(call.source() for call in reply.calls), reply.answer, thought, reply.format_ok)


def _answers(info: Mapping[str, Any]) -> tuple[tuple[ShownResult, ...], str]:
    """Return what the environment said to a step, and the next request, if there is one."""
    said = list(info["messages"][1:])
    if "parse_error" in info:
        first = said.pop(0)
        results = [ShownResult(first["role"], first["content"], "", info["parse_error"], "unreadable")]
    else:
        results = [_result(said.pop(0), result) for result in info["tool_results"]]
    return tuple(results), said[0]["content"] if said else ""


def _result(message: Mapping[str, Any], result: Mapping[str, Any]) -> ShownResult:
    cause = result["error"] or {}
    official = result.get("official", result["content"])
    return ShownResult(message["role"], message["content"], result["name"], official, str(cause.get("code", "")))


def _added(official: str, text: str) -> str:
    """Return what feedback has put into a text: the key `hint` of an object, or what follows the official text."""
    if text.startswith(official):
        return text[len(official) :].strip().removeprefix("Hint: ")
    try:
        hint = json.loads(text)["hint"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return text
    return hint if isinstance(hint, str) else text
