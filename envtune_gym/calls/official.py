"""The official decoders of both modes, with their faults, and without evaluating anything.

Reproduces `default_decode_execute_prompting` and `convert_to_function_call` of `bfcl_eval/model_handler/utils.py` at
the pinned version. Those functions turn a message into strings, which the official executor evaluates; these here
give the calls that these strings mean. Faults of the prompting mode, which scores depend on:

- positional arguments are dropped;
- every unary operator counts as a minus: `+5` is -5, `not True` is -1;
- a bare name is a string (`false` is `'false'`), and so are a call without keyword arguments and a subscript;
- arithmetic is folded;
- of a repeated argument the last counts;
- an argument that is a dict of dicts is written as a call of its first key, and an empty dict spoils the message;
- keys of a dict argument become strings between plain quotes, so a quote within one breaks the call;
- a call within a list becomes a dict;
- infinities are written `inf`, a name that the executor does not know;
- `**` arguments become an argument named `None`, which the executor cannot parse;
- a missing bracket at either end is added, so a list that was cut off after a call runs;
- a fence that names its language and a thinking part are not understood: the message is an answer.

Of the native function-calling mode:

- names of tools and arguments become source text, so one that is no identifier breaks its call, or makes another;
- NaN and infinities are written as names that the executor does not know;
- of a key given twice the last counts.

A string that the executor cannot evaluate is a `BrokenCall`: running it fails with the executor's words, while the
other calls of the message run.

Known differences, none of which an honest message meets: arithmetic that needs names, calls, lists, `%` on text or
results beyond a bound is refused (officially `eval` runs it, whatever it is); so is nesting beyond `MAX_DEPTH`, and
a message of more than `MAX_CALLS` calls; values that JSON lacks (bytes, complex numbers) make a broken call.
"""

from __future__ import annotations

import ast
import itertools
import json
import operator
from collections.abc import Callable, Iterable
from typing import Any

from envtune_gym.calls.reply import MAX_CALLS, excerpt
from envtune_gym.callsyntax import (
    MAX_LENGTH,
    BrokenCall,
    Call,
    CallSyntaxError,
    parse_call,
    parse_expression,
)

__all__ = ["DecodeError", "decode_calls", "decode_functions", "execution_strings", "function_strings"]

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_NODE_COST = 16
"""What writing a node of the tree back to text costs, in characters."""
_MAX_ARITHMETIC = 256
"""Nodes of the largest arithmetic expression that is folded: about as many as `eval` and `unparse` can nest."""


class DecodeError(ValueError):
    """A message that does not decode, which makes it an answer.

    Attributes:
        position: Index of the character at which it fails, as far as that is known.
    """

    def __init__(self, reason: str, position: int = 0) -> None:
        super().__init__(reason)
        self.position = position


def decode_calls(text: str) -> list[Call]:
    """Return the calls that the official harness would run for a message.

    Raises:
        DecodeError: If the official decoder fails on it.
    """
    return [_as_call(execution) for execution in execution_strings(text)]


def decode_functions(functions: Iterable[tuple[str, Any]]) -> list[Call]:
    """Return the calls that the official harness would run for the tool calls of a message.

    Args:
        functions: For each tool call the name and the arguments: JSON text, or an object.

    Raises:
        DecodeError: If the official decoder fails on one.
    """
    return [_as_call(execution) for execution in function_strings(functions)]


