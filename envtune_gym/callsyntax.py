"""Python call syntax, as BFCL writes tool calls: text to `Call` and back, without evaluating anything.

Only literals and nested calls are understood. Parsing is total and bounded: any text gives a `Call` or a
`CallSyntaxError`, in time and memory proportional to its length.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import kwlist
from typing import Any, TypeVar

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_LENGTH",
    "BrokenCall",
    "Call",
    "CallSyntaxError",
    "parse_call",
    "parse_call_list",
    "parse_expression",
]

T = TypeVar("T")

MAX_LENGTH = 65_536
"""Characters of the longest text that is parsed."""
_CACHED_LENGTH = 512
MAX_DEPTH = 64
"""Brackets that may stand within one another."""

MAX_DIGITS = 4300
"""Digits of the largest integer, which is what Python by default reads and prints."""

_TRIES = 10
"""How often a tree is built that Python, in the midst of threads, says it has miscounted."""
_INTEGER_BOUND = 10**MAX_DIGITS
# A string that never ends is consumed to the end of its line or of the text: a scanner that gave up on it and went
# on one character later would need quadratic time.
_BRACKET_OR_STRING = re.compile(
    r"""
    '{3}(?:\\.|[^\\])*?(?:'{3}|\\?\Z) | "{3}(?:\\.|[^\\])*?(?:"{3}|\\?\Z)
    | '(?:\\(?:\r\n|.)|[^'\\\r\n])*'? | "(?:\\(?:\r\n|.)|[^"\\\r\n])*"?
    | \#[^\r\n]* | [\[({] | [\])}]
    """,
    re.DOTALL | re.VERBOSE,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
# Most calls are keyword arguments with plain strings and numbers. This pattern reads those in a third of the time
# that Python's parser takes; whatever it does not match goes there.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TEXT = r"'[^'\\\n\r\0\ud800-\udfff]*'|\"[^\"\\\n\r\0\ud800-\udfff]*\""
_PLAIN = rf"{_TEXT}|-?(?:0|[1-9][0-9]{{0,17}})(?:\.[0-9]{{1,18}})?|True|False|None"
_SIMPLE_CALL = re.compile(rf"({_NAME})\((?:{_NAME}=(?:{_PLAIN})(?:, ?{_NAME}=(?:{_PLAIN}))*)?\)")
_SIMPLE_ARGUMENT = re.compile(rf"({_NAME})=({_PLAIN})")
_RESERVED = frozenset(kwlist)
_CONSTANTS = {"True": True, "False": False, "None": None}
_SCALARS = frozenset((str, int, float, bool, type(None)))
_SHOWN_NAME = 40
_MAX_BRACES = 256
# An f-string is refused in any case; before Python 3.12 parsing one takes time quadratic in its fields.
_FSTRING = re.compile(r"\b(?:[fF][rR]?|[rR][fF])['\"]")
# Python warns about these while parsing; the text is a model's, so the warning would reach the wrong person.
_WARNINGS_LOCK = threading.Lock()  # catch_warnings changes a global that two threads would restore wrongly
_MAY_WARN = re.compile(r"\\|\d[A-Za-z_]|\bis\b")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that has been read but not run.

    Attributes:
        name: The tool's name as written.
        kwargs: Keyword arguments: plain data, or a `Call` whose result is to be passed.
        args: Positional arguments, likewise.
    """

    name: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    args: tuple[Any, ...] = ()

    def names(self) -> Iterator[str]:
        """Yield the names of the tools that the call would run: its own, then those of nested calls."""
        yield self.name
        yield from _nested_names([*self.args, *self.kwargs.values()])

    def source(self) -> str:
        """Return the call in Python syntax; parsing it gives an equal call."""
        arguments = [_source(value) for value in self.args]
        arguments += [f"{name}={_source(value)}" for name, value in self.kwargs.items()]
        return f"{self.name}({', '.join(arguments)})"


@dataclass(frozen=True, slots=True)
class BrokenCall(Call):
    """A call string that the official decoder lets through and the official executor then fails to evaluate.

    Attributes:
        text: The string.
        fault: What the executor says of it.
    """

    text: str = ""
    fault: str = ""

    def source(self) -> str:
        """Return the string as it was."""
        return self.text


