"""The decoder "official" against the official prompting decoder, on replies made from the official ground truths."""

import json
import random
import warnings

import pytest

pytest.importorskip("bfcl_eval", reason="needs the official package: pip install --no-deps bfcl-eval==2026.3.23")

from bfcl_eval.model_handler.utils import default_decode_execute_prompting

from envtune_gym.calls.official import DecodeError, decode_calls, execution_strings
from envtune_gym.callsyntax import BrokenCall, CallSyntaxError, parse_call
from envtune_gym.official import data_folder

SEED = 20260323
COUNT = 6000

VALUES = [
    "+5", "-5", "- -5", "~3", "not True", "true", "None", "...", "1e999", "0x1F", "'it\\'s'", '"a\\nb"',
    "'é\\ud800'", "b'x'",
    "1j", "x", "x.y", "x[0]", "x['a']", "x[1:2]", "g(1)", "g(a=1)", "g(h(b=2), c=3)", "g(a=h(b=+1))", "a.b.c(d=1)",
    "{}", "{'a': 1}", "{'a': {}}", "{'a': {'b': 1}}", "{'a': {'b': 1}, 'c': {'d': 2}}", "{1: 2}", "{1: {'a': 2}}",
    '{"it\'s": 1}', "{'a b': {'c': 1}}", "{(1, 2): 3}", "{[1]: 2}", "{**x}", "{'a': g(b=1)}",
    "{'a': [g(b=1)]}", "{1, 2}",
    "[1, +2, x]", "(1,)", "()", "[g(a=1)]", "[{'a': {'b': 1}}]", "1 + 2 * 3", "2 ** 10", "7 // 2 - 1.5",
    "1 / 0", "'a' * 3",
    "'a' + 'b'", "'a' + 1", "1 << 4", "5 % 3 ^ 1", "-(1 + 2) * 3", "x + 1", "-(1 + 2)", "1 if x else 2",
    "a and b", "a < b",
    "f'{x}'", "lambda: 1", "*x", "[i for i in x]", "(y := 1)", "await x", "1e308 * 10", "9 ** 5000",
    "-True", "+x", "+'a'",
]  # fmt: skip
WRAPPERS = [
    "{}", "```{}```", "```python\n{}\n```", "`{}`", "  {}  ", "\t{}", "Sure: {}", "{}.",
    "<think>hm</think>{}", "'{}'",
    '"{}"', "{}\n", "[{}]", "({})", "{}[0]", "{}\n\n{}", "# {}", "{} # done",
]  # fmt: skip
EDITS = "[](){}'\"=,.+-*:\\ \n`0a#"


def ground_truth_calls():
    calls = []
    for path in sorted((data_folder() / "data/possible_answer").glob("BFCL_v4_multi_turn_*.json")):
        for line in path.read_text(encoding="utf-8").splitlines():
            calls += [call for turn in json.loads(line)["ground_truth"] for call in turn]
    return sorted(set(calls))


def replies():
    """Yield replies: lists of ground-truth calls with odd arguments, wrapped, cut off and edited by characters."""
    rng = random.Random(SEED)
    calls = ground_truth_calls()
    for _ in range(COUNT):
        chosen = rng.choices(calls, k=rng.randint(1, 3))
        for index, call in enumerate(chosen):
            if rng.random() < 0.5:
                name = rng.choice(["", "", "extra=", "**", "path="])
                inner = call[call.index("(") + 1 : -1]
                added = [name + rng.choice(VALUES)] + ([inner] if inner else [])
                rng.shuffle(added)
                chosen[index] = call[: call.index("(") + 1] + ", ".join(added) + ")"
            if rng.random() < 0.1:
                chosen[index] = rng.choice(["api.", "a.b.", "f().", "(0)"]) + chosen[index]
        text = f"[{', '.join(chosen)}]" if rng.random() < 0.8 else ", ".join(chosen)
        if rng.random() < 0.4:
            text = rng.choice(WRAPPERS).replace("{}", text)
        if rng.random() < 0.1:
            text = text[: rng.randrange(len(text))]
        if rng.random() < 0.25:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice(EDITS) + text[place + rng.randint(0, 1) :]
        yield text


def officially(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return default_decode_execute_prompting(text)
        except Exception:
            return None


def ours(text):
    try:
        return execution_strings(text)
    except DecodeError:
        return None


def test_execution_strings_are_the_official_ones(figures):
    differences = []
    for text in replies():
        theirs = officially(text)
        if ours(text) != theirs:
            differences.append((text, theirs, ours(text)))
        figures["decoder: replies compared"] += 1
        figures["decoder: of which decode"] += theirs is not None
    assert differences == []


def test_calls_are_what_the_official_strings_mean():
    for text in replies():
        theirs = officially(text)
        if theirs is None:
            continue
        for execution, call in zip(theirs, decode_calls(text), strict=True):
            if isinstance(call, BrokenCall):
                with pytest.raises(CallSyntaxError) as refused:
                    parse_call(execution)
                assert (call.source(), call.fault) == (execution, refused.value.official)
            else:
                assert call == parse_call(execution)


@pytest.mark.parametrize("execution", ["a.f(x=1)", "f(None={'a': 1})", "f(a={'it's': 1})", "f(a=inf)", "(x=2)"])
def test_fault_of_a_broken_call_is_what_the_executor_says(execution):
    with pytest.raises((NameError, SyntaxError)) as raised:
        eval(execution, {"__builtins__": {}, "f": dict})  # as the official executor does, and only on these strings
    with pytest.raises(CallSyntaxError) as refused:
        parse_call(execution)
    assert refused.value.official == str(raised.value)
