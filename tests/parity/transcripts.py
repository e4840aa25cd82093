"""Transcripts as models leave them: altered ground truths, rendered as raw replies of a mode, well and badly formed.

A transcript is the list of an episode's replies in order. In the prompting mode a reply is text; in the native mode it
is the message that the vendor's client hands over, with `content` and `tool_calls`.
"""

import json
import random

from envtune_gym.callsyntax import CallSyntaxError, parse_call
from envtune_gym.world import name_arguments

from .mutations import MUTATIONS, mutate

ANSWERS = (
    "Done.",
    "I have finished all that you asked for.",
    "",
    "[]",
    "   \n",
    "```\n```",
    "I can't do that without the ticket's number; could you tell me?",
    "The directory holds: `report.txt`, `notes` [2 files].",
    "**Summary**\n\n1. moved the file\n2. counted its lines: 12",
    "None",
    "Fertig \u2013 alles erledigt \u2713",
    "['done']",
    "[Task complete]",
    "<think>Nothing is left to do.</think>Done.",
    '{"status": "ok"}',
)
OTHER_SYNTAX = (
    '<tool_call>[{"name": "ls", "arguments": {}}]</tool_call>',
    '```json\n[{"function": "ls", "parameters": {}}]\n```',
    '[{"name": "ls", "arguments": {"a": true}}]',
    "<TOOLCALL>[ls()]</TOOLCALL>",
    '<functions><function name="ls"/></functions>',
    "ls -la | sort",
    "functions.ls()",
    "Action: ls\nAction Input: {}",
)
TIDY = ("{}\n", "  {}", "```{}```", "```\n{}\n```", "`{}`", "\n\n{}")
WRAPPED = (
    *TIDY, "```python\n{}\n```",
    "```\n{}", "\t{}", "{}\r\n", "Sure, I will: {}", "{} Done.", "{}.", "{};", "<think>First the file.</think>{}",
    "First the file.</think>\n{}", "{} # all at once", "{}\n\n{}", "'{}'", "({})", "[{}]",
)  # fmt: skip
VALUES = (
    "+5", "-5", "- -5", "~3", "not True", "true", "null", "None", "...", "1e999", "-1e999", "0x1F", "007", "1_000",
    "'it\\'s'", '"a\\nb"', "'\u00e9\\ud800'", "'C:\\path'", "b'x'", "1j", "x", "x.y", "x[0]", "g(1)", "g(a=1)",
    "no_tool(x=tool(a=1))", "{}", "{'a': 1}", "{'a': {}}", "{'a': {'b': 1}}", "{'a': {'b': 1}, 'c': 1}", "{1: 2}",
    "{\"it's\": 1}", "{'a': g(b=1)}", "[1, +2]", "[x]", "(1,)", "[g(a=1)]", "{1, 2}", "1 + 2 * 3", "'a' + 'b'",
    "10 / 4", "2 ** 10", "-(1 + 2)", "f'{x}'", "*x", "1 if x else 2", "'a' 'b'", "lambda: 1", "1 < 2",
)  # fmt: skip
JSON_VALUES = (
    "NaN", "Infinity", "-Infinity", "1e999", "null", "true", "[1, [2]]", '{"a": {"b": 1}}', '{"a": 1, "a": 2}',
    '"\\ud800"', '"it\'s"', '"\\u00e9\\n"', "{}", "[]", "1.0", "-0", "12345678901234567890", "+5", "0x1F", "'single'",
    "undefined", '"a" "b"', "1,", "{",
)  # fmt: skip
KEYS = (
    "extra",
    "file name",
    "file-name",
    "class",
    "*",
    "**kw",
    "a=1, b",
    "1st",
    "",
    "None",
    "\u00e9",
    "\ud7ff",
    "__class__",
)
NAMES = (
    "functions.{}",
    "{}()",
    "{} ",
    "{}.run",
    "",
    "no_such_tool",
    "import os;{}",
    "{}-tool",
    "__init__",
    "_{}",
    "lambda",
)
ARGUMENTS = (
    "", "null", "[]", "5", '"{}"', "{", "{}}", "{'a': 1}", "{a: 1}", "{} {}", '{"a": 1,}', "\n{}\n", "None",
    "// none\n{}", '"{\\"a\\": 1}"',
)  # fmt: skip


