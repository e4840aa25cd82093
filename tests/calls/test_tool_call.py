import pytest

from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call

LS = '{"name": "ls", "arguments": {}}'
PART = f"<tool_call>[{LS}]</tool_call>"
CD = Call("cd", {"folder": "docs"})


def parse(text, strict=False):
    return parse_action(text, "tool_call", strict=strict)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (PART, (Call("ls"),)),
        (f" <think>a\nb</think>\n{PART}\n", (Call("ls"),)),
        (f'<tool_call>\n[{LS}, {{"arguments": {{"folder": "docs"}}, "name": "cd"}}]\n</tool_call>', (Call("ls"), CD)),
        (f"<think>{PART}</think>{PART}", (Call("ls"),)),
        (f"<think>is <think>{PART}</think> right?</think>{PART}", (Call("ls"),)),
        (
            '<tool_call>[{"name": "echo", "arguments": {"content": "</tool_call></think><think>"}}]</tool_call>',
            (Call("echo", {"content": "</tool_call></think><think>"}),),
        ),
    ],
)
def test_calls_that_keep_the_letter(text, calls):
    reply = parse(text, strict=True)
    assert reply.calls == calls
    assert reply.format_ok
    assert reply.message == {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>All done.</answer>", "All done."),
        ("<think>hm</think><answer> All\ndone. </answer>\n", " All\ndone. "),
        ("<answer></answer>", ""),
        ("<tool_call>[]</tool_call>", ""),
        (f"<think>{PART}</think><answer>No.</answer>", "No."),
    ],
)
def test_answers_that_keep_the_letter(text, answer):
    reply = parse(text, strict=True)
    assert (reply.answer, reply.calls, reply.format_ok) == (answer, (), True)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("All done.", "All done."),
        ("", ""),
        ("<think>hm</think>\n\nAll done.", "All done."),
        (f"<tool_call>{LS}</tool_call>", (Call("ls"),)),
        (f"Here: {PART}", (Call("ls"),)),
        (f"{PART} there", (Call("ls"),)),
        ("So: <answer>yes</answer>", "yes"),
        (f"<tool_call>```json\n[{LS}]\n```</tool_call>", (Call("ls"),)),
        (f"<tool_call>```\n{LS}</tool_call>", (Call("ls"),)),
        ('<tool_call>[{"id": 1, "name": "ls", "arguments": {}}]</tool_call>', (Call("ls"),)),
        (f"<think>a</think><think>b</think>{PART}", (Call("ls"),)),
        (f"{PART}<think>late</think>", (Call("ls"),)),
        (f"the prompt opened it</think>{PART}", (Call("ls"),)),
        (f"{PART}</think>", ""),
        (f"draft {PART} no</think><answer>No.</answer>", "No."),
        (f"{PART}\n<tool_call>{LS}</tool_call>", (Call("ls"), Call("ls"))),
        (f"<answer>I could {PART}</answer>", f"I could {PART}"),
        ("<Answer>x</Answer>", "<Answer>x</Answer>"),
    ],
)
def test_a_breach_of_the_letter_is_understood_or_with_strict_refused(text, meaning):
    reply = parse(text)
    assert (reply.calls or reply.answer) == meaning
    assert not reply.format_ok
    refused = parse(text, strict=True)
    assert refused.error is not None
    assert (refused.calls, refused.answer) == ((), None)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        (f"<think>hm {PART}", 0, "expected </think>"),
        (f"<think>a<think>b</think>{PART}", 0, "expected </think>"),
        (f"<tool_call>[{LS}]", None, "expected </tool_call>"),
        (f"<tool_call>[{LS}", None, "expected ',' or ']'"),
        ("<answer>half an ans", 0, "expected </answer>"),
        (f"x {LS}</tool_call>", 2 + len(LS), "expected one <tool_call> or <answer> part"),
        (f"{PART}<answer>x</answer>", len(PART), "nothing after the calls"),
        (f"<answer>x</answer>{PART}", 18, "nothing after the answer"),
        ("<answer>x</answer><answer>y</answer>", 18, "nothing after the answer"),
        (f"{PART}<tool_call>[</tool_call>", len(PART) + 12, "a call"),
        ("<tool_call></tool_call>", 11, "a JSON list of calls"),
        ("<tool_call>5</tool_call>", 11, "a JSON list of calls, found '5"),
        ("<tool_call>[ls()]</tool_call>", 12, "a call"),
        (f"<tool_call>[{LS} {LS}]</tool_call>", 13 + len(LS), "',' or ']'"),
        (f"<tool_call>[{LS},]</tool_call>", 13 + len(LS), "a call"),
        (f"<tool_call>[{LS}] x</tool_call>", 14 + len(LS), "</tool_call>"),
        ('<tool_call>[{"name": "ls"}]</tool_call>', 12, 'expected "arguments" in the call, found \'{"name": "ls"}\''),
        ('<tool_call>[{"arguments": {}}]</tool_call>', 12, 'expected "name" in the call'),
        ('<tool_call>[{"name": true, "arguments": {}}]</tool_call>', 21, "tool's name, found 'true'"),
        ('<tool_call>[{"name": "", "arguments": {}}]</tool_call>', 21, "tool's name"),
        ('<tool_call>[{"name": "a", "arguments": [1]}]</tool_call>', 39, "to be an object, found '[1]'"),
        ('<tool_call>[{"name": "a", "arguments": "{}"}]</tool_call>', 39, "to be an object"),
        ('<tool_call>[{"name": "a", "arguments": null}]</tool_call>', 39, "to be an object, found 'null'"),
        ('<tool_call>[{"name": "a", "name": "b", "arguments": {}}]</tool_call>', 26, "key 'name' given twice"),
        ('<tool_call>[{"name": "a", "arguments": {"x": 1, "x": 2}}]</tool_call>', 39, "key 'x' given twice"),
        ('<tool_call>[{"name": "a", "arguments": {"x": NaN}}]</tool_call>', 39, "NaN"),
        ('<tool_call>[{"name": "a", "arguments": {"x": -Infinity}}]</tool_call>', 39, "-Infinity"),
        ('<tool_call>[{"name": "a", "arguments": {"x": 1e999}}]</tool_call>', 39, "too large"),
        (f'<tool_call>[{{"name": "a", "arguments": {{"x": {"9" * 4301}}}}}]</tool_call>', 39, "4,300 digits"),
        ('<tool_call>[{"name": "a", "arguments": {"x": "\\ud800"}}]</tool_call>', 39, "surrogate"),
        ('<tool_call>[{"name": "\udc00", "arguments": {}}]</tool_call>', 21, "surrogate"),
        ('<tool_call>[{"name": "a", "arguments": {"x": True}}]</tool_call>', 45, "a JSON value, found 'True"),
        ('<tool_call>[{"name": "a", "arguments": {"x": 1,}}]</tool_call>', None, ""),
        ('<tool_call>[{"name": "a", "arguments": {},}]</tool_call>', 42, "a key"),
        ("<tool_call>[{name: 1}]</tool_call>", 13, "a key in double quotes"),
        (f'<tool_call>[{{"name": "a", "arguments": {{"x": {"[" * 70}{"]" * 70}}}}}]</tool_call>', 106, "at most 64"),
    ],
)
def test_a_broken_message_is_an_error_at_its_place(text, position, message):
    reply = parse(text)
    assert (reply.calls, reply.answer, reply.format_ok) == ((), None, False)
    assert message in str(reply.error)
    assert position in (None, reply.error.position)


def test_characters_that_come_in_pairs_are_no_lone_surrogates():
    text = '<tool_call>[{"name": "a", "arguments": {"x": "\\ud83d\\ude00"}}]</tool_call>'
    assert parse(text).calls == (Call("a", {"x": "\U0001f600"}),)


def test_nesting_up_to_the_bound_is_read():
    deep = "[" * 61 + "]" * 61
    assert parse(f'<tool_call>[{{"name": "a", "arguments": {{"x": {deep}}}}}]</tool_call>').calls
    text = '"' + "[" * 500 + '"'
    assert parse(f'<tool_call>[{{"name": "a", "arguments": {{"x": {text}}}}}]</tool_call>').calls


@pytest.mark.parametrize("end", range(1, len(f"<think>a</think>{PART}")))
def test_a_message_that_is_cut_off_runs_nothing(end):
    assert parse(f"<think>a</think>{PART}"[:end]).calls == ()
