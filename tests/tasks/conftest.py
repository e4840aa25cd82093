import pytest

from envtune_gym.tasks import Task, load_tasks


@pytest.fixture
def make_task():
    """A valid task; keyword arguments replace fields."""

    def make(**changes):
        fields = {
            "id": "sum",
            "category": "base",
            "domains": ["MathAPI"],
            "turns": ["Add 2 and 3.", "Now 4 and 5."],
            "ground_truth": [["add(a=2, b=3)"], ["add(a=4, b=5)"]],
        }
        return Task(**{**fields, **changes})

    return make


@pytest.fixture(scope="session")
def official():
    return load_tasks("bfcl")