def transcripts(tasks, mode, count):
    """Yield `(task, replies)`: each mutation as often as every other, replies well formed in about half of them."""
    rng = random.Random(f"transcripts {mode}")
    for index in range(count):
        task = tasks[rng.randrange(len(tasks))]
        turns = mutate(task, tasks, MUTATIONS[index % len(MUTATIONS)], rng)
        if rng.random() < 0.06:
            _drag_on(turns, rng)
        oddness = rng.choice([0, 0, 0.05, 0.3])
        yield task, _replies(task, turns, mode, oddness, rng)


def _drag_on(turns, rng):
    """Let a turn take about as many steps as the limit allows, or more."""
    places = [steps for steps in turns if any(steps)]
    if places:
        steps = rng.choice(places)
        step = next(step for step in steps if step)
        steps.extend([[step[-1]]] * rng.randint(18, 26))


def _replies(task, turns, mode, oddness, rng):
    render = _text if mode == "prompting" else _message
    answer = _text_answer if mode == "prompting" else _message_answer
    replies = []
    for steps in turns:
        for step in steps:
            calls = step if rng.random() < 0.1 else [_named(text, task) for text in step]
            replies.append(render(calls, oddness, rng))
        if rng.random() >= oddness / 3:
            replies.append(answer(rng))
    return replies


def _named(text, task):
    return name_arguments(parse_call(text), task.domains).source()


def _text_answer(rng):
    return rng.choice(ANSWERS)


def _text(calls, oddness, rng):
    """Return a reply of the prompting mode that means to make calls."""
    if rng.random() < oddness / 4:
        return rng.choice(OTHER_SYNTAX)
    chosen = [_odd_call(call, rng) if rng.random() < oddness else call for call in calls]
    text = rng.choice([", ", ", ", ",\n ", ","]).join(chosen)
    text = text if rng.random() < 0.1 else f"[{text}]"
    if rng.random() < 0.2:
        text = rng.choice(WRAPPED if rng.random() < 3 * oddness else TIDY).replace("{}", text)
    if rng.random() < oddness / 3:
        text = text[: rng.randrange(len(text) + 1)]
    return text


def _odd_call(text, rng):
    """Return a call with an argument as only models write them."""
    name, _, inner = text.partition("(")
    if rng.random() < 0.2:
        return rng.choice(["api.", "a.b.", "f().", "await "]) + text
    added = rng.choice(["", "extra=", "path=", "**"]) + rng.choice(VALUES)
    arguments = [added, inner[:-1]] if inner[:-1] else [added]
    rng.shuffle(arguments)
    return f"{name}({', '.join(arguments)})"


def _message_answer(rng):
    message = {"role": "assistant", "content": rng.choice([*ANSWERS, None, "[ls()]"])}
    if rng.random() < 0.3:
        message["tool_calls"] = rng.choice([None, []])
    return message


def _message(calls, oddness, rng):
    """Return a reply of the native mode that means to make calls."""
    entries = []
    for index, text in enumerate(calls):
        name, arguments = _as_function(text)
        if rng.random() < oddness:
            name, arguments = _odd_function(name, arguments, rng)
        identity = rng.choice([f"call_{index}", f"call_{rng.getrandbits(64):016x}", "call_0"])
        entries.append({"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}})
    message = {"role": "assistant", "content": rng.choice([None, None, "", "I look it up."]), "tool_calls": entries}
    if rng.random() < 0.1:
        message["reasoning_content"] = "First the file."
    return message


def _as_function(text):
    """Return name and arguments of a call as a server sends them: the name and JSON text."""
    try:
        call = parse_call(text)
        return call.name, json.dumps({**dict(call.kwargs), **{f"arg{i}": value for i, value in enumerate(call.args)}})
    except (CallSyntaxError, TypeError):
        return "no_such_tool", "{}"


def _odd_function(name, arguments, rng):
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(NAMES).replace("{}", name), arguments
    if kind == 1:
        return name, rng.choice(ARGUMENTS)
    if kind == 2:
        return name, arguments[: rng.randrange(len(arguments))]
    key = "extra" if kind == 3 else rng.choice([*KEYS, *json.loads(arguments)])
    value = rng.choice(JSON_VALUES) if kind == 3 else '"x"'
    inner = arguments[1:-1]
    return name, "{" + ", ".join(filter(None, [inner, f"{json.dumps(key)}: {value}"])) + "}"
