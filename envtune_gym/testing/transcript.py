"""What comes of playing some tasks, as text: `python -m envtune_gym.testing.transcript FILE`."""

from __future__ import annotations

import json
import os
import sys

from envtune_gym.callsyntax import parse_call
from envtune_gym.evaluation.corpus import broken_episode
from envtune_gym.tasks import Task, TaskSet, load_tasks
from envtune_gym.testing.hostile import make_env
from envtune_gym.testing.results import kept
from envtune_gym.world import World

__all__ = ["transcript"]

_MESSAGES = 40


def transcript(file: str | os.PathLike[str]) -> str:
    """Return the results, states and observations of the tasks of a file, played right and then wrong; ASCII."""
    return "".join(json.dumps([_solved(task), _broken(task, index)]) for index, task in enumerate(load_tasks(file)))


def _solved(task: Task) -> list[str]:
    world = World(task.domains, task.initial_config, task.long_context)
    return [*(world.run(parse_call(text)).content for calls in task.ground_truth for text in calls), kept(world)]


def _broken(task: Task, index: int) -> list[str]:
    episode = broken_episode(task, index)
    env = make_env(TaskSet([task]), episode.action_format)
    seen: list[str] = []
    for action in episode.actions[:_MESSAGES]:
        if env.episode.over:
            break
        seen.append(env.step(action)[0])
    return [*seen, kept(env.episode.world)]


if __name__ == "__main__":
    sys.stdout.write(transcript(sys.argv[1]))
