import asyncio
import json
import re
import sys

import pytest

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation import Oracle
from envtune_gym.evaluation.runs.choosing import PolicyName, make_policy
from envtune_gym.evaluation.runs.policies import ModelOptions, OracleMaker, RandomMaker, episode_seed
from envtune_gym.evaluation.runs.python_policy import PythonMaker
from envtune_gym.evaluation.runs.replaying import ReplayMaker


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module of the current directory; return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *sys.path])

    def write(text):
        name = f"agent_{abs(hash((text, str(tmp_path))))}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


SYNC = """
import threading
def act(messages, tools):
    assert messages[0]["role"] == "system" and tools[0]["type"] == "function"
    return f"<answer>{threading.current_thread() is threading.main_thread()}</answer>"
"""
ASYNC = """
import asyncio
from envtune_gym.evaluation.runs.policies import Reply
async def act(messages, tools, seed):
    await asyncio.sleep(0)
    return Reply(f"<answer>{seed}</answer>", 5, 2)
"""
OBJECT = """
class Act:
    async def __call__(self, messages, tools):
        return "<answer>a</answer>"
act = Act()
"""
TOGETHER = """
import threading
both = threading.Barrier(2, timeout=20)
def act(messages, tools):
    both.wait()
    return ""
"""


def test_a_plain_function_is_called_in_a_thread(module, played, ticket_task):
    record = played(ticket_task, PythonMaker(f"{module(SYNC)}:act", 2).make(ticket_task, 0, 1))
    assert record.messages == ["<answer>False</answer>"] * 2


def test_an_async_function_is_awaited_given_the_seed_and_may_count_tokens(module, played, ticket_task):
    record = played(ticket_task, PythonMaker(f"{module(ASYNC)}:act", 2).make(ticket_task, 0, 41))
    assert record.messages == ["<answer>41</answer>"] * 2
    assert (record.prompt_tokens, record.completion_tokens) == (10, 4)


def test_an_object_that_can_be_called_is_a_policy_too(module, played, ticket_task):
    record = played(ticket_task, PythonMaker(f"{module(OBJECT)}:act", 2).make(ticket_task, 0, 41))
    assert (record.messages, record.broken) == (["<answer>a</answer>"] * 2, "")


def test_slow_functions_run_side_by_side(module, played, ticket_task):
    maker = PythonMaker(f"{module(TOGETHER)}:act", 2)

    async def two():
        policies = [maker.make(ticket_task, sample, 0) for sample in range(2)]
        await asyncio.gather(*(policy.reply([], []) for policy in policies))
        await maker.aclose()

    asyncio.run(two())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('x')", r"KeyError: 'x' \(agent_\d+\.py, line 2\)"),
        ("raise StopIteration", r"StopIteration: .*\(agent_\d+\.py, line 2\)|raised StopIteration"),
        ("raise SystemExit(3)", r"SystemExit: 3 \(agent_\d+\.py, line 2\)"),
        ("return 3", "returned int, not the assistant's message"),
        ("return None", "returned NoneType"),
    ],
)
def test_what_goes_wrong_in_a_callable_is_said_with_its_place(module, played, ticket_task, body, said):
    for kind in ("def", "async def"):
        place = f"{module(f'{kind} act(messages, tools):' + chr(10) + f'    {body}')}:act"
        record = played(ticket_task, PythonMaker(place, 1).make(ticket_task, 0, 1))
        assert re.search(said, record.broken)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="cannot be told from the end of the run")
def test_a_cancellation_of_the_callables_own_breaks_its_episode_alone(module, played, ticket_task):
    place = f"{module('import asyncio' + chr(10) + 'async def act(m, t): raise asyncio.CancelledError')}:act"
    record = played(ticket_task, PythonMaker(place, 1).make(ticket_task, 0, 1))
    assert "CancelledError" in record.broken


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "{}:act", "no callable named act"),
        ("act = 3", "{}:act", "no callable named act"),
        ("import nothing_such", "{}:act", r"No module named 'nothing_such' \(agent_\d+\.py, line 1\)$"),
        ("(", "{}:act", r"SyntaxError: '\(' was never closed \(agent_\d+\.py, line 1\)$"),
        ("raise SystemExit(3)", "{}:act", r"SystemExit: 3 \(agent_\d+\.py, line 1\)"),
        ("1 / 0", "{}:act", r"ZeroDivisionError: division by zero \(agent_\d+\.py, line 1\)"),
        ("", "nosuch:act", "cannot import nosuch: there is no module 'nosuch'; .*current folder.*PYTHONPATH"),
        ("", "nosuch.part:act", "cannot import nosuch.part: there is no module 'nosuch'; .*current folder"),
        ("", "{}", "python:MODULE:CALLABLE"),
    ],
)
def test_a_callable_that_is_not_there_is_a_mistake_that_is_explained(module, text, place, said):
    with pytest.raises(ConfigurationError, match=said):
        PythonMaker(place.format(module(text)), 1)


