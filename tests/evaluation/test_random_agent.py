import json

import gymnasium as gym
import jsonschema
import pytest

import envtune_gym  # noqa: F401 (registers the environments)
from envtune_gym import load_tasks
from envtune_gym.calls import parse_action
from envtune_gym.evaluation.policies import play
from envtune_gym.evaluation.random_agent import RandomPolicy
from envtune_gym.wrappers import AugmentedFeedbackWrapper

PARAMETERS = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "flags": {"type": "array", "items": {"type": "boolean"}},
        "changes": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        "note": {"type": "string"},
    },
    "required": ["name", "count", "price", "mode", "flags", "changes"],
}
TOOLS = [{"type": "function", "function": {"name": "do", "description": "", "parameters": PARAMETERS}}]


def _calls(policy, observation="Hello.", turns=50):
    """Play against one observation; return all calls, and how many there were in each turn."""
    calls, numbers = [], []
    for turn in range(turns):
        numbers.append(0)
        info = {"turn": turn, "tools": TOOLS} if not turn else {"turn": turn}
        while (reply := parse_action(policy(observation, info), "tool_call")).answer is None:
            calls += reply.calls
            numbers[-1] += 1
            info = {"turn": turn}
    return calls, numbers


def test_arguments_fit_their_schema():
    calls, numbers = _calls(RandomPolicy(1))
    assert set(numbers) == {1, 2, 3}
    for call in calls:
        jsonschema.validate(dict(call.kwargs), PARAMETERS)
    assert {"note" in call.kwargs for call in calls} == {True, False}
    assert {call.kwargs["mode"] for call in calls} == {"a", "b"}


def test_values_come_from_what_was_observed_where_the_type_fits():
    results = json.dumps([{"name": "x", "content": json.dumps({"id": 70001, "total": 12.5, "owner": "Ada Byron"})}])
    calls, _ = _calls(RandomPolicy(2), results)
    assert sum(call.kwargs["count"] == 70001 for call in calls) > len(calls) / 2
    assert {12.5, 70001} <= {call.kwargs["price"] for call in calls}
    names = {call.kwargs["name"] for call in calls}
    assert "Ada Byron" in names
    assert len(names) > 5  # the other words there, and new ones


def test_the_same_seed_does_the_same():
    assert _calls(RandomPolicy("3 x")) == _calls(RandomPolicy("3 x"))
    assert _calls(RandomPolicy("3 x")) != _calls(RandomPolicy("4 x"))


def test_it_answers_where_nothing_is_on_offer():
    assert parse_action(RandomPolicy()("Hi", {"turn": 0, "tools": []}), "tool_call").answer


@pytest.mark.parametrize(
    "observation",
    ["", "\ud800 \x00 'a", '"' * 50_000, "\\" * 50_000, "'<answer>' \"</tool_call>\" 007 -0 1e999 NaN", "9" * 50_000],
)
def test_any_observation_gives_a_message_that_can_be_read(observation):
    calls, numbers = _calls(RandomPolicy(5), observation, turns=8)
    assert all(numbers)
    for call in calls:
        jsonschema.validate(dict(call.kwargs), PARAMETERS)


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_it_never_breaks_an_environment_and_never_breaks_the_format(action_format):
    tasks = load_tasks("generated", split="test")[:60]
    env = gym.make("EnvTune/MultiDomain-v0", tasks=tasks, action_format=action_format, disable_env_checker=True)
    env = AugmentedFeedbackWrapper(env, level="diagnostic")
    read = []

    for task in tasks:
        policy = RandomPolicy(task.id, action_format)

        def act(observation, info, policy=policy):
            if "format_ok" in info:
                read.append(info["format_ok"] and "parse_error" not in info)
            return policy(observation, info)

        played = play(env, act, task.id)
        assert 0 <= played.progress <= 1
    assert all(read)
    assert len(read) > 2 * len(tasks)
