import json
import random
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from envtune_gym.calls import MAX_CALLS, ParseError, parse_action, render_calls
from envtune_gym.callsyntax import MAX_LENGTH, Call
from envtune_gym.errors import ConfigurationError

from .texts import ANY_TEXT, FORMATS, PIECES, READINGS

LONG = 60_000
UNPRINTABLE = "\U0010ffff" * 60  # ten characters each where an error shows them
REPEATED = f'{{"{UNPRINTABLE}": 1, "{UNPRINTABLE}": 2}}'


def check(text, action_format, decoder, strict):
    """Parse a text, and check what holds of every reply."""
    reply = parse_action(text, action_format, decoder=decoder, strict=strict)
    assert (bool(reply.calls), reply.answer is not None, reply.error is not None).count(True) == 1
    assert reply == parse_action(text, action_format, decoder=decoder, strict=strict)
    assert reply.message["role"] == "assistant"
    json.dumps(reply.message, ensure_ascii=False, allow_nan=False).encode()
    if reply.error is None:
        assert reply.format_ok or not strict
    else:
        assert not reply.format_ok
        assert 0 <= reply.error.position <= len(text)
        assert "\n" not in str(reply.error)
        assert len(str(reply.error)) < 400
    for call in reply.calls:
        assert type(call.name) is str
        assert len(reply.message.get("tool_calls", reply.calls)) == len(reply.calls)
    return reply


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("action_format", "decoder"), READINGS)
@settings(max_examples=300)
@given(text=ANY_TEXT)
@example(text=UNPRINTABLE)
@example(text=REPEATED)
@example(text=f"<tool_call>[{REPEATED}]</tool_call>")
@example(text=f"[f({'a' * 500}=1, {'a' * 500}=2)]")
def test_any_text_has_a_meaning(action_format, decoder, strict, text):
    check(text, action_format, decoder, strict)


@pytest.mark.slow
def test_100_000_random_texts_have_a_meaning():
    rng = random.Random(7)
    seeds = [render_calls([Call("cd", {"folder": "a", "n": [1, {"b": None}]})] * 2, name) for name in FORMATS]
    for _ in range(100_000):
        pieces = rng.choices(PIECES, k=rng.randint(0, 6)) + rng.choices(seeds, k=rng.randint(0, 2))
        rng.shuffle(pieces)
        text = "".join(pieces)
        place = rng.randrange(len(text) + 1)
        text = text[:place] + chr(rng.choice([rng.randrange(128), rng.randrange(0x110000)])) + text[place + 1 :]
        action_format, decoder = rng.choice(READINGS)
        check(text, action_format, decoder, rng.random() < 0.2)


@settings(max_examples=300)
@given(text=st.text(st.characters(), max_size=40))
@pytest.mark.parametrize("action_format", FORMATS)
def test_strict_differs_from_lenient_only_in_refusing(action_format, text):
    lenient, strict = parse_action(text, action_format), parse_action(text, action_format, strict=True)
    assert (strict == lenient) == (lenient.format_ok or lenient.error is not None)


@pytest.mark.parametrize(("action_format", "decoder"), READINGS)
def test_a_message_beyond_the_length_is_an_error(action_format, decoder):
    reply = parse_action("a" * (MAX_LENGTH + 1), action_format, decoder=decoder)
    assert "65,536" in str(reply.error)
    assert len(reply.message["content"]) == MAX_LENGTH
    assert parse_action("a" * MAX_LENGTH, action_format, decoder=decoder).error is None


@pytest.mark.parametrize(("action_format", "decoder"), READINGS)
def test_too_many_calls_are_an_error(action_format, decoder):
    text = render_calls([Call("ls")] * MAX_CALLS, action_format)
    assert len(parse_action(text, action_format, decoder=decoder).calls) == MAX_CALLS
    more = {
        "tool_call": text.replace("[", '[{"name": "ls", "arguments": {}}, ', 1),
        "python": text.replace("[", "[ls(), ", 1),
        "openai": text.replace(
            "[", '[{"id": "x", "type": "function", "function": {"name": "ls", "arguments": "{}"}}, '
        ),
    }[action_format]
    assert "at most 128 calls" in str(parse_action(more, action_format, decoder=decoder).error)


def test_too_many_call_parts_are_an_error():
    reply = parse_action("<tool_call>[]</tool_call>" * (MAX_CALLS + 1), "tool_call")
    assert "at most 128 calls" in str(reply.error)


HOSTILE_UNITS = [
    "<think>", "</think>", "<think></think>", "<tool_call>[", "<tool_call>", "<tool_call>[]</tool_call>",
    "<answer>",
    '<tool_call>["</think>', '{"a":', "[", "(", "{", '"', "'", "\\", "'\\", '"\\', "'''", "-", "not ",
    "a.b.", "1+1+", "9**",
    "f(", "f(a=1),", "f(a=g(1)),", "f(a=9**9),", "f(a={}),", "f(**{'a': 1}),", "[],", "1,", "`", "```\n",
    "\n", " ", "#",
    "\ud800", "\\ud800", "<", '"a":1,', '{"name":"a","arguments":{}},', "lambda:", "a[", "1 if 1 else ",
]  # fmt: skip
HOSTILE_STARTS = ["", "[", "<tool_call>[", "[f(a=", "((" * 40, '<tool_call>[{"name":"a","arguments":{"a":', "x</think>"]


@pytest.mark.parametrize("unit", HOSTILE_UNITS)
def test_hostile_repetition_costs_linear_work(unit):
    """Python steps are counted; the time bound, far above any linear scan, catches work within regular expressions."""
    for start in HOSTILE_STARTS:
        text = start + unit * ((LONG - len(start)) // len(unit))
        for action_format, decoder in READINGS:
            steps = 0

            def count(frame, event, argument):
                nonlocal steps
                steps += 1

            began = time.process_time()
            sys.setprofile(count)
            try:
                parse_action(text, action_format, decoder=decoder)
            finally:
                sys.setprofile(None)
            assert steps < 20 * LONG, (start, action_format, decoder)
            assert time.process_time() - began < 3, (start, action_format, decoder)


def test_unknown_names_are_errors_that_name_the_known():
    with pytest.raises(ConfigurationError, match="known: tool_call, python, openai"):
        parse_action("", "xml")
    with pytest.raises(ConfigurationError, match="known: correct, official"):
        parse_action("", "python", decoder="best")


def test_a_message_can_be_tokenized():
    reply = parse_action("half a pair: \ud800", "tool_call")
    assert reply.answer == "half a pair: \ud800"
    assert reply.message["content"] == "half a pair: \ufffd"


def test_text_of_an_error():
    assert str(ParseError("cut off", 17)) == "parse error at character 17: cut off"
    error = ParseError("arguments not an object", 17, "[1]", "'\"arguments\"' to be an object")
    assert str(error) == "parse error at character 17: expected '\"arguments\"' to be an object, found '[1]'"
    assert (
        str(ParseError("cut off", 3, "", "']'"))
        == "parse error at character 3: expected ']', found the end of the message"
    )
