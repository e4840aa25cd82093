"""What the generator and the judge are told.

Requests, calls and results come from models and tasks, so they are shown as JSON strings, cut to a length: none of
them can pass for a part of the instructions. The generator never sees the ground truth; the judge does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from envtune_gym.asking import Message, cut
from envtune_gym.feedback.proposing.bookfile import rule_of
from envtune_gym.feedback.proposing.examples import examples_for
from envtune_gym.feedback.proposing.failures import Failure, FailureGroup
from envtune_gym.feedback.proposing.reply import Proposal
from envtune_gym.feedback.rules import MAX_TEXT, shown

__all__ = ["generator_messages", "judge_messages", "rejection", "reread"]

_FAILURES = 3
_SHORT = 300
_LONG = 1_000
_LISTED = 60

_GENERATOR = f"""\
You write feedback for an agent that carries out a user's requests by calling tools. When a call fails, the agent reads
the error and, beside it, your hint. A hint teaches: it states the rule behind the failure, so that the agent finds the
right step itself, in this task and in any other in which the same failure occurs.

Categories of failures:
- dependency_missing: something that another call gives first is missing.
- parameter_constraint: an argument breaks a rule of the tool.
- state_prerequisite: the state of the world does not allow the call now.
- format_mismatch: something is written in the wrong form.
- resource_unavailable: what is asked for does not exist or cannot be had.

Kinds of help:
- clarify_constraint: say which rule holds.
- suggest_prerequisite: say what kind of step comes first.
- explain_dependency: say what depends on what.
- correct_format: say how it is written.

Reply with one JSON object and nothing else:
{{"need": "what the agent has to understand or find out",
"category": "one of the categories",
"augmentation": "one of the kinds of help",
"error": "what went wrong, and the rule behind it",
"actionable": ["what kind of step resolves it", "the same without the name of a tool"]}}

Rules for `error` and for each text of `actionable`:
- Plain sentences of at most {MAX_TEXT} characters.
- Braces hold one of the values that are listed with the failure, by its name, and nothing else. They are filled in
  when the hint is shown; strings get quotation marks then.
- Only `actionable` names tools, each in backticks and only such as are listed. The agent reads the first text whose
  tools it has; the last text names none.
- Give no solution away: no call with its arguments, no concrete value, not all the steps in a row.
- Leave the decision to the agent: what kind of step helps, not which one to copy."""

_JUDGE = """\
You decide whether a hint may be shown to an agent that carries out a user's requests by calling tools. The agent reads
the hint beside the error of a failed call. You see the solution; the agent does not.

Answer four questions:
- leaks_solution: does the hint contain an exact call, a concrete value of the solution that the agent does not have, or
  the full sequence of calls?
- leaves_exploration_open: is it left to the agent to find the right step and its values?
- is_actionable: does the hint say what kind of step helps?
- teaches_rule: does it state the rule behind the failure, so that it helps in other tasks too?

Reply with one JSON object and nothing else:
{"leaks_solution": true or false, "leaves_exploration_open": true or false, "is_actionable": true or false,
"teaches_rule": true or false, "reasons": ["why, and what would have to change"]}"""


def generator_messages(group: FailureGroup) -> list[Message]:
    """Return the conversation that asks the generator for a proposal."""
    examples = "\n\n".join(examples_for(group.cause))
    system = f"{_GENERATOR}\n\nExamples of good replies:\n\n{examples}" if examples else _GENERATOR
    return [_message("system", system), _message("user", "\n\n".join(_described(group)))]


def rejection(reasons: Sequence[str]) -> Message:
    """Return the message that sends a proposal back to the generator."""
    listed = "\n".join(f"- {cut(reason, _LONG)}" for reason in reasons)
    return _message("user", f"The hint was rejected:\n{listed}\nReply with a better one, as one JSON object.")


def judge_messages(group: FailureGroup, proposal: Proposal) -> list[Message]:
    """Return the conversation that asks the judge for a decision on a proposal without faults."""
    rule = rule_of(group.cause, proposal)
    parts = [f"Failure: {group.cause}"]
    for failure in group.failures[:_FAILURES]:
        solution = _quoted(" ".join(failure.task.ground_truth[failure.turn]) or "(nothing to call)", _LONG)
        hint = rule.text(failure.error, failure.offered, advise=True) or ""
        parts.append("\n".join((*_case(failure), f"Solution of this request: {solution}", f"Hint: {_quoted(hint)}")))
    parts.append(f"The hint as a template: {proposal.model_dump_json(include={'error', 'actionable'})}")
    return [_message("system", _JUDGE), _message("user", "\n\n".join(parts))]


def reread(reply: str, fault: str) -> list[Message]:
    """Return the messages that ask again for a reply that could not be read."""
    return [
        _message("assistant", cut(reply, _LONG) or "(empty)"),
        _message("user", f"That could not be read: {cut(fault, _LONG)}. Reply with the JSON object alone."),
    ]


def _described(group: FailureGroup) -> Iterator[str]:
    """Yield the parts of the generator's request: the failure, the tools, the values, some cases."""
    cause = group.cause
    where = f"the tool {cause.tool} of {cause.domain}" if cause.tool else cause.domain
    yield f"Write a hint for the error {cause.code} in {where}. Number of times that it occurred: {group.count}."
    called = {failure.error.tool for failure in group.failures}
    schemas: dict[str, Any] = {name: schema for failure in group.failures for name, schema in failure.schemas.items()}
    documented = [schemas[name]["function"] for name in sorted(called & schemas.keys())][:_FAILURES]
    if documented:
        yield f"Documentation: {json.dumps(documented, ensure_ascii=False)}"
    yield f"Tools that may be named: {', '.join(group.offered[:_LISTED])}"
    values = sorted(group.names)
    yield f"Values that may stand in braces: {', '.join(f'{{{name}}}' for name in values)}"
    for number, failure in enumerate(group.failures[:_FAILURES], start=1):
        yield "\n".join((f"Case {number}.", *_case(failure), f"Values: {_values(failure, values)}"))


def _case(failure: Failure) -> Iterator[str]:
    yield f"Request: {_quoted(failure.request, _LONG)}"
    for call, result in failure.earlier:
        yield f"Before: {_quoted(call)} gave {_quoted(result)}"
    yield f"Call: {_quoted(failure.call, _LONG)}"
    yield f"Error: {_quoted(failure.result, _LONG)}"


def _values(failure: Failure, names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}} is {_quoted(shown(failure.values[name]))}" for name in names)


def _quoted(text: str, length: int = _SHORT) -> str:
    return json.dumps(cut(text, length), ensure_ascii=False)


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}
