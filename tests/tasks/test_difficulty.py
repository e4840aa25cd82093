import pytest

from envtune_gym.tasks import Task, load_tasks
from envtune_gym.tasks.difficulty import Difficulty, measure_difficulty

CHAIN = Task(
    id="chain",
    category="base",
    domains=("MathAPI", "MessageAPI"),
    turns=["Add 1500 and 25.", "Hello.", "Double it, then take 3 off. And what was 1500 times 2?"],
    ground_truth=[
        ["add(a=1500, b=25)"],
        [],
        ["multiply(a=1525, b=2)", "subtract(a=3050, b=3)", "multiply(a=1500, b=2)"],
    ],
)


def test_the_numbers_of_a_task():
    difficulty = measure_difficulty(CHAIN)
    assert (
        difficulty[:6] == Difficulty(turns=2, calls=4, depth=3, domains=2, tools=27, distance=2, context_tokens=0)[:6]
    )
    assert 30 < difficulty.context_tokens < 60


def test_a_task_knows_its_difficulty():
    assert CHAIN.difficulty == measure_difficulty(CHAIN)


@pytest.mark.bfcl
def test_official_tasks_have_it_too(official):
    base, long = (load_tasks("bfcl", categories=category)[:40] for category in ("base", "long_context"))
    read = [sum(task.difficulty.context_tokens for task in tasks) for tasks in (base, long)]
    assert read[0] < 2 * read[0] < read[1]
