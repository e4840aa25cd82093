"""A person in the model's place: an episode by lines that are typed and lines that are shown, without a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym

from envtune_gym.calls import describe_tools, parse_action
from envtune_gym.env import EnvtuneEnv, Offer
from envtune_gym.evaluation.playback import ShownResult
from envtune_gym.evaluation.script import DONE
from envtune_gym.evaluation.state_difference import StateDifference, state_difference, truth_state
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.feedback.turns import turn_note
from envtune_gym.scoring import TurnResult
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["HELP", "Kind", "PlayedByHand", "Shown"]

Kind = Literal["request", "result", "hint", "outcome", "difference", "note"]

HELP = (
    "Type tool calls in Python syntax, such as  cd(folder='docs')  or  [pwd(), ls()] .",
    "/tools [WORD]   the tools on offer, or those with the word in their line",
    "/tool NAME      the documentation of a tool",
    "/done [TEXT]    end the turn with an answer",
    "/quit           leave the episode",
    "/help           this",
)
_VALUE_LENGTH = 400
_DIFFERENCES = 30


@dataclass(frozen=True)
class Shown:
    """Lines to be shown.

    Attributes:
        kind: What they are.
        text: The lines. They hold what tasks and tools say: make it harmless for where it is shown.
    """

    kind: Kind
    text: str


class PlayedByHand:
    """An episode that a person plays.

    Args:
        task: The task.
        feedback: Level of feedback.
        hints: As in `AugmentedFeedbackWrapper`.
        offer: What happens to withheld and excluded tools; None: as the task's source says.
        max_steps_per_turn: Steps that a turn may take.

    Raises:
        EnvtuneError: If the task cannot be played.
    """

    def __init__(
        self,
        task: Task,
        *,
        feedback: FeedbackLevel = "actionable",
        hints: str | None = None,
        offer: Offer | None = None,
        max_steps_per_turn: int = 20,
    ) -> None:
        self._task = task
        self._feedback = feedback
        self._inner = EnvtuneEnv(
            tasks=TaskSet([task]), action_format="python", offer=offer, max_steps_per_turn=max_steps_per_turn
        )
        self._env: gym.Env[str, str] = AugmentedFeedbackWrapper(self._inner, feedback, hints)
        _, info = self._env.reset(options={"task_id": task.id})
        self._tools: list[dict[str, Any]] = info["tools"]
        self._reward = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self._inner.episode.over

    @property
    def place(self) -> str:
        """Where the episode is, in a few words."""
        episode = self._inner.episode
        return f"turn {episode.turn + 1}/{self._task.num_turns}, step {episode.step_in_turn + 1}"

    def begin(self) -> Iterator[Shown]:
        """Yield what is shown before the first line is typed."""
        task = self._task
        yield Shown("note", f"{task.id} ({task.category}; {', '.join(task.domains)}); feedback {self._feedback}")
        yield Shown("note", "\n".join(HELP))
        yield Shown("request", task.turns[0])

    def type(self, line: str) -> Iterator[Shown]:
        """Do what a line says, and yield what is to be shown of it; `/quit` is for whoever asks for the lines."""
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if not word:
            return
        if word == "/tools":
            yield from self._list_tools(rest)
        elif word == "/tool":
            yield self._documentation(rest)
        elif word == "/done":
            yield from self._answer(rest or DONE)
        elif word.startswith("/"):
            yield Shown("note", "\n".join(HELP))
        else:
            yield from self._call(line.strip())

    def end(self) -> Iterator[Shown]:
        """Yield what the episode came to, and how the state differs from the ground truth's."""
        episode = self._inner.episode
        turns, last = episode.scorer.turns, episode.turn
        if self.is_over:
            error = episode.scorer.verdict().error_type
            yield Shown("outcome", "solved" if error is None else f"not solved ({error})")
        else:
            yield Shown("outcome", f"left in turn {last + 1}")
        passed = sum(turn.passed for turn in turns)
        yield Shown("outcome", f"reward {self._reward:g}, {passed} of {self._task.num_turns} turns passed")
        found = state_difference(truth_state(self._task, last), episode.world.state())
        against = f"the ground truth's after turn {last + 1}"
        if not found:
            yield Shown("difference", f"the state equals {against}")
            return
        yield Shown("difference", f"the state differs from {against}:")
        yield from (Shown("difference", f"  {_described(one)}") for one in found[:_DIFFERENCES])
        if len(found) > _DIFFERENCES:
            yield Shown("difference", f"  and in {len(found) - _DIFFERENCES:,} places more")

    def _list_tools(self, word: str) -> Iterator[Shown]:
        lines = describe_tools("python", self._tools, style="compact").split("\n")
        found = [line for line in lines if word.lower() in line.lower()]
        yield Shown("note", "\n".join(found) or f"no tool on offer has {word!r} in its line")

    def _documentation(self, name: str) -> Shown:
        tool = next((tool for tool in self._tools if tool["function"]["name"] == name), None)
        if tool is None:
            return Shown("note", f"no tool on offer is named {name!r}; /tools lists them")
        return Shown("note", json.dumps(tool["function"], indent=2, ensure_ascii=False))

    def _call(self, text: str) -> Iterator[Shown]:
        reply = parse_action(text, "python")
        if reply.calls:
            yield from self._step(text)
            return
        error = reply.error or parse_action(text, "python", strict=True).error
        reason = f": {error}" if error is not None else ""
        yield Shown(
            "note", f"these are no calls{reason}\nnothing has run; /done ends the turn with an answer, /help helps"
        )

    def _answer(self, text: str) -> Iterator[Shown]:
        if parse_action(text, "python").calls:
            yield Shown("note", "this answer would be read as calls; say it in other words")
            return
        yield from self._step(text)

    def _step(self, action: str) -> Iterator[Shown]:
        episode = self._inner.episode
        finished = len(episode.scorer.turns)
        offered = {tool["function"]["name"] for tool in self._tools}
        _, reward, terminated, truncated, info = self._env.step(action)
        self._reward += float(reward)
        self._tools = info.get("tools", self._tools)
        for result in info["tool_results"]:
            yield from _results(result)
        for turn in episode.scorer.turns[finished:]:
            yield from self._turn_end(turn)
        if truncated:
            yield Shown("note", "the turn has taken too many steps: the episode is over")
        if not terminated and not truncated and len(episode.scorer.turns) > finished:
            new = [tool["function"]["name"] for tool in self._tools if tool["function"]["name"] not in offered]
            if new:
                yield Shown("note", f"new tools are on offer: {', '.join(new)}")
            yield Shown("request", self._task.turns[episode.turn])

    def _turn_end(self, turn: TurnResult) -> Iterator[Shown]:
        verdict = "passed" if turn.passed else f"failed ({turn.error_type or 'called what could not be done yet'})"
        yield Shown("outcome", f"turn {turn.turn + 1} {verdict}")
        note = turn_note(turn) if self._feedback == "diagnostic" else None
        if note is not None:
            yield Shown("hint", note)


def _results(result: dict[str, Any]) -> Iterator[Shown]:
    official = result.get("official", result["content"])
    shown = ShownResult("tool", result["content"], result["name"], official)
    yield Shown("result", f"{shown.tool}: {shown.official}")
    if shown.hint:
        yield Shown("hint", shown.hint)


def _described(one: StateDifference) -> str:
    if one.kind == "missing":
        return f"missing    {one.where}: {_value(one.expected)}"
    if one.kind == "extra":
        return f"extra      {one.where}: {_value(one.actual)}"
    return f"different  {one.where}: {_value(one.expected)} expected, {_value(one.actual)} found"


def _value(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        text = "(nested too deep to be shown)"
    return text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}..."
