"""Hints for MessageAPI."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

_IDS = ("Look up the id of the user with `get_user_id`.", "Use the id of the user, not the name.")

RULES = (
    HintRule(
        code="not_logged_in",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="Nobody is logged in to the messaging application, and this tool works for a user who is.",
        actionable=(
            "Log in first with `message_login`, by the id of the user for whom you act; then make the call again.",
            "Log in first as the user for whom you act; then make the call again.",
        ),
    ),
    HintRule(
        code="unknown_user",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The workspace has no user named {value}. Names are matched letter for letter.",
        actionable=(
            "See how the users are named with `list_users`; somebody who is not there is added with `add_contact`.",
            "See how the users are named with `list_users`.",
            "Check the spelling against the request, upper and lower case included.",
        ),
        or_ask=True,
    ),
    HintRule(
        code="unknown_user_id",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value}, given as {argument}, is the name of a user. Users are addressed by their ids.",
        actionable=_IDS,
        when={"same_as_name": True},
    ),
    HintRule(
        code="unknown_user_id",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="{value}, given as {argument}, is the id of nobody in the workspace. Ids are matched letter for letter.",
        actionable=_IDS,
        or_ask=True,
    ),
    HintRule(
        code="no_message_to_receiver",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value}, given as {argument}, is the name of a user. Users are addressed by their ids.",
        actionable=_IDS,
        when={"same_as_name": True},
    ),
    HintRule(
        code="no_message_to_receiver",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="The user {value} exists, but there is no message to that user that could be deleted.",
        actionable=(
            "See which messages there are, and to whom, with `view_messages_sent`.",
            "Check whose message is meant.",
        ),
        when={"known_user": True},
    ),
    HintRule(
        code="no_message_to_receiver",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="{value}, given as {argument}, is the id of nobody in the workspace. Ids are matched letter for letter.",
        actionable=_IDS,
        or_ask=True,
    ),
    HintRule(
        code="keyword_is_user",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="No message has {value} in its text. That is a user, and the search looks into the texts alone, not at "
        "whom a message went to.",
        actionable=(
            "If the messages to that user are meant, `view_messages_sent` lists all messages by receiver's id.",
            "If the messages to that user are meant, a search by text does not find them.",
        ),
    ),
    HintRule(
        code="user_exists",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The workspace has a user named {value} already, and names are unique.",
        actionable=(
            "Go on with that user; the id is found with `get_user_id`.",
            "Go on with that user, or choose another name.",
        ),
    ),
    HintRule(
        code="user_id_exists",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="{value} cannot be added: the id that the workspace would give, {user_id}, is in use.",
        actionable=("Calling again takes the next id.",),
    ),
    HintRule(
        code="ids_exhausted",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="The workspace has no id left for another message, so that nothing was sent.",
        actionable=("This cannot be repaired from here; tell the user.",),
    ),
)
