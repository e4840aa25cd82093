"""All ways in which `decoder="correct"` is known to read a reply otherwise than the official decoders, with examples.

A way applies to a reply by what stands in the reply, not by what the decoders make of it; `docs/fidelity.md` lists each
under the same name.
"""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from keyword import iskeyword

from envtune_gym.callsyntax import CallSyntaxError, parse_expression

_NO_LITERAL = (ast.Subscript, ast.JoinedStr, ast.Lambda, ast.Compare, ast.BoolOp, ast.IfExp, ast.Attribute)


@dataclass(frozen=True)
class DecoderDifference:
    """A way to read a reply otherwise.

    Attributes:
        mode: `prompting` or `native`.
        name: Short name.
        example: A reply; in the native mode a tool call: name and JSON text of the arguments.
        official: The call strings that the official decoder makes of it; None: it is an answer.
        correct: The calls that the correct one reads, in Python syntax; empty: it is an answer.
        applies: Tells from a reply (in the native mode its tool calls) whether this is in it.
    """

    mode: str
    name: str
    example: str | tuple[str, str]
    official: list[str] | None
    correct: list[str]
    applies: Callable[..., bool]


def _has(test):
    """Return a condition that is met if any node of a reply's call list meets a test."""
    return lambda text: any(test(node) for node in _nodes(text))


def _nodes(text):
    """Return the nodes of the calls in a reply, in whichever way it has to be unwrapped for them to parse."""
    bare = re.sub(r"\A(.*</think>)?\s*(```\w*[ \t]*\n)?", "", text, flags=re.DOTALL).strip("`\r\t\v\f\n ")
    for source in (bare, f"[{bare}", f"{bare}]", f"[{bare}]"):
        try:
            return list(ast.walk(parse_expression(source.strip())))
        except CallSyntaxError:
            continue
    return []


def _is_sign_alone(node):
    """Tell whether it is a unary operator that is no minus before a number."""
    if not isinstance(node, ast.UnaryOp):
        return False
    number = node.operand.value if isinstance(node.operand, ast.Constant) else None
    return not (isinstance(node.op, ast.USub) and type(number) in (int, float))


def _values(node):
    """Return the values that stand in an argument's place directly."""
    if isinstance(node, ast.keyword):
        return [node.value]
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else []


def _is_odd_dict(node):
    if not isinstance(node, ast.Dict):
        return False
    return all(isinstance(value, (ast.Dict, ast.Call)) for value in node.values)


def _has_odd_key(node):
    if not isinstance(node, ast.Dict):
        return False
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    return any(not isinstance(key, str) or repr(key) != f"'{key}'" for key in keys)


def _holds_call(node):
    return isinstance(node, (ast.List, ast.Tuple, ast.Dict)) and any(
        isinstance(one, ast.Call) for value in _values(node) for one in ast.walk(value)
    )


def _repeats_argument(node):
    names = [keyword.arg for keyword in node.keywords] if isinstance(node, ast.Call) else []
    return len(set(names)) < len(names)


def _has_dotted_name(node):
    return isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)


def _lacks_one_bracket(text):
    bare = text.strip("`\n ")
    return bare.startswith("[") != bare.endswith("]")


def _is_loose(text):
    return text.strip("`\n ") != text.strip().strip("`").strip()


def _each(test):
    """Return a condition that is met if any tool call of a reply meets a test on its name and arguments."""
    return lambda calls: any(test(name, text) for name, text in calls)


def _is_plain(name):
    return name.isidentifier() and not iskeyword(name)


def _pairs(text):
    """Return all names and values of JSON text, repeated ones too; none if it is no object."""
    found = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: found.extend(pairs) or dict(pairs))
    except ValueError:
        return []
    return found if isinstance(value, dict) else []


def _has_repeated_key(text):
    repeated = []

    def note(pairs):
        repeated.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=note)
    except ValueError:
        return False
    return any(repeated)


def _has_infinity(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_has_infinity, value))
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


