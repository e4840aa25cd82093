import asyncio
import contextlib

import pytest

from envtune_gym.evaluation.runs.episode import env_maker, new_record, play_episode
from envtune_gym.evaluation.runs.policies import Reply, ScriptedPolicy
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.tasks import TaskSet


@pytest.fixture
def run():
    return RunSettings(policy="test")


@pytest.fixture
def played():
    """Play a task with known messages, or with a policy; return the record."""

    def play(task, policy, **settings):
        if isinstance(policy, list):
            policy = ScriptedPolicy(policy)
        run = RunSettings(policy="test", **settings)
        record = new_record(task, 0, run)
        with contextlib.closing(env_maker(TaskSet([task]), run)()) as env:
            asyncio.run(play_episode(env, task, record, lambda: policy))
        return record

    return play


class Talker:
    """A policy that says what a function makes of messages and tools, and keeps what it has been shown."""

    def __init__(self, say):
        self.say = say
        self.shown = []

    async def reply(self, messages, tools):
        self.shown.append((messages, tools))
        said = self.say(messages, tools)
        return said if isinstance(said, Reply) else Reply(said)


@pytest.fixture
def talker():
    return Talker
