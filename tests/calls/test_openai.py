import json

import pytest

from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call


def entry(identity="call_a", name="ls", arguments="{}", **more):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def message(*entries, content=None, **more):
    return json.dumps({"role": "assistant", "content": content, "tool_calls": list(entries), **more})


def parse(text, strict=False):
    return parse_action(text, "openai", strict=strict)


def test_calls_keep_their_ids_and_arguments_become_text():
    text = message(entry("x", "cd", '{"folder":"docs"}'), entry("y", "ls", {"a": True}), reasoning_content="hm")
    reply = parse(text, strict=True)
    assert reply.calls == (Call("cd", {"folder": "docs"}), Call("ls", {"a": True}))
    assert reply.message == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [entry("x", "cd", '{"folder":"docs"}'), entry("y", "ls", '{"a": true}')],
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([None, "x"], ["call_0", "x"]),
        (["x", "x"], ["x", "call_1"]),
        (["call_1", 5], ["call_1", "call_1_"]),
        (["", "y"], ["call_0", "y"]),
    ],
)
def test_missing_and_repeated_ids_are_replaced(given, kept):
    reply = parse(message(*map(entry, given)))
    assert [call["id"] for call in reply.message["tool_calls"]] == kept
    assert not reply.format_ok


@pytest.mark.parametrize("calls", [{}, {"tool_calls": []}, {"tool_calls": None}])
def test_a_message_without_calls_is_an_answer(calls):
    reply = parse(json.dumps({"role": "assistant", "content": "All done.", **calls}), strict=True)
    assert reply.answer == "All done."
    assert reply.message == {"role": "assistant", "content": "All done."}


@pytest.mark.parametrize(
    "broken",
    [
        entry(arguments="{"),
        entry(arguments="[1]"),
        entry(arguments=""),
        entry(arguments=None),
        entry(arguments='{"a": NaN}'),
        entry(arguments='{"a": 1, "a": 2}'),
        entry(arguments="[" * 5000),
        entry(arguments=f'{{"a": {"9" * 5000}}}'),
        entry(name=True),
        entry(name=""),
        entry(type="custom"),
        {"id": "x", "type": "function"},
        {"id": "x", "type": "function", "function": []},
        5,
    ],
)
def test_one_broken_call_makes_the_message_an_answer(broken):
    text = message(entry(), broken, content="So:")
    reply = parse(text)
    assert (reply.calls, reply.answer, reply.format_ok) == ((), "So:", False)
    assert reply.message == {"role": "assistant", "content": "So:"}
    assert parse(text, strict=True).error


@pytest.mark.parametrize("text", ["All done.", "", "5", "[]", '{"content": "x"', "[" * 100, '{"a": "\\ud800"}', "NaN"])
def test_what_is_no_message_is_an_answer(text):
    reply = parse(text)
    assert (reply.answer, reply.format_ok) == (text, False)
    assert parse(text, strict=True).error


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"content": "x"}', "x"),
        ('{"role": "user", "content": "x"}', "x"),
        ('{"role": "assistant"}', ""),
        ('{"role": "assistant", "content": ["x"]}', ""),
        ('{"role": "assistant", "content": "x", "tool_calls": {"a": 1}}', "x"),
    ],
)
def test_a_breach_of_the_letter_is_understood_or_with_strict_refused(text, answer):
    reply = parse(text)
    assert (reply.answer, reply.format_ok) == (answer, False)
    assert parse(text, strict=True).error


def officially(*functions):
    entries = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(functions)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": entries}
    return parse_action(json.dumps(message), "openai", decoder="official")


def test_official_decoder_makes_source_text_of_names_and_values():
    reply = officially(("fs.ls", "{}"), ("cat", '{"file name": "a"}'), ("add", '{"a": NaN}'), ("ls", '{"a": true}'))
    *broken, last = reply.calls
    assert [call.source() for call in broken] == ["fs.ls()", "cat(file name='a')", "add(a=nan)"]
    assert [call.fault for call in broken if "name" in call.fault] == [
        "name 'fs' is not defined",
        "name 'nan' is not defined",
    ]
    assert last == Call("ls", {"a": True})
    assert [call["function"]["name"] for call in reply.message["tool_calls"]] == ["fs.ls", "cat", "add", "ls"]


def test_official_decoder_takes_the_last_of_equal_keys():
    assert officially(("cd", '{"folder": "a", "folder": "b"}')).calls == (Call("cd", {"folder": "b"}),)


@pytest.mark.parametrize("arguments", ["", "null", "[1]", '{"a": 1', "5", '{"a": 1} {}', "[" * 2_000])
def test_official_decoder_makes_an_answer_of_broken_arguments(arguments):
    reply = officially(("ls", "{}"), ("cd", arguments))
    assert (reply.calls, reply.answer) == ((), "")
