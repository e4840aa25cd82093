import pytest

from envtune_gym import load_tasks
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.replay import play
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.tasks import TaskSet


@pytest.fixture(scope="session")
def official_tasks():
    return load_tasks("bfcl")


@pytest.fixture
def played(official_tasks):
    """Play official tasks: the ground truth, or given messages."""

    def run(task_id, action_format, messages=None, decoder="official"):
        task = official_tasks.get(task_id)
        settings = RunSettings(policy="someone", action_format=action_format, decoder=decoder)
        sent = Oracle(action_format).messages(task) if messages is None else messages
        return play(env_maker(TaskSet([task]), settings)(), task, sent, settings)

    return run


@pytest.fixture
def find(official_tasks):
    return lambda task_id, source: official_tasks.get(task_id)