class CallSyntaxError(ValueError):
    """Text that is not a call of literals.

    Attributes:
        reason: What is wrong, in a sentence without a full stop.
        position: Index of the character at which it is wrong.
        official: What the official executor, which evaluates the text, says of it.
    """

    def __init__(self, reason: str, position: int = 0, official: str | None = None) -> None:
        super().__init__(f"{reason} (at character {position})")
        self.reason = reason
        self.position = position
        self.official = reason if official is None else official


def parse_call(text: str) -> Call:
    """Read one call, such as `cd(folder='docs')`.

    The result may be shared between callers: copy its containers before handing them on.

    Raises:
        CallSyntaxError: If the text is anything else.
    """
    return _parse_call_cached(text) if len(text) <= _CACHED_LENGTH else _read(text, _to_call)


def _parse_simple_call(text: str) -> Call | None:
    """Return the call if its text is of the most common shape, else None."""
    match = _SIMPLE_CALL.fullmatch(text)
    if match is None:
        return None
    arguments = _SIMPLE_ARGUMENT.findall(text, match.end(1))
    kwargs = {name: _plain_value(literal) for name, literal in arguments}
    if len(kwargs) < len(arguments) or not _RESERVED.isdisjoint((match[1], *kwargs)):
        return None
    return Call(match[1], kwargs)


def _plain_value(literal: str) -> str | float | bool | None:
    if literal[0] in "'\"":
        return literal[1:-1]
    if literal in _CONSTANTS:
        return _CONSTANTS[literal]
    return float(literal) if "." in literal else int(literal)


def parse_call_list(text: str, limit: int | None = None) -> list[Call]:
    """Read one call, or a list or tuple of calls, such as `[ls(), cd(folder='docs')]`.

    Args:
        text: The source.
        limit: Calls beyond that many are left unread.

    Raises:
        CallSyntaxError: If the text is anything else; nothing of a list with one broken call is kept.
    """
    return _read(text, lambda node: _to_calls(node, limit))


@lru_cache(maxsize=4096)
def _parse_call_cached(text: str) -> Call:
    return _parse_simple_call(text) or _read(text, _to_call)


def parse_expression(text: str) -> ast.expr:
    """Return the syntax tree of a Python expression, which is not evaluated.

    Raises:
        CallSyntaxError: If the text is no expression, too long or nested too deeply, or Python cannot cope with it.
    """
    _check_bounds(text)
    stripped = text.lstrip(" \t")  # as `eval` does
    try:
        if _MAY_WARN.search(stripped):
            with _WARNINGS_LOCK, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _syntax_tree(stripped)
        return _syntax_tree(stripped)
    except SyntaxError as error:
        position = _line_start(text, error.lineno or 1) + max(0, (error.offset or 1) - 1)
        raise CallSyntaxError(f"not a Python call: {error.msg}", min(position, len(text)), str(error)) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise CallSyntaxError(f"not a Python call: {error}", 0, str(error)) from None


class _UnsupportedError(Exception):
    """A piece of Python that is not a call of literals, and what is said of it."""

    def __init__(self, node: ast.expr, reason: str, official: str | None = None) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.official = official


def _read(text: str, convert: Callable[[ast.expr], T]) -> T:
    node = parse_expression(text)
    try:
        return convert(node)
    except _UnsupportedError as problem:
        raise CallSyntaxError(problem.reason, _position(text, problem.node), problem.official) from None
    except RecursionError as error:  # nesting that the check of the brackets did not see
        raise CallSyntaxError(f"not a Python call: {error}", 0, str(error)) from None


def _syntax_tree(text: str, tries: int = _TRIES) -> ast.expr:
    try:
        return compile(text, "<string>", "eval", ast.PyCF_ONLY_AST).body  # type: ignore[attr-defined,no-any-return]
    except SystemError:
        # Some versions of Python count the depth of trees in one place for all threads, and complain in the end where
        # another thread has counted, too (python/cpython#106905). Nothing is wrong with the text then.
        if tries == 1:
            raise
        return _syntax_tree(text, tries - 1)


def _check_bounds(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise CallSyntaxError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH)
    if text.count("{") > _MAX_BRACES and _FSTRING.search(text):
        raise CallSyntaxError(f"more than {_MAX_BRACES} braces beside an f-string")
    if text.count("(") + text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        bracket = match[0]
        depth += (bracket in "([{") - (bracket in ")]}")
        if depth > MAX_DEPTH:
            raise CallSyntaxError(f"brackets nested more than {MAX_DEPTH} deep", match.start())


