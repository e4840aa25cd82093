"""Model output is hostile: whatever it says has a defined and bounded outcome, and runs nothing but tools."""

import ast
import json
import random
from pathlib import Path

import gymnasium as gym
import pytest

import envtune_gym
from envtune_gym import TaskSet

FORMATS = ("tool_call", "python", "openai")

EXPRESSIONS = [
    "__import__('os').system('touch /tmp/envtune_pwned')",
    "().__class__.__bases__[0].__subclasses__()",
    "create_ticket.__globals__",
    "create_ticket.__func__()",
    "self.tools()",
    "_functions()",
    "__init__(config={})",
    "__class__()",
    "state()",
    "fork()",
    "same_state(other=1)",
    "TicketAPI.create_ticket(title='x')",
    "exec('1')",
    "eval('1+1')",
    "open('/etc/passwd')",
    "exit()",
    "print('x')",
    "lambda: 0",
    "[create_ticket for _ in range(9)]",
    "create_ticket(**{'title': 'x'})",
    "create_ticket(*['x'])",
    "create_ticket(title=f'{1+1}')",
    "(x := 1)",
    "mean(numbers=[9**9**9])",
    "mean(numbers=[1e999, -1e999])",
    "await create_ticket()",
    "yield 1",
]
JSON_CALLS = [
    '{"name": "__init__", "arguments": {"config": {}}}',
    '{"name": "__class__", "arguments": {}}',
    '{"name": "state", "arguments": {}}',
    '{"name": "create_ticket", "arguments": {"self": 1}}',
    '{"name": "create_ticket", "arguments": [1]}',
    '{"name": "create_ticket", "arguments": "title"}',
    '{"name": ["create_ticket"], "arguments": {}}',
    '{"name": null, "arguments": null}',
    '{"name": "mean", "arguments": {"numbers": [NaN, Infinity]}}',
    '{"name": "mean", "arguments": {"numbers": [' + "9" * 5000 + "]}}",
    '{"name": "close_ticket", "arguments": {"ticket_id": {"a": [[[[[]]]]]}}}',
    '{"name": "close_ticket", "arguments": {"ticket_id": "\\ud800"}}',
    '{"name": "close_ticket"',
    "[" * 60_000,
    '{"a":' * 10_000,
    "{" * 60_000 + "}" * 5_000,
]
TEXTS = [
    "",
    " ",
    "\x00",
    "\ud800\udfff",
    "\u202e reversed",
    "<think>" * 9_000,
    "<tool_call>" * 5_000,
    "<tool_call>[" * 5_000,
    "</tool_call><answer><think>",
    "<think><tool_call>[]</tool_call>",
    "```json\n" * 7_000,
    "f(" * 30_000,
    "[" * 30_000 + "]" * 30_000,
    "-" * 60_000 + "1",
    "not " * 16_000 + "1",
    "1" + "+1" * 30_000,
    "a" + ".b" * 30_000,
    "f" + "()" * 30_000,
    "'" * 65_000,
    '"' * 65_000,
    "\\" * 65_000,
    "f(a=" * 16_000,
    "lambda:" * 9_000,
    "x" * 70_000,
]


def hostile():
    yield from TEXTS
    for expression in EXPRESSIONS:
        yield expression
        yield f"[{expression}]"
        yield f"<tool_call>[{expression}]</tool_call>"
    for call in JSON_CALLS:
        yield f"<tool_call>[{call}]</tool_call>"
        yield f"<tool_call>{call}</tool_call>"
        yield json.dumps({"role": "assistant", "tool_calls": [{"function": call}]})
        arguments = {"name": "create_ticket", "arguments": call}
        yield json.dumps({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": arguments}]})


@pytest.fixture(params=FORMATS)
def env(request, ticket_task):
    env = gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet([ticket_task]), action_format=request.param).unwrapped
    env.reset(seed=0)
    return env


def check_step(env, action):
    """Take a step; whatever it was, the outcome is defined, and a world in which nothing ran is as before."""
    if env.episode.over:
        env.reset(seed=0)
    before = env.episode.world.state()
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation in env.observation_space
    assert reward in (0.0, 1.0)
    assert isinstance(terminated, bool)
    assert isinstance(truncated, bool)
    if all(result["error"] for result in info["tool_results"]):
        assert env.episode.world.state() == before
    return info


def test_hostile_text_has_a_defined_outcome_and_runs_no_more_than_tools(env):
    for action in hostile():
        info = check_step(env, action)
        json.dumps(info)
        for result in info["tool_results"]:
            assert result["error"] or result["name"] in {"create_ticket", "mean", "close_ticket"}
    assert not Path("/tmp/envtune_pwned").exists()


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