def test_seeds_of_episodes_are_fixed_and_differ():
    assert episode_seed(0, "ticket", 0) == 179665645
    seeds = {episode_seed(seed, task, sample) for seed in range(5) for task in ("a", "b", "1/a") for sample in range(5)}
    assert len(seeds) == 75
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_the_random_policy_writes_what_can_be_read(played, withheld_task, action_format):
    for sample in range(10):
        policy = RandomMaker(action_format).make(withheld_task, sample, sample)
        record = played(withheld_task, policy, action_format=action_format)
        assert (record.format_errors, record.broken, record.turns) == (0, "", 3)
        assert record.calls


@pytest.fixture
def recorded(tmp_path, ticket_task):
    path = tmp_path / "recorded.jsonl"
    solved = {"task_id": "ticket", "sample": 1, "messages": Oracle().messages(ticket_task)}
    silent = {"task_id": "ticket", "sample": 0, "messages": ["<answer>no</answer>"]}
    path.write_text("".join(json.dumps(line) + "\n" for line in (solved, silent)))
    return path


def test_a_replay_sends_the_samples_by_their_numbers(recorded, played, ticket_task):
    maker = ReplayMaker(recorded, "tool_call")
    records = [played(ticket_task, maker.make(ticket_task, sample, 0)) for sample in range(2)]
    assert [record.success for record in records] == [False, True]
    assert records[0].broken == "the messages known beforehand end before the task does"
    assert records[0].messages == ["<answer>no</answer>"]


def test_a_replay_of_what_the_file_does_not_have_is_refused(recorded, ticket_task):
    with pytest.raises(Exception, match="2 episodes of task 'ticket'"):
        ReplayMaker(recorded, "tool_call").make(ticket_task, 2, 0)


@pytest.mark.parametrize("text", ["", "nobody", "oracle:x", "replay", "replay:", "server:", "python", ":"])
def test_a_policy_of_no_known_name_is_refused(text):
    with pytest.raises(ConfigurationError, match="--policy must be one of oracle, random, replay:FILE"):
        PolicyName.parse(text)


def test_names_keep_their_colons():
    assert PolicyName.parse("server:org/model:free") == PolicyName("server", "org/model:free")


@pytest.mark.parametrize(
    ("policy", "wanted", "mode", "taken"),
    [
        ("oracle", None, None, "tool_call"),
        ("oracle", "python", None, "python"),
        ("server:m", None, None, "openai"),
        ("server:m", None, "prompting", "python"),
        ("server:m", "tool_call", None, "tool_call"),
        ("server:m", "tool_call", "prompting", "tool_call"),
        ("local:m", None, None, "python"),
        ("local:m", None, "native", "openai"),
    ],
)
def test_the_format_goes_by_the_mode(policy, wanted, mode, taken):
    assert PolicyName.parse(policy).action_format(wanted, mode) == taken


@pytest.mark.parametrize(
    ("policy", "wanted", "mode"),
    [("server:m", "python", "native"), ("server:m", "openai", "prompting"), ("oracle", None, "native")],
)
def test_a_mode_that_the_format_excludes_is_refused(policy, wanted, mode):
    with pytest.raises(ConfigurationError, match="--mode"):
        PolicyName.parse(policy).action_format(wanted, mode)


def test_a_replay_takes_the_format_from_its_file(tmp_path, recorded):
    run = {"policy": "oracle", "action_format": "python", "decoder": "official"}
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"task_id": "a", "messages": [], "run": run}) + "\n")
    name = PolicyName.parse(f"replay:{path}")
    assert (name.action_format(None, None), name.recorded().decoder) == ("python", "official")
    assert name.action_format("openai", None) == "openai"
    assert PolicyName.parse(f"replay:{recorded}").recorded() is None
    with pytest.raises(DataError, match="nowhere"):
        PolicyName.parse("replay:nowhere").recorded()


def test_what_influences_replies_is_a_setting_and_the_servers_address_is_not():
    options = ModelOptions(base_url="http://a/v1", temperature=0.0, retries=3, timeout=4, concurrency=9)
    assert options.settings() == {"temperature": 0.0, "max_tokens": 4096, "mode": "native", "prompts": "auto"}


def test_policies_are_made_by_name(ticket_task):
    maker = make_policy(PolicyName.parse("oracle"), "python", ModelOptions())
    assert isinstance(maker, OracleMaker)
    assert asyncio.run(maker.make(ticket_task, 0, 0).reply([], [])).text.startswith("[create_ticket(")
