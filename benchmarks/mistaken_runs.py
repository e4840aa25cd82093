"""Runs of a player who knows the solution and makes mistakes, for what shows or counts runs.

The same seed gives the same run on any machine. Mistakes are of the kinds that models make: a wrong argument, a tool
that does not exist (mended in the next step, or not), a call left out or one too many, a message that cannot be read,
giving up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from envtune_gym import Task, TaskSet
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.evaluation.runs.episode import env_maker, new_record, play_episode
from envtune_gym.evaluation.runs.policies import ScriptedPolicy
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.world import name_arguments

ANSWERS = ("Done.", "That is taken care of.", "All set; anything else?", "Here is what I found.")
THOUGHTS = ("The user wants this done with the tools at hand.", "First look, then act.", "One step is left.")
FORMAT = "tool_call"


def make_run(
    tasks: Iterable[Task], seed: int, *, skill: float, feedback: FeedbackLevel = "actionable", policy: str = "mistaken"
) -> Iterator[EvaluatedEpisode]:
    """Yield an episode of each task.

    Args:
        tasks: The tasks.
        seed: Seed of the mistakes.
        skill: How often a turn is played without one.
        feedback: Level of feedback.
        policy: What the run's settings call the player.
    """
    run = RunSettings(policy=policy, feedback=feedback, seed=seed, options={"skill": skill})
    for task in tasks:
        record = new_record(task, 0, run)
        messages = list(_messages(task, Random(f"{seed}/{task.id}"), skill))
        env = env_maker(TaskSet([task]), run)()
        asyncio.run(play_episode(env, task, record, lambda messages=messages: ScriptedPolicy(messages)))
        yield record.model_copy(update={"seconds": 0.0})


def save_run(episodes: Iterable[EvaluatedEpisode], path: Path) -> Path:
    """Write episodes, a line each."""
    with path.open("w", encoding="utf-8") as file:
        for episode in episodes:
            file.write(episode.model_dump_json() + "\n")
    return path


def _messages(task: Task, rng: Random, skill: float) -> Iterator[str]:
    """Yield the messages of an episode; each turn ends with an answer."""
    for texts in task.ground_truth:
        calls = [name_arguments(parse_call(text), task.domains) for text in texts]
        if rng.random() > skill:
            yield from _mistaken(calls, rng)
        elif calls:
            yield from _shown(calls, rng)
        yield render_answer(rng.choice(ANSWERS), FORMAT)


def _shown(calls: list[Call], rng: Random) -> Iterator[str]:
    """Yield the calls as one message, or as one each."""
    thought = rng.choice(THOUGHTS) if rng.random() < 0.4 else None
    groups = [calls] if rng.random() < 0.5 else [[call] for call in calls]
    for group in groups:
        yield render_calls(group, FORMAT, thought=thought)


def _mistaken(calls: list[Call], rng: Random) -> Iterator[str]:
    kind = rng.choice(("argument", "argument", "tool", "mended", "left out", "extra", "unreadable", "given up"))
    if not calls or kind == "given up":
        return
    at = rng.randrange(len(calls))
    wrong = list(calls)
    if kind == "argument":
        wrong[at] = Call(calls[at].name, {name: _other(value) for name, value in calls[at].kwargs.items()})
    elif kind in ("tool", "mended"):
        wrong[at] = Call(calls[at].name.rstrip("s") + "_now", dict(calls[at].kwargs))
    elif kind == "left out":
        del wrong[at]
    elif kind == "extra":
        wrong.insert(at, calls[at])
    elif kind == "unreadable":
        yield f'<tool_call>[{{"name": "{calls[at].name}", "arguments": {{]</tool_call>'
    if wrong:
        yield from _shown(wrong, rng)
    if kind == "mended":
        yield from _shown(calls[at:], rng)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value} (copy)" if isinstance(value, str) else value
