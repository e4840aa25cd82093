"""Texts that the parsers meet: arbitrary ones, and valid messages broken in every way that models and users find."""

from hypothesis import strategies as st

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call

FORMATS = ["tool_call", "python", "openai"]
READINGS = [*((name, "correct") for name in FORMATS), ("python", "official")]
NAMES = st.sampled_from(["ls", "cd", "book_flight", "a1"])
# Any character but the halves of surrogate pairs, which are no text.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "</tool_call>",
        "<think>",
        "</think>",
        "</answer>",
        "```",
        "it's",
        '"',
        "\\",
        "\\u003c",
        "[ls()]",
        "\n\r\x00\u2028",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
ARGUMENTS = st.dictionaries(st.sampled_from(["folder", "n", "x_1"]), JSON, max_size=3)
CALLS = st.lists(st.builds(Call, NAMES, ARGUMENTS), min_size=1, max_size=3).map(tuple)

PIECES = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<answer>", "</answer>", "[", "]", "{", "}",
    "(", ")", '"', "'",
    "\\", ",", ":", "```", "```json\n", "```python\n", '"name"', '"arguments"',
    '{"name": "ls", "arguments": {}}', "ls()",
    "f(a=1)", "f(1, *x, **y)", "NaN", "-Infinity", "1e999", "9" * 4301, "0x" + "f" * 4000, "9**9**9",
    "'a'*10**9", "[" * 70,
    "{'a': {'b': {}}}", "lambda: 1", "not ", "-", "a.b", "\ud800", "\\ud800", "\x00", "\u2028", "\n", " ",
    "True", "null",
    '"tool_calls"', '"role": "assistant"', "__import__('os')", "f'{x}'", "#", "'''",
]  # fmt: skip


@st.composite
def broken_messages(draw):
    """Return a valid message of some format after up to four insertions, deletions, repetitions or truncations."""
    action_format = draw(st.sampled_from(FORMATS))
    if draw(st.booleans()):
        text = render_calls(draw(CALLS), action_format)
    else:
        text = render_answer("All done.", action_format)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 20)))
        kind = draw(st.sampled_from(["insert", "delete", "repeat", "cut"]))
        middle = {"insert": draw(st.sampled_from(PIECES)), "delete": "", "repeat": text[start:end] * 2, "cut": ""}[kind]
        text = text[:start] + middle + ("" if kind == "cut" else text[start if kind == "insert" else end :])
    return text


ANY_TEXT = (
    st.text(st.characters(), max_size=60)
    | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    | broken_messages()
)
