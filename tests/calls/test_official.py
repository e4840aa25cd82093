import pytest

from envtune_gym import World
from envtune_gym.calls import parse_action
from envtune_gym.calls.official import DecodeError, execution_strings
from envtune_gym.callsyntax import BrokenCall, Call

UNBOUNDED = ["9 ** 9 ** 9", "'a' * 10 ** 9", "1 << 10 ** 9", "'%9999999d' % 1", "+".join(["1"] * 9000), "(9 ** 5000)"]


@pytest.mark.parametrize(
    ("text", "executions"),
    [
        ("[f(a=1), g(b='x')]", ["f(a=1)", "g(b='x')"]),
        ("f(a=1)", ["f(a=1)"]),
        ("[f(a=1), g(b=2)", ["f(a=1)", "g(b=2)"]),
        ("```[f()]```", ["f()"]),
        ("[f(1, a=2)]", ["f(a=2)"]),
        ("[f(a=+5, b=not True, c=~1)]", ["f(a=-5, b=-1, c=-1)"]),
        ("[f(a=false, b=x[0], c=g(1))]", ["f(a='false', b='x[0]', c='g(1)')"]),
        ("[f(a=2 * 3 + 1, b='ab' * 2)]", ["f(a=7, b='abab')"]),
        ("[f(a=1, a=2)]", ["f(a=2)"]),
        ("[f(a={'b': {'c': 1}, 'd': {}})]", ["f(a=b(c=1))"]),
        ("[f(a={1: 2})]", ["f(a={'1': 2})"]),
        ("[f(a=g(b=1), c=[g(b=1)])]", ["f(a=g(b=1), c=[{'g': {'b': 1}}])"]),
        ("[api.f(a=1e999)]", ["api.f(a=inf)"]),
        ("[f(**x)]", ["f(None='x')"]),
        ("", []),
    ],
)
def test_faults_of_the_official_decoder(text, executions):
    assert execution_strings(text) == executions


@pytest.mark.parametrize(
    "text",
    [
        "All done.",
        "```python\n[f()]\n```",
        "<think>hm</think>[f()]",
        "[f(a={})]",
        "[f(), 5]",
        "[f(a=1 / 0)]",
        "[f(a=x + 1)]",
        "[f(a=[].append(1) + 1)]",
        "[f(a={1, 2})]",
        "[f(a=" + "[" * 70 + "]" * 70 + ")]",
        *(f"[f(a={value})]" for value in UNBOUNDED),
    ],
)
def test_what_does_not_decode_is_the_answer(text):
    with pytest.raises(DecodeError):
        execution_strings(text)
    assert parse_action(text, "python", decoder="official").answer == text


def test_a_string_that_the_executor_cannot_evaluate_fails_when_run_and_the_others_run():
    calls = parse_action("[MathAPI.add(a=1, b=2), add(a=1, b=2)]", "python", decoder="official").calls
    assert calls == (
        BrokenCall("MathAPI.add", text="MathAPI.add(a=1, b=2)", fault="name 'MathAPI' is not defined"),
        Call("add", {"a": 1, "b": 2}),
    )
    world = World(["MathAPI"], {})
    first, second = [world.run(call) for call in calls]
    assert first.content == world.execute(calls[0].source()) == "Error during execution: name 'MathAPI' is not defined"
    assert first.error.code == "bad_syntax"
    assert second.content == '{"result": 3}'
