"""The tasks behind OpenEnv's own server, played by its own client over localhost."""

import asyncio
import contextlib
import threading

import pytest

pytest.importorskip("openenv", reason='needs openenv, in an environment of its own: pip install ".[openenv]"')

import gymnasium as gym
import httpx
import uvicorn
from openenv import GenericEnvClient

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.integrations.openenv_client import EnvtuneAction, EnvtuneClient
from envtune_gym.integrations.openenv_server import make_app
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.wrappers import AugmentedFeedbackWrapper

from .page_example import run_example

ANSWER = EnvtuneAction(message="<answer>Done.</answer>")
WRONG = '<tool_call>[{"name": "create_ticket", "arguments": {"titel": "Lamp"}}]</tool_call>'


@contextlib.contextmanager
def serving(*arguments, **options):
    """Serve on a free port; yield the address."""
    server = uvicorn.Server(uvicorn.Config(make_app(*arguments, **options), port=0, log_level="error"))
    started = threading.Event()
    startup = server.startup

    async def announced(*args, **kwargs):
        await startup(*args, **kwargs)
        started.set()

    server.startup = announced
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(60)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def tasks(ticket_task, withheld_task):
    return TaskSet([ticket_task, withheld_task])


def play(client, task, action_format="tool_call"):
    """Play the ground truth; return the rewards."""
    result = client.reset(task_id=task.id)
    rewards = []
    for message in Oracle(action_format).messages(task):
        assert not result.done
        result = client.step(EnvtuneAction(message=message))
        rewards.append(result.reward)
    assert result.done
    return rewards


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_the_oracle_is_paid_in_full(tasks, action_format):
    with serving(tasks, action_format=action_format) as url, EnvtuneClient(base_url=url).sync() as client:
        for task in tasks:
            rewards = play(client, task, action_format)
            assert rewards == [*[0.0] * (len(rewards) - 1), 1.0]


def test_a_client_reads_what_the_environment_says(tasks):
    env = AugmentedFeedbackWrapper(gym.make(MULTI_DOMAIN_ID, tasks=tasks), level="error")
    with serving(tasks, feedback="error") as url, EnvtuneClient(base_url=url).sync() as client:
        text, info = env.reset(seed=3)
        observation = client.reset(seed=3).observation
        assert (observation.text, observation.info) == (text, info)
        for message in (WRONG, ANSWER.message):
            text, _, _, _, info = env.step(message)
            observation = client.step(EnvtuneAction(message=message)).observation
            assert (observation.text, observation.info) == (text, info)
        state = client.state()
        assert (state.task_id, state.step_count) == (info["task_id"], 2)


def test_progress_pays_by_the_turn(tasks):
    with serving(tasks, reward="progress") as url, EnvtuneClient(base_url=url).sync() as client:
        assert sum(play(client, tasks[0])) == 1.0
        assert [reward for reward in play(client, tasks[1]) if reward] == pytest.approx([1 / 3] * 3)


def test_a_step_limit_is_told_from_an_end(tasks):
    with serving(tasks, max_steps_per_turn=1) as url, EnvtuneClient(base_url=url).sync() as client:
        client.reset(task_id="ticket")
        assert not client.step(EnvtuneAction(message=WRONG)).done
        cut = client.step(EnvtuneAction(message=WRONG))
        assert (cut.done, cut.observation.truncated, cut.reward) == (True, True, 0.0)


def test_sessions_at_once_share_nothing(tasks):
    async def session(url, number):
        task = tasks[number % 2]
        async with EnvtuneClient(base_url=url) as client:
            result = await client.reset(task_id=task.id)
            for message in Oracle().messages(task):
                result = await client.step(EnvtuneAction(message=message))
            return result.reward, (await client.state()).task_id

    async def sessions(url):
        return await asyncio.gather(*(session(url, number) for number in range(20)))

    with serving(tasks) as url:
        assert asyncio.run(sessions(url)) == [(1.0, tasks[number % 2].id) for number in range(20)]


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "half a pair: \ud800",
        "<tool_call>" + "[" * 5_000,
        r'<tool_call>[{"name": "ticket_login", "arguments": {"username": "\ud800", "password": "x"}}]</tool_call>',
        r'<tool_call>[{"name": "\ud800", "arguments": {"\udfff": ["\ud800"]}}]</tool_call>',
        '<tool_call>[{"name": "__init__", "arguments": {}}, {"name": "reset", "arguments": {}}]</tool_call>',
        '<tool_call>[{"name": "mean", "arguments": {"numbers": [1e308, 1e308]}}]</tool_call>',
        f'<tool_call>[{{"name": "mean", "arguments": {{"numbers": [{"9" * 4_000}]}}}}]</tool_call>',
        f'<tool_call>[{{"name": "mean", "arguments": {{"numbers": {"[" * 60}{"]" * 60}}}}}]</tool_call>',
    ],
    ids=["empty", "half", "brackets", "surrogate", "surrogates", "dunder", "infinity", "huge", "deep"],
)
def test_whatever_a_model_writes_the_session_goes_on(tasks, hostile):
    with serving(tasks) as url, EnvtuneClient(base_url=url).sync() as client:
        client.reset(task_id="ticket")
        result = client.step(EnvtuneAction(message=hostile))
        while not result.done:
            result = client.step(ANSWER)
        assert result.reward == 0.0
        assert play(client, tasks[0])[-1] == 1.0


def test_mistakes_of_the_caller_are_answered_and_the_session_goes_on(tasks):
    with serving(tasks) as url, EnvtuneClient(base_url=url).sync() as client:
        with pytest.raises(RuntimeError, match="no task 'nothing'"):
            client.reset(task_id="nothing")
        with pytest.raises(RuntimeError, match=r"reset\(\)"):
            client.step(ANSWER)
        assert play(client, tasks[0])[-1] == 1.0


def test_the_server_describes_itself(tasks):
    with serving(tasks) as url:
        schema = httpx.get(f"{url}/schema").json()
        assert schema["action"]["properties"]["message"]["type"] == "string"
        assert "task_id" in schema["state"]["properties"]
        assert httpx.get(f"{url}/metadata").json()["name"] == "envtune"
        with GenericEnvClient(base_url=url).sync() as client:
            assert client.reset(task_id="ticket").observation["info"]["task_id"] == "ticket"


def test_wrong_options_are_told_before_serving(tasks):
    with pytest.raises(ConfigurationError, match="reward"):
        make_app(tasks, reward="fame")
    with pytest.raises(ConfigurationError, match="feedback"):
        make_app(tasks, feedback="loud")


def test_generated_tasks_are_served_by_default():
    with serving(split="test", difficulty=[1]) as url, EnvtuneClient(base_url=url).sync() as client:
        task = load_tasks("generated", split="test", difficulty=[1])[4]
        assert play(client, task)[-1] == 1.0


def test_the_example_of_the_page_runs(tasks, monkeypatch, capsys):
    with serving(tasks[:1]) as url:
        monkeypatch.setenv("ENVTUNE_URL", url)
        run_example("openenv")
    assert capsys.readouterr().out == "ticket 0.0 0 of 2 turns passed\n"
