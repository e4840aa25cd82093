"""Hints for TicketAPI."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

RULES = (
    HintRule(
        code="not_authenticated",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="Nobody is logged in to the ticket system, and this tool works for a user who is.",
        actionable=(
            "Log in first with `ticket_login`, by the name and password that the user has given; then make the call "
            "again.",
            "Log in first; then make the call again.",
        ),
    ),
    HintRule(
        code="not_logged_in",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="Nobody was logged in to the ticket system, so that there was nobody to log out.",
        actionable=("Go on with what was asked.",),
    ),
    HintRule(
        code="empty_credentials",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The login did not work: {argument} is empty.",
        actionable=("Give the name and the password that the user has given.",),
        or_ask=True,
    ),
    HintRule(
        code="ticket_not_found",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="There is no ticket {value}, given as {argument}. The id of a ticket is the number that creating it "
        "returned.",
        actionable=(
            "See the ids of the user's tickets with `get_user_tickets`.",
            "Use the id that creating or listing tickets returned.",
        ),
        or_ask=True,
    ),
    HintRule(
        code="invalid_priority",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a priority. The priority is a whole number between 1 (lowest) and 5 (highest).",
        actionable=("Give the number for the urgency that was asked for.",),
    ),
    HintRule(
        code="already_closed",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The ticket {value} is closed already; nothing has changed.",
        actionable=("Check that it is the right ticket with `get_ticket`.", "Check that it is the right ticket."),
    ),
    HintRule(
        code="already_resolved",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The ticket {value} is resolved already, and its resolution stays as it is.",
        actionable=("Check that it is the right ticket with `get_ticket`.", "Check that it is the right ticket."),
    ),
    HintRule(
        code="unknown_fields",
        category="parameter_constraint",
        augmentation="correct_format",
        error="{argument} has keys that no field of a ticket is named by: {unknown}. Editable are {editable}.",
        actionable=("Give only those fields that change, by these names.",),
    ),
    HintRule(
        code="unknown_status",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="Nothing was found, for no ticket at all has the status {value}. A status is one of those that tickets "
        "show, whatever its case.",
        actionable=("Leave out {argument} to see all tickets of the user, each with its status.",),
    ),
    HintRule(
        code="no_updates",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} is {value}: it has no new value, so that nothing has changed.",
        actionable=("Give each field that changes with its new value.",),
        or_ask=True,
    ),
)
