"""Model output is hostile: whatever it says has a defined and bounded outcome, and runs nothing but tools."""

import ast
import json
import random
from pathlib import Path

import gymnasium as gym
import pytest

import envtune_gym
from envtune_gym import TaskSet
from envtune_gym.testing.hostile import FORMATS, check_step
from envtune_gym.testing.hostile_texts import PROOF_OF_INJECTION, hostile_messages


@pytest.fixture(params=FORMATS)
def env(request, ticket_task):
    env = gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet([ticket_task]), action_format=request.param).unwrapped
    env.reset(seed=0)
    return env


def test_hostile_text_has_a_defined_outcome_and_runs_no_more_than_tools(env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tools = {name: env.episode.world.tools[name] for name in ("create_ticket", "mean", "close_ticket")}
    for action in hostile_messages(tools):
        info = check_step(env, action)
        json.dumps(info)
        for result in info["tool_results"]:
            assert result["error"] or result["name"] in {"create_ticket", "mean", "close_ticket"}
    assert not Path(PROOF_OF_INJECTION).exists()


PIECES = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<answer>", "</answer>", "[", "]", "{", "}", "(", ")", '"',
    "'", ",", ":", "=", "\\", "\n", "```", "python", "-", "+", "**", "0", "1e999", "NaN", "null", "None", "true",
    "create_ticket", "mean", "close_ticket", "title", "numbers", "ticket_id", "name", "arguments", "tool_calls",
    "function", '"name": "mean"', "\ud800", "é", "\x00", " ", "self", "__class__", "lambda", "f", "x" * 50,
]  # fmt: skip
VALID = [
    '<tool_call>[{"name": "create_ticket", "arguments": {"title": "Lamp", "description": "[(broken)]"}}]</tool_call>',
    "[create_ticket(title='Lamp', description='<think>'), mean(numbers=[1, 2.5, -3])]",
    json.dumps({"content": None, "tool_calls": [{"function": {"name": "mean", "arguments": '{"numbers": [1, 2]}'}}]}),
    "<think>mean(numbers=[1])</think><answer>done</answer>",
]


def fuzzed(rng):
    """Return random pieces, or a valid action with some of it deleted, repeated or replaced."""
    if rng.random() < 0.3:
        return "".join(rng.choices(PIECES, k=rng.randrange(20)))
    text = rng.choice(VALID)
    for _ in range(rng.randrange(1, 5)):
        start = rng.randrange(len(text) + 1)
        stop = min(len(text), start + rng.randrange(8))
        text = text[:start] + rng.choice(["", rng.choice(PIECES), text[start:stop] * 2]) + text[stop:]
    return text


def fuzz(env, count):
    rng = random.Random(env.action_format)
    for _ in range(count):
        check_step(env, fuzzed(rng))


def test_fuzzed_actions_have_a_defined_outcome(env):
    fuzz(env, 2_000)


@pytest.mark.slow
def test_a_hundred_thousand_fuzzed_actions_have_a_defined_outcome(env):
    fuzz(env, 34_000)  # times three formats


def test_no_code_of_the_package_evaluates_text():
    for path in Path(envtune_gym.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, f"{path}:{node.lineno}"
