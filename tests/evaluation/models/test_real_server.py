"""A small real model behind a server that others wrote, on official tasks, in calm and in storm.

What the model says is of no interest, and it solves nothing. In the storm the proxy answers each request as the server
did in the calm, so that what is compared is the evaluation and not the server's arithmetic.
"""

import pytest
from serving import served, small_model

from envtune_gym import load_tasks
from envtune_gym.asking import ModelSettings
from envtune_gym.evaluation.models import ServerMaker

from .proxy import Proxy

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")


def shortest(number):
    """So many official tasks of each category: those that take a small model the least time."""
    for category in CATEGORIES:
        tasks = load_tasks("bfcl", categories=(category,))
        yield from sorted(tasks, key=lambda task: (task.num_turns, sum(map(len, task.turns))))[:number]


def without_time(record):
    return record.model_dump(exclude={"seconds"})


@pytest.mark.slow
@pytest.mark.bfcl
def test_forty_official_tasks_lose_nothing_and_change_no_verdict_behind_a_faulty_proxy(evaluate, tmp_path):
    tasks = list(shortest(10))
    assert len({task.id for task in tasks}) == 40

    def run(proxy, model, timeout, retries):
        settings = ModelSettings(
            str(model), proxy.url, temperature=0.0, max_tokens=4, timeout=timeout, retries=retries, patience=600
        )
        maker = ServerMaker(settings, "openai", is_seeded=True)
        return evaluate(maker, tasks, "openai", decoder="official", max_steps_per_turn=2)

    with small_model(tmp_path / "model") as model, served(model) as base_url, Proxy(base_url) as proxy:
        calm, stopped = run(proxy, model, timeout=120, retries=0)
        requests, asked = len(proxy.requests), len(proxy.kept)
        proxy.fail(0.3, seed=0)
        stormy, stopped_in_storm = run(proxy, model, timeout=0.4, retries=30)
        faults = 10_000 - len(proxy.faults) - requests
    assert (stopped, stopped_in_storm) == (None, None)
    assert [record.task_id for record in calm] == [task.id for task in tasks]
    assert {record.broken for record in calm} == {""}
    assert all(record.turns == record.num_turns or record.truncated_by for record in calm)
    assert all(record.prompt_tokens > 20 and record.completion_tokens > 0 for record in calm)
    assert faults > requests * 0.2
    assert len(proxy.kept) == asked  # the same requests, to the letter
    assert [one.model_dump(exclude={"seconds"}) for one in stormy] == [
        one.model_dump(exclude={"seconds"}) for one in calm
    ]
