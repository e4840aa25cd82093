"""Messages and arguments that have broken other programs: injections, half calls, depth, length, strange characters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from envtune_gym.domains.base import Tool

__all__ = ["PROOF_OF_INJECTION", "hostile_messages", "long_arguments"]

PROOF_OF_INJECTION = "envtune_injected"
"""Name of the file, in the current directory, that some of the messages would make if they were evaluated."""

# TOOL and ARGUMENT stand for a tool's name and for its first argument.
_EXPRESSIONS = (
    f"__import__('os').system('touch {PROOF_OF_INJECTION}')",
    f"open('{PROOF_OF_INJECTION}', 'w')",
    "().__class__.__bases__[0].__subclasses__()",
    "TOOL.__globals__",
    "TOOL.__func__()",
    "self.tools()",
    "_functions()",
    "__init__(config={})",
    "__class__()",
    "state()",
    "fork()",
    "same_state(other=1)",
    "Domain.TOOL(ARGUMENT='x')",
    "exec('1')",
    "eval('1+1')",
    "open('/etc/passwd')",
    "exit()",
    "print('x')",
    "lambda: 0",
    "[TOOL for _ in range(9)]",
    "TOOL(**{'ARGUMENT': 'x'})",
    "TOOL(*['x'])",
    "TOOL(ARGUMENT=f'{1+1}')",
    "(x := 1)",
    "TOOL(ARGUMENT=[9**9**9])",
    "TOOL(ARGUMENT=[1e999, -1e999])",
    "await TOOL()",
    "yield 1",
)
_JSON_CALLS = (
    '{"name": "__init__", "arguments": {"config": {}}}',
    '{"name": "__class__", "arguments": {}}',
    '{"name": "state", "arguments": {}}',
    '{"name": "TOOL", "arguments": {"self": 1}}',
    '{"name": "TOOL", "arguments": [1]}',
    '{"name": "TOOL", "arguments": "ARGUMENT"}',
    '{"name": ["TOOL"], "arguments": {}}',
    '{"name": null, "arguments": null}',
    '{"name": "TOOL", "arguments": {"ARGUMENT": [NaN, Infinity]}}',
    '{"name": "TOOL", "arguments": {"ARGUMENT": [' + "9" * 5_000 + "]}}",
    '{"name": "TOOL", "arguments": {"ARGUMENT": {"a": [[[[[]]]]]}}}',
    '{"name": "TOOL", "arguments": {"ARGUMENT": "\\ud800"}}',
    '{"name": "TOOL"',
)
_LONG_JSON = (
    "[" * 60_000,
    '{"a":' * 10_000,
    "{" * 60_000 + "}" * 5_000,
)
_TEXTS = (
    "",
    " ",
    "\x00",
    "\ud800\udfff",
    "\u202e reversed",
    "<think>" * 9_000,
    "<tool_call>" * 5_000,
    "<tool_call>[" * 5_000,
    "</tool_call><answer><think>",
    "<think><tool_call>[]</tool_call>",
    "```json\n" * 7_000,
    "f(" * 30_000,
    "[" * 30_000 + "]" * 30_000,
    "-" * 60_000 + "1",
    "not " * 16_000 + "1",
    "1" + "+1" * 30_000,
    "a" + ".b" * 30_000,
    "f" + "()" * 30_000,
    "'" * 65_000,
    '"' * 65_000,
    "\\" * 65_000,
    "f(a=" * 16_000,
    "lambda:" * 9_000,
    "x" * 70_000,
)


def hostile_messages(tools: Mapping[str, Tool]) -> Iterator[str]:
    """Yield messages, in all action formats, that are aimed at some tools.

    Args:
        tools: The tools; a few are enough, for the messages are much the same for each.
    """
    yield from _TEXTS
    for call in _LONG_JSON:
        yield from _as_messages(call, "tool")
    seen: set[str] = set()
    for name, tool in tools.items():
        argument = next(iter(tool.signature.parameters), "x")
        for template in (*_EXPRESSIONS, *_JSON_CALLS):
            text = template.replace("TOOL", name).replace("ARGUMENT", argument)
            if text not in seen:
                seen.add(text)
                yield from _as_expressions(text) if template in _EXPRESSIONS else _as_messages(text, name)


_DEEP = 60  # deeper ones no message gets through


def long_arguments() -> list[Any]:
    """Return arguments of great length, depth and size."""
    deep: Any = 1
    for _ in range(_DEEP):
        deep = [deep]
    return ["x" * 60_000, "9" * 10_000, 10**4_000, -(10**4_000), [0] * 20_000, ["x"] * 20_000, deep, {"a": deep}]


def _as_expressions(text: str) -> Iterator[str]:
    yield text
    yield f"[{text}]"
    yield f"<tool_call>[{text}]</tool_call>"


def _as_messages(call: str, name: str) -> Iterator[str]:
    """Yield the text of a call within the messages that may carry one."""
    yield f"<tool_call>[{call}]</tool_call>"
    yield f"<tool_call>{call}</tool_call>"
    yield json.dumps({"role": "assistant", "tool_calls": [{"function": call}]})
    function = {"name": name, "arguments": call}
    yield json.dumps({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]})
