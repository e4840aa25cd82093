import asyncio

import pytest

from envtune_gym import TaskSet
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.runs.runner import InProcess, Runner, episodes_to_play


@pytest.fixture
def evaluate():
    """Play tasks with a maker's policies; return the records in the order of tasks and samples, and why it stopped."""

    def evaluate(maker, tasks, action_format, samples=1, concurrency=4, **settings):
        run = RunSettings(policy=maker.name, action_format=action_format, **settings)
        records = []

        async def play():
            runner = Runner(
                InProcess(env_maker(TaskSet(tasks), run), maker, run), records.append, concurrency=concurrency
            )
            try:
                await runner.play(episodes_to_play(tasks, samples))
            finally:
                await maker.aclose()
            return runner.stopped

        stopped = asyncio.run(play())
        places = {task.id: place for place, task in enumerate(tasks)}
        return sorted(records, key=lambda one: (places[one.task_id], one.sample)), stopped

    return evaluate
