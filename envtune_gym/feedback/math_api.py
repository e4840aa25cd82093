"""Hints for MathAPI."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

RULES = (
    HintRule(
        code="division_by_zero",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The logarithm has no value to the base {value}: the logarithm of the base itself is 0 there.",
        actionable=("Check which of the numbers is the base; it is positive and not 1.",),
        tool="logarithm",
    ),
    HintRule(
        code="division_by_zero",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} is {value}, and nothing can be divided by that.",
        actionable=("Check that the two numbers are not exchanged; if they are right, tell the user.",),
    ),
    HintRule(
        code="not_a_number",
        category="format_mismatch",
        augmentation="correct_format",
        error="{argument} is {value}, which cannot be computed with.",
        actionable=("Give bare numbers; where one comes from another result, copy the number out of it.",),
    ),
    HintRule(
        code="not_positive",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} is {value}, and only positive numbers have a real logarithm and make a base.",
        actionable=("Check which number is which, and that no sign has been lost or added.",),
    ),
    HintRule(
        code="negative_number",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is negative, and a negative number has no real square root.",
        actionable=("Check the sign of the number; if it is right, tell the user.",),
    ),
    HintRule(
        code="complex_result",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The base {value} is negative and the exponent {exponent} is no whole number, so that the power is not "
        "real.",
        actionable=("Check the sign of the base, and which number is the exponent.",),
    ),
    HintRule(
        code="empty_list",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} is {value}, and this tool works on at least one number.",
        actionable=("Collect the numbers from the request or from results, and give them as one list.",),
        or_ask=True,
    ),
    HintRule(
        code="unsupported_unit",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value}, given as {argument}, is not a unit of this tool. It converts lengths between metric units, "
        "each by its symbol: {supported}.",
        actionable=(
            "Give the symbol of the unit; other quantities and units are converted with `imperial_si_conversion`.",
            "Give the symbol of the unit.",
        ),
    ),
    HintRule(
        code="unsupported_conversion",
        category="format_mismatch",
        augmentation="correct_format",
        error="There is no conversion from {unit_in} to {value}. This tool converts between a metric unit and its "
        "imperial counterpart, both written as in its documentation.",
        actionable=(
            "Correct the names of the units, or go by way of a unit that has a counterpart; between metric units "
            "convert with `si_unit_conversion`.",
            "Correct the names of the units, or go by way of a unit that has a counterpart.",
        ),
    ),
    HintRule(
        code="overflow",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is so large that the result cannot be represented.",
        actionable=("Check the number and its unit.",),
    ),
    HintRule(
        code="too_large",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} asks for more work than this tool does: {limit} is the most that it takes on.",
        actionable=("Give a smaller {argument}; fewer digits are nearly always enough.",),
    ),
)
