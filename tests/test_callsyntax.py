import threading
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envtune_gym import callsyntax
from envtune_gym.callsyntax import (
    MAX_LENGTH,
    BrokenCall,
    Call,
    CallSyntaxError,
    parse_call,
    parse_call_list,
)

KEYS = st.sampled_from(["a", "b_1"])
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=2)
        | st.builds(Call, KEYS, st.dictionaries(KEYS, inner, max_size=2), st.lists(inner, max_size=2).map(tuple))
    ),
    max_leaves=6,
)
CALLS = st.builds(Call, KEYS, st.dictionaries(KEYS, LITERALS, max_size=2), st.lists(LITERALS, max_size=2).map(tuple))


@settings(max_examples=400)
@given(call=CALLS)
def test_source_parses_back(call):
    assert repr(parse_call(call.source())) == repr(call)
    assert repr(parse_call_list(f"[{call.source()}, f()]")) == repr([call, Call("f")])


@settings(max_examples=400)
@given(text=st.text(st.characters() | st.sampled_from("()[]{}'\"=,\\-# \n\rf1"), max_size=30))
def test_any_text_is_a_call_or_a_syntax_error(text):
    for parse in (parse_call, parse_call_list):
        position = 0
        try:
            parse(text)
        except CallSyntaxError as error:
            position = error.position
        assert 0 <= position <= len(text)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("ls()", Call("ls")),
        (" \tcd(folder='a')", Call("cd", {"folder": "a"})),
        ("f(1, -2, +3, a=-1.5, b=None)", Call("f", {"a": -1.5, "b": None}, (1, -2, 3))),
        ("f(a=[1, (2,), {'x': {}}], b={1, 2})", Call("f", {"a": [1, (2,), {"x": {}}], "b": {1, 2}})),
        ("f(a=g(h(1), b=2))", Call("f", {"a": Call("g", {"b": 2}, (Call("h", {}, (1,)),))})),
        ("f(a='it\\'s', b=\"\\u00e9\")", Call("f", {"a": "it's", "b": "é"})),
        ("f(\n  a=1,\n)", Call("f", {"a": 1})),
    ],
)
def test_calls(text, call):
    assert parse_call(text) == call


@pytest.mark.parametrize(
    ("text", "at", "official"),
    [
        ("f(a=b)", "b)", "name 'b' is not defined"),
        ("f('é', b=c)", "c)", "name 'c' is not defined"),
        ("  f(1,\r\n b=c.d)", "c.d", "name 'c' is not defined"),
        ("f('\u2028', \n c)", "c)", "name 'c' is not defined"),
        ("f(a=1, a=2)", "2)", "keyword argument repeated: a (<string>, line 1)"),
        ("f(a=[{[]: 1}])", "{[", "unhashable type: 'list'"),
        ("a.b(c=1)", "a.b", "name 'a' is not defined"),
        ("f(**x)", "x)", None),
        ("f(a={**x})", "{**", None),
        ("f(a=not True)", "not", None),
        ("f(a=-True)", "-True", None),
        ("f(a=1 + 1)", "1 + 1", None),
        ("f(a=b'x')", "b'x'", None),
        ("f(a=1j)", "1j", None),
        ("f(a=...)", "...", None),
        ("f(a=0x" + "f" * 4000 + ")", "0x", None),
        ("f(a=-0x" + "f" * 4000 + ")", "-0x", None),
        ("f", "f", None),
        ("f(\n a b)", "a b)", None),
        ("f(" * 65 + ")" * 65, "(" + ")" * 65, None),
        ("f(a='\ud800')", "f(", None),
        ("f(a='\x00')", "f(", None),
        ("f(a=" + "9" * 5000 + ")", "", None),
        ("-" * 5000 + "1", "", None),
        ("", "", None),
    ],
)
def test_what_is_no_call_is_an_error_at_its_place(text, at, official):
    with pytest.raises(CallSyntaxError) as caught:
        parse_call(text)
    assert text.startswith(at, caught.value.position)
    assert official in (None, caught.value.official)


def test_longest_text():
    assert parse_call(f"f(a='{'x' * (MAX_LENGTH - 7)}')").kwargs["a"]
    with pytest.raises(CallSyntaxError, match="65536 characters"):
        parse_call(f"f(a='{'x' * (MAX_LENGTH - 6)}')")


@pytest.mark.parametrize("item", ["'(('", '"(("', "'''(('''", "'\\'(('", "[], []", "1, # ((\n 2", "'(\\\r\n('"])
def test_only_brackets_of_the_syntax_count_as_nesting(item):
    assert len(parse_call(f"f({', '.join([item] * 40)})").args) in (40, 80)


@pytest.mark.parametrize("cover", ["#'''\n", '# "\n', "'\\''+", '"\'"+', "'''\\''''''+"])
def test_nesting_cannot_be_hidden(cover):
    with pytest.raises(CallSyntaxError, match="nested more than 64 deep"):
        parse_call(f"f({cover}{'(' * 70}{')' * 70})")


@pytest.mark.parametrize("unit", ["'\\", '"\\', "'''\\", "'", "'\"", "'''\\''", "#'", "\\"])
def test_unfinished_strings_cost_linear_work(unit):
    began = time.process_time()
    for text in ("(" * 65 + unit * (60_000 // len(unit)), unit * (60_000 // len(unit)) + "(" * 65):
        with pytest.raises(CallSyntaxError):
            parse_call(text)
    assert time.process_time() - began < 2  # a quadratic scan takes over ten seconds


def test_no_warning_reaches_the_user(recwarn):
    parse_call("f(a='\\d')")
    with pytest.raises(CallSyntaxError):
        parse_call("f(a=1 is 1)")
    assert not recwarn.list


@pytest.mark.parametrize("text", ["[f(), g(a=1)]", "(f(), g(a=1))", "f(), g(a=1)", " [f(),\n g(a=1),]"])
def test_lists(text):
    assert parse_call_list(text) == [Call("f"), Call("g", {"a": 1})]


@pytest.mark.parametrize("text", ["[f(), 5]", "[f(), [g()]]", "{f()}", "f() g()", "[f(), g(a=b)]", "[*f()]"])
def test_a_list_with_one_broken_call_is_an_error(text):
    with pytest.raises(CallSyntaxError):
        parse_call_list(text)


def test_a_limited_list_leaves_the_rest_unread():
    assert parse_call_list("[f(), g(), h(a=b)]", limit=2) == [Call("f"), Call("g")]


def test_a_broken_call_keeps_its_text():
    assert BrokenCall("a.b", text="a.b(c=1)", fault="name 'a' is not defined").source() == "a.b(c=1)"


def test_threads_leave_the_warnings_of_the_host_as_they_were():
    before = list(warnings.filters)

    def parse():
        for number in range(300):
            parse_call_list(f'[f(a="\\d{number}")]')

    threads = [threading.Thread(target=parse) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


def test_a_tree_that_python_miscounts_among_threads_is_built_again(monkeypatch):
    complaints = iter([SystemError("AST constructor recursion depth mismatch (before=51, after=49)")] * 3)

    def miscounting(*args):  # Python's own fault, in some versions, which no test can bring about at will
        for complaint in complaints:
            raise complaint
        return compile(*args)

    monkeypatch.setattr(callsyntax, "compile", miscounting, raising=False)
    assert parse_call("f(a=[1, 2], b=g(3))").name == "f"
    assert next(complaints, None) is None