def _line_start(text: str, line: int) -> int:
    """Return the index at which Python's line of that number (from 1) starts; blanks before the first don't count."""
    start = len(text) - len(text.lstrip(" \t"))
    for number, end in enumerate(_LINE_END.finditer(text), start=2):
        if number > line:
            break
        start = end.end()
    return start


def _position(text: str, node: ast.expr) -> int:
    """Return the index in `text` at which a node of its tree starts; trees count columns in bytes of UTF-8."""
    start = _line_start(text, node.lineno)
    before = text[start : start + node.col_offset].encode()[: node.col_offset]
    return start + len(before.decode(errors="ignore"))


def _to_calls(node: ast.expr, limit: int | None) -> list[Call]:
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_to_call(element) for element in node.elts[:limit]]
    return [_to_call(node)]


def _to_call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise _unsupported(node, "expected a call such as name(argument=value)")
    function = node.func
    if not isinstance(function, ast.Name):
        raise _unsupported(function, "the name of a tool must stand before the bracket")
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _unsupported(keyword.value, "arguments cannot be unpacked with **")
        if keyword.arg in kwargs:
            reason = "keyword argument repeated: "
            official = f"{reason}{keyword.arg} (<string>, line {keyword.lineno})"
            raise _UnsupportedError(keyword.value, reason + keyword.arg[:_SHOWN_NAME], official)
        kwargs[keyword.arg] = _to_value(keyword.value)
    return Call(function.id, kwargs, tuple([_to_value(argument) for argument in node.args]))


def _to_value(node: ast.expr) -> Any:
    kind = type(node)  # no node of a parsed tree is of a subclass, and this runs for every argument
    if kind is ast.Constant:
        value = node.value  # type: ignore[attr-defined]
        if type(value) in _SCALARS:
            return _bounded(node, value) if type(value) is int else value
    elif kind is ast.List:
        return [_to_value(element) for element in node.elts]  # type: ignore[attr-defined]
    elif kind is ast.Tuple:
        return tuple([_to_value(element) for element in node.elts])  # type: ignore[attr-defined]
    elif isinstance(node, (ast.Dict, ast.Set)):
        return _to_hashed(node)
    elif isinstance(node, ast.Call):
        return _to_call(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if type(number) in (int, float):
            number = _bounded(node, number)
            return -number if isinstance(node.op, ast.USub) else number
    raise _unsupported(node, "only literals and nested calls may be arguments")


def _bounded(node: ast.expr, number: Any) -> Any:
    """Refuse an integer that could be written (in hexadecimal, say) but never printed."""
    if type(number) is int and number >= _INTEGER_BOUND:
        raise _UnsupportedError(node, f"integer of more than {MAX_DIGITS:,} digits")
    return number


def _to_hashed(node: ast.Dict | ast.Set) -> Any:
    try:
        if isinstance(node, ast.Set):
            return {_to_value(element) for element in node.elts}
        if None in node.keys:
            raise _unsupported(node, "a dictionary cannot be unpacked with **")
        return {_to_value(key): _to_value(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    except TypeError as error:  # a list as a key
        raise _UnsupportedError(node, str(error)) from None


def _unsupported(node: ast.expr, reason: str) -> _UnsupportedError:
    """Say that a piece of Python is not a literal.

    Where Python comes upon a bare name first, as in `x[0]` or `move-file()`, the official executor complains of it.
    """
    root: ast.expr = node
    while isinstance(root, (ast.Attribute, ast.Subscript, ast.BinOp)):
        root = root.left if isinstance(root, ast.BinOp) else root.value
    official = f"name '{root.id}' is not defined" if isinstance(root, ast.Name) else None
    return _UnsupportedError(node, reason, official)


def _nested_names(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Call):
            yield from value.names()
        elif isinstance(value, Mapping):
            yield from _nested_names(value.values())
        elif isinstance(value, (list, tuple)):
            yield from _nested_names(value)


def _source(value: Any) -> str:
    """Return a literal in Python syntax; an infinity is written as a number too large for a float."""
    if isinstance(value, Call):
        return value.source()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_source(k)}: {_source(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_source, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_source, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)
