"""Hints for what goes wrong outside a tool, in every domain: the name, the arguments, the syntax.

Most of the values that the texts speak of come from the documentation of the tools on offer; see `causes`. Where
several rules have the same code, the first is used whose values are all there.
"""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["FALLBACK", "RULES"]

_WHOLE = "Mend that place, and send the whole message again in the format that the instructions describe."
_ANOTHER_WAY = "If no tool on offer can do what is asked, end the turn with an answer that says so."
_WRITINGS = {
    "integer": "Write a bare whole number, without quotation marks, unit or separators.",
    "number": "Write a bare number, without quotation marks, unit or separators.",
    "boolean": "Write true or false, without quotation marks.",
    "string": "Write a text in quotation marks.",
    "array": "Write a list in square brackets, for a single item too, with each item of the documented type.",
    "object": "Write an object in braces, with the documented keys and types.",
}


def _ill_typed(kind: str) -> HintRule:
    return HintRule(
        code="ill_typed_argument",
        category="format_mismatch",
        augmentation="correct_format",
        error="The argument {argument} is to be of type {expected}, and {value} is not.",
        actionable=(_WRITINGS[kind],),
        when={"kind": kind},
    )


def _misused(kind: str) -> HintRule:
    return HintRule(
        code="misused_argument",
        category="format_mismatch",
        augmentation="correct_format",
        error="The call ran, but the argument {argument} is to be of type {expected}, and {value} is not: it may have "
        "been taken for something else.",
        actionable=(f"Check what came of the call. {_WRITINGS[kind]}",),
        when={"kind": kind},
    )


FALLBACK = HintRule(
    code="crashed",
    category="parameter_constraint",
    augmentation="clarify_constraint",
    error="The tool {tool} could not work with what it was given or with the present state.",
    actionable=("Compare each value with what the documentation of the tool says about it.",),
)
"""The one rule that names no cause, for a Python error that no argument explains."""

RULES = (
    HintRule(
        code="unknown_tool",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="No tool named {value} is on offer now. Only tools on offer can be called, each by its exact name.",
        actionable=(
            "The tool on offer that is written almost like that is {slip}.",
            f"Tools on offer with a similar name: {{near}}. {_ANOTHER_WAY}",
            _ANOTHER_WAY,
        ),
    ),
    HintRule(
        code="missing_argument",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The call lacks the argument {argument}, of type {expected}, which this tool cannot do without. "
        "Required: {required}.",
        actionable=("Take its value from the request or from the result of another call.",),
        or_ask=True,
    ),
    HintRule(
        code="unknown_argument",
        category="parameter_constraint",
        augmentation="correct_format",
        error="This tool takes no arguments, and the call gives it {argument}.",
        actionable=("Make the call again without arguments.",),
        when={"parameters": []},
    ),
    HintRule(
        code="unknown_argument",
        category="parameter_constraint",
        augmentation="correct_format",
        error="This tool has no argument {argument}. Its arguments: {parameters}.",
        actionable=(
            "The one that is written almost like that is {near}.",
            "Make the call again with these names only, and leave out what has no place.",
        ),
    ),
    HintRule(
        code="bad_call",
        category="format_mismatch",
        augmentation="correct_format",
        error="The call gives the argument {argument} twice, by position and by name.",
        actionable=("Make the call again, with each argument once and by its name.",),
    ),
    HintRule(
        code="bad_call",
        category="format_mismatch",
        augmentation="correct_format",
        error="The call gives more values by position than the tool {tool} has arguments: {parameters}.",
        actionable=("Make the call again, with each argument once and by its name.",),
    ),
    HintRule(
        code="nested_call",
        category="format_mismatch",
        augmentation="explain_dependency",
        error="The argument {argument} holds a call. What a tool returns is an object with keys, not the bare value "
        "that {tool} works with.",
        actionable=("Make the inner call by itself first; then copy the value that is needed out of its result.",),
    ),
    *map(_ill_typed, _WRITINGS),
    *map(_misused, _WRITINGS),
    HintRule(
        code="crashed",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The tool {tool} could not work with {value} as {argument}.",
        actionable=("Hold it against what the documentation says of {argument}, and give it in that form.",),
    ),
    FALLBACK,
    HintRule(
        code="too_large",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="{argument} asks for more work than the tool does in one call, and the call was refused.",
        actionable=("Give a smaller value, or ask for less at a time.",),
    ),
    HintRule(
        code="too_large",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="What {tool} was to do, or its result, is too large, and the call was refused.",
        actionable=("Ask for less at a time.",),
    ),
    HintRule(
        code="bad_syntax",
        category="format_mismatch",
        augmentation="correct_format",
        error="The message could not be read, and none of its calls ran: at character {position} stands {found}. "
        "Expected there: {expected}.",
        actionable=(_WHOLE,),
    ),
    HintRule(
        code="bad_syntax",
        category="format_mismatch",
        augmentation="correct_format",
        error="The message could not be read, and none of its calls ran: {reason}, at character {position}, where "
        "{found} stands.",
        actionable=(_WHOLE,),
    ),
    HintRule(
        code="bad_syntax",
        category="format_mismatch",
        augmentation="correct_format",
        error="The call of {tool} could not be read and did not run: {message}.",
        actionable=("Write the call anew, with plain values as its arguments, each by its name.",),
    ),
)