def function_strings(functions: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the strings that the official decoder of the function-calling mode gives to the executor.

    Raises:
        DecodeError: If the official decoder fails on one.
    """
    executions = []
    for name, arguments in functions:
        try:
            values = json.loads(arguments) if isinstance(arguments, str) else arguments
            if not isinstance(values, dict):
                raise DecodeError(f"arguments of {excerpt(name)!r} are no object")
            written = ",".join([f"{key}={value!r}" for key, value in values.items()])
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"arguments of {excerpt(name)!r} are not JSON: {error}") from None
        executions.append(f"{name}({written})")
    return executions


def execution_strings(text: str) -> list[str]:
    """Return the strings that the official prompting decoder gives to the executor.

    Raises:
        DecodeError: If the official decoder fails on the message.
    """
    source = text.strip("`\n ")
    source = ("" if source.startswith("[") else "[") + source + ("" if source.endswith("]") else "]")
    try:
        tree = parse_expression(source.strip())
        if not isinstance(tree, ast.List):
            raise DecodeError("not a list of calls")
        decoder = _Decoder()
        decoded = [decoder.call(element) for element in tree.elts[: MAX_CALLS + 1]]
        return [_execution_string(name, arguments) for call in decoded for name, arguments in call.items()]
    except CallSyntaxError as error:
        raise DecodeError(error.reason, error.position) from None
    except DecodeError:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise DecodeError(str(error)) from None


class _Decoder:
    """Turns syntax trees into the data that the official decoder makes of them, within a budget of work."""

    def __init__(self) -> None:
        self._left = MAX_LENGTH

    def call(self, node: ast.expr) -> dict[Any, dict[Any, Any]]:
        """Return a call as `{name: arguments}`, which is what makes a dict of dicts look like one."""
        if not isinstance(node, ast.Call):
            raise DecodeError("an element is not a call", node.col_offset)
        parts: list[str] = []
        function = node.func
        while isinstance(function, ast.Attribute):
            parts.append(function.attr)
            function = function.value
        if isinstance(function, ast.Name):
            parts.append(function.id)
        return {".".join(reversed(parts)): {keyword.arg: self.value(keyword.value) for keyword in node.keywords}}

    def value(self, node: ast.expr | None) -> Any:
        if isinstance(node, ast.Constant):
            return "..." if node.value is ... else node.value
        if isinstance(node, ast.UnaryOp):
            if not isinstance(node.operand, ast.Constant):
                raise DecodeError("a sign before something that is no number", node.col_offset)
            constant: Any = node.operand.value
            return -constant
        if isinstance(node, ast.List):
            return [self.value(element) for element in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple([self.value(element) for element in node.elts])
        if isinstance(node, ast.Dict):
            return {self.value(key): self.value(item) for key, item in zip(node.keys, node.values, strict=True)}
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Call) and node.keywords:
            return self.call(node)
        if isinstance(node, (ast.Call, ast.Subscript)):
            return self._text(node)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        raise DecodeError("an argument of a kind that the decoder does not know")

    def _text(self, node: ast.Call | ast.Subscript) -> str:
        self._charge(_NODE_COST * _nodes(node, MAX_LENGTH // _NODE_COST + 1))
        if isinstance(node, ast.Call):
            return ast.unparse(node)
        return f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"

    def _arithmetic(self, node: ast.BinOp) -> Any:
        if _nodes(node, _MAX_ARITHMETIC + 1) > _MAX_ARITHMETIC:
            raise DecodeError("an argument with too much arithmetic", node.col_offset)
        return self._fold(node)

    def _fold(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex, str)):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return _SIGNS[type(node.op)](self._fold(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self._fold(node.left), self._fold(node.right)
            self._charge(_size_of_result(node.op, left, right))
            return _OPERATORS[type(node.op)](left, right)
        raise DecodeError("arithmetic on something that is neither number nor text", node.col_offset)

    def _charge(self, cost: float) -> None:
        self._left -= int(min(cost, MAX_LENGTH + 1))
        if self._left < 0:
            raise DecodeError("too much work")


def _nodes(node: ast.expr, limit: int) -> int:
    """Return the number of nodes of a tree, counted up to a limit."""
    return sum(1 for _ in itertools.islice(ast.walk(node), limit))


def _size_of_result(kind: ast.operator, left: Any, right: Any) -> float:
    """Return an upper bound of the bits or characters that an operation gives.

    Raises:
        DecodeError: If the operation is formatting.
    """
    if isinstance(kind, ast.Mod) and isinstance(left, str):
        raise DecodeError("formatting of text")
    if isinstance(kind, ast.Mult) and isinstance(left, str) != isinstance(right, str):
        text, times = (left, right) if isinstance(left, str) else (right, left)
        return len(text) * max(1, times) if isinstance(times, int) else 1
    if isinstance(left, int) and isinstance(right, int):
        if isinstance(kind, ast.Pow):
            return left.bit_length() * max(1, right)
        if isinstance(kind, ast.LShift):
            return left.bit_length() + max(1, right)
    return _size(left) + _size(right)


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return value.bit_length() if isinstance(value, int) else 1


def _execution_string(name: Any, arguments: dict[Any, Any]) -> str:
    return f"{name}({', '.join([f'{key}={_argument(value)}' for key, value in arguments.items()])})"


def _argument(value: Any) -> str:
    """Write an argument as the official decoder does, which takes every dict of dicts for a nested call."""
    if not isinstance(value, dict):
        return repr(value)
    if not value:
        raise DecodeError("an empty dict")
    name, first = next(iter(value.items()))
    if all(isinstance(item, dict) for item in value.values()):
        return _execution_string(name, first)
    return "{" + ", ".join([f"'{key}': {_argument(item)}" for key, item in value.items()]) + "}"


def _as_call(execution: str) -> Call:
    try:
        return parse_call(execution)
    except CallSyntaxError as error:
        return BrokenCall(execution.partition("(")[0], text=execution, fault=error.official)
