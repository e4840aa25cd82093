import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envtune_gym.calls import parse_action, render_answer, render_calls
from envtune_gym.callsyntax import Call

from .texts import CALLS, FORMATS, JSON, NAMES, TEXTS

PYTHON_VALUES = JSON | st.tuples(JSON, JSON) | st.builds(Call, NAMES, st.just({"a": 1}))
KEYWORDS = st.dictionaries(NAMES, PYTHON_VALUES, max_size=2)
# What an answer has that a format takes for calls, for an empty list of them, or for its own tags.
MARKS = {"tool_call": ("<",), "python": ("<", "[", "(", "```"), "openai": ()}
POSITIONALS = st.lists(PYTHON_VALUES, max_size=2).map(tuple)
PYTHON_CALLS = st.lists(st.builds(Call, NAMES, KEYWORDS, POSITIONALS), min_size=1, max_size=3).map(tuple)


@pytest.mark.parametrize("thought", [None, "Let me [look()] first."])
@pytest.mark.parametrize("action_format", FORMATS)
@settings(max_examples=200)
@given(calls=CALLS)
def test_calls_come_back(action_format, thought, calls):
    reply = parse_action(render_calls(calls, action_format, thought=thought), action_format, strict=True)
    assert reply.calls == calls
    assert repr(reply.calls) == repr(calls)  # True is not 1, nor 1.0


@settings(max_examples=200)
@given(calls=PYTHON_CALLS)
def test_positional_and_nested_calls_come_back_in_python(calls):
    reply = parse_action(render_calls(calls, "python"), "python", strict=True)
    assert repr(reply.calls) == repr(calls)


@pytest.mark.parametrize("action_format", FORMATS)
@settings(max_examples=200)
@given(text=TEXTS)
def test_answers_come_back_or_are_refused(action_format, text):
    try:
        rendered = render_answer(text, action_format)
    except ValueError:
        assert any(mark in text for mark in MARKS[action_format])
        return
    assert parse_action(rendered, action_format, strict=True).answer == text


@pytest.mark.parametrize("action_format", FORMATS)
def test_an_answer_with_a_thought_comes_back(action_format):
    rendered = render_answer("All done.", action_format, thought="hm")
    assert "hm" in rendered
    assert parse_action(rendered, action_format, strict=True).answer == "All done."


def test_tags_within_arguments_are_escaped():
    assert "</tool_call>" not in render_calls([Call("a", {"x": "</tool_call>"})], "tool_call")[:-12]


@pytest.mark.parametrize("action_format", ["tool_call", "openai"])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Call("a", {}, (1,)), "no positional arguments; name them"),
        (Call("a", {"x": Call("b")}), "JSON values only"),
        (Call("a", {"x": {1}}), "JSON values only"),
        (Call("a", {"x": (1, 2)}), "unchanged"),
        (Call("a", {"x": {1: 2}}), "unchanged"),
        (Call("a", {"x": "\ud800"}), "surrogate"),
        (Call("a", {"x": float("inf")}), "JSON compliant"),
        (Call("", {}), "name"),
        (Call("a", {"x": "a" * 65_536}), "65,536"),
    ],
)
def test_what_json_cannot_hold_is_refused(action_format, call, message):
    with pytest.raises(ValueError, match=message if action_format == "tool_call" else None):
        render_calls([call], action_format)


@pytest.mark.parametrize("action_format", FORMATS)
def test_no_calls_are_refused(action_format):
    with pytest.raises(ValueError, match="render_answer"):
        render_calls([], action_format)


@pytest.mark.parametrize(
    ("text", "action_format"), [("[ls()]", "python"), ("ls()", "python"), ("</answer>", "tool_call")]
)
def test_an_answer_that_would_be_read_otherwise_is_refused(text, action_format):
    with pytest.raises(ValueError, match="unchanged"):
        render_answer(text, action_format)


@pytest.mark.parametrize("action_format", ["tool_call", "python"])
def test_a_thought_that_ends_its_part_is_refused(action_format):
    with pytest.raises(ValueError, match="unchanged"):
        render_calls([Call("ls")], action_format, thought="</think>")
