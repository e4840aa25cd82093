"""An agent that reads: it carries out a plan and, where a call fails, does what the text of the failure says.

It is a measuring instrument for feedback without a language model, and so is written to know nothing but English
error messages in general (`envtune_gym.evaluation.reading`): no domain, no tool, no wording of any feedback. It sees
what an agent sees: observations and the schemas of the tools on offer.

A failed call is followed by at most three further calls. Each is the first of these that has not been tried:

1. a tool that is not on offer: one of a close name, or one that the text names;
2. an argument that is at fault (the text has its name or its value): renamed or dropped if the tool has none of that
   name, read as its type if the text speaks of types, written in a form that the text or its description states,
   replaced by an alternative that the text lists;
3. a tool on offer that the text names: called with the arguments that the plan or known values give it, and after
   it the failed call again, with what it returned if that fits an argument at fault;
4. a required argument that was left out, and then each argument at fault, from known values: earlier results, own
   arguments of the same name, the user's requests, options in its description;
5. the same call again.

If the text says to ask or tell the user, the learner ends the turn. A broken message is mended where the text says
what is expected at which position, or written anew where the text shows the form.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.memory import Memory
from envtune_gym.evaluation.reading import (
    about,
    closest,
    converted,
    cued,
    fits,
    likeness,
    listed,
    mentioned,
    names_in,
    plain_text,
    position,
    quoted,
    same_name,
    typed,
)

__all__ = ["TRIES", "Draft", "Learner", "Outcome", "Plan", "Step"]

TRIES = 3
"""Calls that may follow a failed one to repair it."""

_READ = 4000
"""Characters of a failure that are read."""
_SIMILAR = 0.6
_DONE = "Done."


@dataclass(frozen=True, slots=True)
class Draft:
    """A call that is meant, and the broken message that it was written as."""

    call: Call
    text: str


Step: TypeAlias = Call | Draft
Plan: TypeAlias = tuple[tuple[Step, ...], ...]


class Outcome(Enum):
    """How a plan for a turn ended: carried out, with something to tell the user, or with a call that still fails."""

    DONE = "done"
    ANSWER = "answer"
    GAVE_UP = "gave up"


class _OverError(Exception):
    """Raised when a step limit ends the episode."""


class _Attempt(NamedTuple):
    call: Call
    prerequisite: bool = False


class Learner:
    """Plays plans in an environment with `action_format="tool_call"`. It holds no randomness.

    Args:
        env: The environment, with any wrapper.
    """

    def __init__(self, env: gym.Env[str, str]) -> None:
        self._env = env
        self._memory = Memory()
        self._ahead: list[Step] = []
        self._unread = False  # whether the last message could not be read

    def begin(self, task_id: str) -> None:
        """Start a task, and forget all that was known."""
        request, info = self._env.reset(options={"task_id": task_id})
        self._memory = Memory()
        self._memory.hear(request, info.get("tools", ()))

    def answer(self) -> dict[str, Any]:
        """End the turn and read the next request; return `info`, of which the learner itself reads `tools` alone."""
        request, _, _, _, info = self._env.step(render_answer(_DONE, "tool_call"))
        self._memory.hear(request, info.get("tools", ()))
        return info

    def play_turn(self, steps: Sequence[Step]) -> Outcome:
        """Carry out a plan for the present turn, call by call, without ending it.

        Returns:
            `DONE` if all was carried out as far as the learner can tell; else how it stopped.
        """
        self._ahead = list(steps)
        outcome = Outcome.DONE
        try:
            while self._ahead and outcome is Outcome.DONE:
                step = self._ahead.pop(0)
                outcome = self._mend(step) if isinstance(step, Draft) else self._carry_out(step)
        except _OverError:
            return Outcome.GAVE_UP
        return outcome

    def _carry_out(self, call: Call) -> Outcome:
        failure = self._send(call)
        return Outcome.DONE if failure is None else self._repair(call, failure, TRIES)

    def _repair(self, goal: Call, failure: str, tries: int) -> Outcome:
        """Follow what failures say until the call succeeds or the tries are over."""
        tried = {goal.source()}
        fetched: list[str] = []
        news = False  # whether something was called since the last attempt at the goal
        for left in range(tries, 0, -1):
            if cued("ask", failure):
                return Outcome.ANSWER
            attempt = self._next(goal, failure, tried, fetched, news, left)
            answer = self._send(attempt.call)
            if attempt.prerequisite:
                fetched.append(attempt.call.name)
                news = news or answer is None
                if answer is None and attempt.call in self._ahead:
                    self._ahead.remove(attempt.call)
            elif answer is None:
                return Outcome.DONE
            else:
                tried.add(attempt.call.source())
                goal, failure, news = attempt.call, answer, False
        return Outcome.GAVE_UP

    def _next(
        self, goal: Call, failure: str, tried: set[str], fetched: Sequence[str], news: bool, left: int
    ) -> _Attempt:
        """Return what to do about a failure; the last try is for the goal."""
        ordered = cued("order", failure)
        prerequisite = self._prerequisite(goal, failure, fetched) if left > 1 else None
        if news and not (ordered and prerequisite):
            fresh = () if ordered and self._complete(goal) else self._with_news(goal, failure)
            return _Attempt(next((call for call in fresh if call.source() not in tried), goal))
        for call in self._rewritten(goal, failure):
            if call.source() not in tried and not news:
                return _Attempt(call)
        if prerequisite is not None:
            return _Attempt(prerequisite, prerequisite=True)
        return _Attempt(next((call for call in self._guesses(goal, failure) if call.source() not in tried), goal))

    def _complete(self, goal: Call) -> bool:
        return all(name in goal.kwargs for name in self._memory.tools.get(goal.name, {}).get("required", ()))

    def _rewritten(self, goal: Call, failure: str) -> Iterator[Call]:
        """Yield the call as the text says to write it."""
        memory = self._memory
        if goal.name not in memory.tools:
            if mentioned(failure, goal.name):
                near = closest(goal.name, (name for name in memory.tools if same_name(name, goal.name)))
                for name in dict.fromkeys((*near, *names_in(failure, memory.tools))):
                    yield Call(name, goal.kwargs)
            return
        known = memory.arguments_of(goal.name)
        for name in [name for name in goal.kwargs if name not in known and mentioned(failure, name)]:
            kept = {key: value for key, value in goal.kwargs.items() if key != name}
            for other in difflib.get_close_matches(name, [key for key in known if key not in kept], 1):
                yield Call(goal.name, {other if key == name else key: value for key, value in goal.kwargs.items()})
            yield Call(goal.name, kept)
        if cued("type", failure):
            yield Call(goal.name, {name: typed(value, known.get(name, {})) for name, value in goal.kwargs.items()})
        taken = {*map(str, goal.kwargs.values()), *memory.tools, *known}
        at_fault = self._at_fault(goal, failure)
        stated = [one for one in chain(listed(failure), quoted(failure) if at_fault else ()) if one not in taken]
        for name in at_fault or _suspects(goal, stated):
            if name not in known:
                continue
            value, schema = goal.kwargs[name], known[name]
            alternatives = (typed(one, schema) for one in closest(value, stated))
            for other in chain(converted(value, schema, failure), alternatives):
                if fits(other, schema):
                    yield Call(goal.name, {**goal.kwargs, name: other})

    def _prerequisite(self, goal: Call, failure: str, fetched: Sequence[str]) -> Call | None:
        """Return a call of a tool that the text names and that has not been called for it yet."""
        lookup = not cued("order", failure)
        at_fault = self._at_fault(goal, failure) if lookup else ()
        wrong = [goal.kwargs[name] for name in at_fault or goal.kwargs]
        for name in names_in(failure, self._memory.tools):
            if name == goal.name or name in fetched:
                continue
            planned = (step for step in self._ahead if isinstance(step, Call) and step.name == name)
            call = next(planned, None) or self._memory.fill(Call(name), failure, wrong, lookup=lookup)
            if call is not None:
                return call
        return None

    def _with_news(self, goal: Call, failure: str) -> Iterator[Call]:
        """Yield the call with values of the latest result in the arguments that they are for."""
        known = self._memory.arguments_of(goal.name)
        completed = self._memory.fill(goal, failure)
        if completed is not None:
            yield completed
        for name in goal.kwargs:
            for value in self._memory.returned(name):
                yield Call(goal.name, {**goal.kwargs, name: typed(value, known.get(name, {}))})
        for name in self._at_fault(goal, failure):
            for value in self._memory.news(name, known.get(name, {}), failure, goal.kwargs[name]):
                yield Call(goal.name, {**goal.kwargs, name: value})

    def _guesses(self, goal: Call, failure: str) -> Iterator[Call]:
        """Yield the call completed, or with other known values in its arguments at fault."""
        known = self._memory.arguments_of(goal.name)
        if any(name not in goal.kwargs and about(failure, name) for name in known):
            completed = self._memory.fill(goal, failure)
            if completed is not None:
                yield completed
        for name in self._at_fault(goal, failure):
            for value in self._memory.candidates(name, known.get(name, {}), failure, goal.kwargs[name]):
                yield Call(goal.name, {**goal.kwargs, name: value})

    def _at_fault(self, goal: Call, failure: str) -> list[str]:
        """Return the call's arguments that the text names, then those whose value it has."""
        named = [name for name in goal.kwargs if about(failure, name)]
        cited = [name for name, value in goal.kwargs.items() if len(str(value)) > 1 and mentioned(failure, str(value))]
        return list(dict.fromkeys((*named, *cited)))

    def _mend(self, draft: Draft) -> Outcome:
        """Send a broken message, and mend it as the text says until it can be read."""
        text, sent = draft.text, {draft.text}
        failure = self._say(text)
        tries = TRIES
        while failure is not None and self._unread:
            if not tries:
                return Outcome.GAVE_UP
            text = next((one for one in _mended(draft, text, failure) if one not in sent), text)
            sent.add(text)
            failure = self._say(text)
            tries -= 1
        return Outcome.DONE if failure is None else self._repair(draft.call, failure, tries)

    def _send(self, call: Call) -> str | None:
        """Make a call; return the text of its failure, or None if it looks like a success."""
        self._memory.note_call(call)
        return self._say(render_calls([call], "tool_call"))

    def _say(self, message: str) -> str | None:
        observation, _, terminated, truncated, _ = self._env.step(message)
        if terminated or truncated:
            raise _OverError
        content = _content(observation)
        self._unread = content is None
        if content is None:
            return observation[:_READ]
        failure = _failure(content)
        if failure is None:
            self._memory.note_result(content)
            return None
        return failure[:_READ]