DECODER_DIFFERENCES = (
    DecoderDifference(
        "prompting", "positional arguments", "[cd('docs'), ls(a=True)]",
        ["cd()", "ls(a=True)"], ["cd('docs')", "ls(a=True)"],
        _has(lambda node: isinstance(node, ast.Call) and bool(node.args)),
    ),
    DecoderDifference(
        "prompting", "signs", "[add(a=+5, b=1)]", ["add(a=-5, b=1)"], ["add(a=5, b=1)"], _has(_is_sign_alone),
    ),
    DecoderDifference(
        "prompting", "bare names", "[ls(a=true)]", ["ls(a='true')"], [],
        _has(lambda node: any(isinstance(value, ast.Name) for value in _values(node))),
    ),
    DecoderDifference(
        "prompting", "arithmetic", "[add(a=1 + 2 * 3, b=1)]", ["add(a=7, b=1)"], [],
        _has(lambda node: isinstance(node, ast.BinOp)),
    ),
    DecoderDifference(
        "prompting", "calls without arguments as arguments", "[cat(file_name=pwd())]",
        ["cat(file_name='pwd()')"], ["cat(file_name=pwd())"],
        _has(lambda node: any(isinstance(value, ast.Call) and not value.keywords for value in _values(node))),
    ),
    DecoderDifference(
        "prompting", "expressions", "[cat(file_name=names[0])]", ["cat(file_name='names[0]')"], [],
        _has(lambda node: isinstance(node, _NO_LITERAL)),
    ),
    DecoderDifference(
        "prompting", "constants that JSON lacks", "[cat(file_name=...)]", ["cat(file_name='...')"], [],
        _has(lambda node: isinstance(node, ast.Constant) and type(node.value) in (bytes, complex, type(...))),
    ),
    DecoderDifference(
        "prompting", "repeated arguments", "[cd(folder='a', folder='b')]", ["cd(folder='b')"], [],
        _has(_repeats_argument),
    ),
    DecoderDifference(
        "prompting", "unpacked arguments", "[ls(**{'a': True, 'b': 1})]", ["ls(None={'a': True, 'b': 1})"], [],
        _has(lambda node: isinstance(node, ast.keyword) and node.arg is None),
    ),
    DecoderDifference(
        "prompting", "dicts of dicts", "[cat(file_name={'a': {'b': 1}})]",
        ["cat(file_name=a(b=1))"], ["cat(file_name={'a': {'b': 1}})"], _has(_is_odd_dict),
    ),
    DecoderDifference(
        "prompting", "keys of dicts", "[cat(file_name={1: 2})]",
        ["cat(file_name={'1': 2})"], ["cat(file_name={1: 2})"], _has(_has_odd_key),
    ),
    DecoderDifference(
        "prompting", "calls in lists", "[mean(numbers=[add(a=1, b=2)])]",
        ["mean(numbers=[{'add': {'a': 1, 'b': 2}}])"], ["mean(numbers=[add(a=1, b=2)])"], _has(_holds_call),
    ),
    DecoderDifference(
        "prompting", "sets", "[mean(numbers={1})]", None, ["mean(numbers={1})"],
        _has(lambda node: isinstance(node, ast.Set)),
    ),
    DecoderDifference(
        "prompting", "infinities", "[add(a=1e999, b=1)]", ["add(a=inf, b=1)"], ["add(a=1e999, b=1)"],
        _has(lambda node: isinstance(node, ast.Constant) and _has_infinity(node.value)),
    ),
    DecoderDifference(
        "prompting", "dotted names", "[fs.cd(folder='a'), ls()]", ["fs.cd(folder='a')", "ls()"], [],
        _has(_has_dotted_name),
    ),
    DecoderDifference(
        "prompting", "lists cut off", "[ls(), cd(folder='a')", ["ls()", "cd(folder='a')"], [], _lacks_one_bracket,
    ),
    DecoderDifference(
        "prompting", "lists in parentheses", "(ls(), pwd())", None, ["ls()", "pwd()"],
        lambda text: text.strip("`\n ").startswith("("),
    ),
    DecoderDifference(
        "prompting", "fences with a language", "```python\n[ls()]\n```", None, ["ls()"],
        lambda text: re.match(r"\s*```\w", text) is not None,
    ),
    DecoderDifference(
        "prompting", "thinking", "<think>Look.</think>[ls()]", None, ["ls()"], lambda text: "</think>" in text,
    ),
    DecoderDifference(
        "prompting", "white space around", "[ls()]\r\n", None, ["ls()"], _is_loose,
    ),
    DecoderDifference(
        "prompting", "lone surrogates", "[cat(file_name='\\ud800')]", ["cat(file_name='\\ud800')"], [],
        lambda text: re.search(r"\\u[dD][89a-fA-F]", text) is not None,
    ),
    DecoderDifference(
        "native", "argument names", ("cat", '{"file name": "a"}'), ["cat(file name='a')"], ["cat(file name='a')"],
        _each(lambda name, text: not all(_is_plain(key) for key, _ in _pairs(text))),
    ),
    DecoderDifference(
        "native", "tool names", ("fs.ls", "{}"), ["fs.ls()"], ["fs.ls()"],
        _each(lambda name, text: not _is_plain(name)),
    ),
    DecoderDifference(
        "native", "keys given twice", ("cd", '{"folder": "a", "folder": "b"}'), ["cd(folder='b')"], [],
        _each(lambda name, text: _has_repeated_key(text)),
    ),
    DecoderDifference(
        "native", "NaN and infinities", ("add", '{"a": NaN, "b": 1}'), ["add(a=nan,b=1)"], [],
        _each(lambda name, text: any(_has_infinity(value) for _, value in _pairs(text))),
    ),
    DecoderDifference(
        "native", "lone surrogates", ("cat", '{"file_name": "\\ud800"}'), ["cat(file_name='\\ud800')"], [],
        _each(lambda name, text: re.search(r"\\u[dD][89a-fA-F]", text) is not None),
    ),
)  # fmt: skip
"""The order is that of `docs/fidelity.md`."""


def as_row(one):
    """Return a difference as a row of the table in `docs/fidelity.md`."""
    example = one.example if one.mode == "prompting" else " ".join(one.example)
    officially = "answer" if one.official is None else f"`{'`, `'.join(one.official)}`"
    correctly = f"`{'`, `'.join(one.correct)}`" if one.correct else "answer"
    shown = example.replace("\r", "\\r").replace("\n", "\\n")
    return f"| {one.mode} | {one.name} | {_code(shown)} | {officially} | {correctly} |"


def _code(text):
    return f"```` {text} ````" if "`" in text else f"`{text}`"


def explained(mode, action):
    """Return the names of the ways in which a reply may be read otherwise.

    Args:
        mode: The mode.
        action: The reply as the environment is sent it.
    """
    reply = action if mode == "prompting" else functions(action)
    return [one.name for one in DECODER_DIFFERENCES if one.mode == mode and one.applies(reply)]


def functions(action):
    """Return name and JSON text of the arguments of each tool call of a message."""
    entries = json.loads(action).get("tool_calls") or []
    return [(entry["function"]["name"], entry["function"]["arguments"]) for entry in entries]
