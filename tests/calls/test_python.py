import pytest

from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call

LS = (Call("ls"),)


def parse(text, strict=False):
    return parse_action(text, "python", strict=strict)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[ls()]", LS),
        (" [\n  ls(),\n  cd(folder='docs'),\n]\n", (Call("ls"), Call("cd", {"folder": "docs"}))),
        ("[f(1, 'x', a=+5, b=-5)]", (Call("f", {"a": 5, "b": -5}, (1, "x")),)),
        ("[f(a={'b': {'c': 1}}, d={})]", (Call("f", {"a": {"b": {"c": 1}}, "d": {}}),)),
        ("[f(a=g(1), b=[h(c=2)])]", (Call("f", {"a": Call("g", {}, (1,)), "b": [Call("h", {"c": 2})]}),)),
        ("<think>[rm()]</think>\n[ls()]", LS),
        ("[echo(content='</think><think>')]", (Call("echo", {"content": "</think><think>"}),)),
    ],
)
def test_calls_that_keep_the_letter(text, calls):
    reply = parse(text, strict=True)
    assert (reply.calls, reply.format_ok) == (calls, True)
    assert reply.message == {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("All done.", "All done."),
        ("", ""),
        ("[]", ""),
        ("I would call ls() now", "I would call ls() now"),
        ("<think>[ls()]</think>\n\nAll done.", "All done."),
    ],
)
def test_answers_that_keep_the_letter(text, answer):
    reply = parse(text, strict=True)
    assert (reply.answer, reply.format_ok) == (answer, True)


@pytest.mark.parametrize(
    "text",
    [
        "ls()",
        "```python\n[ls()]\n```",
        "```\n[ls()]```",
        "```[ls()]```",
        "`ls()`",
        "the prompt opened it [rm()]</think>[ls()]",
        "<think>a</think>```python\n[ls()]\n```",
    ],
)
def test_a_breach_of_the_letter_is_understood_or_with_strict_refused(text):
    reply = parse(text)
    assert (reply.calls, reply.format_ok) == (LS, False)
    assert parse(text, strict=True).error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ls(), cd(folder=docs)]", "character 17: only literals"),
        ("[ls(), cd(folder='docs'", "character"),
        ("[ls(), 5]", "character 7: expected a call"),
        ("[TravelAPI.book()]", "character 1: the name of a tool"),
        ("[f(a=not True)]", "character 5: only literals"),
        ("[f(a=1 + 1)]", "character 5: only literals"),
        ("[f(a='\\ud800')]", "surrogate"),
        ("[f(a=0x" + "f" * 4000 + ")]", "4,300 digits"),
        ("[ls()", "never closed"),
        ("<think>[ls()]", "character 0: expected </think>"),
        ("```python\n[f(a=b)]\n```", "character 15: only literals"),
    ],
)
def test_one_broken_call_makes_the_message_an_answer(text, message):
    reply = parse(text)
    assert (reply.calls, reply.answer, reply.format_ok) == ((), text, False)
    assert message in str(parse(text, strict=True).error)