def _suspects(goal: Call, stated: Sequence[str]) -> list[str]:
    """Return the arguments that a text could mean that names none: the only one, or those like a stated value."""
    if len(goal.kwargs) == 1:
        return list(goal.kwargs)
    return [name for name, value in goal.kwargs.items() if any(likeness(value, one) > _SIMILAR for one in stated)]


def _content(observation: str) -> str | None:
    """Return the last result in an observation, or None if it holds no results."""
    try:
        results = json.loads(observation)
    except (ValueError, RecursionError):
        return None
    if not isinstance(results, list) or not results or not isinstance(results[-1], dict):
        return None
    return str(results[-1].get("content", ""))


def _failure(content: str) -> str | None:
    """Return the sentences of a result that reads like a failure, else None.

    JSON does if a key says so; what follows JSON, and any other text, if a word says so.
    """
    try:
        value, end = json.JSONDecoder().raw_decode(content)
    except (ValueError, RecursionError):
        return content if cued("failure", content) else None
    remark = content[end:]
    if cued("failure", remark):
        return plain_text(content[:end]) + remark
    if isinstance(value, dict) and any(cued("failure_key", str(key)) for key in value):
        return plain_text(content[:end]) + remark
    return None


def _mended(draft: Draft, text: str, failure: str) -> Iterator[str]:
    """Yield a broken message with what is expected at the position that the text points at, or written anew."""
    if all(mentioned(failure, word) for word in ("name", "arguments")):
        yield render_calls([draft.call], "tool_call")
    at: Any = position(failure)
    if at is not None:
        for token in quoted(failure):
            if token not in text[at:]:
                yield text[:at] + token + text[at:]
    if cued("form", failure):
        yield render_calls([draft.call], "tool_call")
