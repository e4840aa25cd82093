"""Hints for TwitterAPI."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

_NO_REPEAT = ("Do not repeat the call; go on with what was asked.",)

RULES = (
    HintRule(
        code="not_authenticated",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="Nobody is logged in to the account, and this tool works for an account that is.",
        actionable=(
            "Log in first with `authenticate_twitter`, by the name and password that the user has given; then make the "
            "call again.",
            "Log in first; then make the call again.",
        ),
    ),
    HintRule(
        code="wrong_credentials",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The login did not work: {argument} is not that of the account.",
        actionable=("Use the password that the user gave, letter for letter.",),
        when={"argument": "password"},
        or_ask=True,
    ),
    HintRule(
        code="wrong_credentials",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The login did not work: {value} is not the name of the account.",
        actionable=("Use the name that the user gave, letter for letter and without an @ before it.",),
        or_ask=True,
    ),
    HintRule(
        code="tweet_not_found",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="There is no tweet {value}, given as {argument}. The id of a tweet is the number that posting "
        "and reading return.",
        actionable=(
            "Look for the tweet with `get_user_tweets` or `search_tweets`.",
            "Look for the tweet with `search_tweets`.",
            "Use the id that posting or reading the tweet returned.",
        ),
        or_ask=True,
    ),
    HintRule(
        code="name_written_otherwise",
        category="format_mismatch",
        augmentation="correct_format",
        error="Nothing was found for {value}, but there is a user whose name is written almost like that. Names are "
        "matched letter for letter, upper and lower case differ, and an @ is no part of a name.",
        actionable=("Write the name as a message or a result has it, without an @ before it.",),
    ),
    HintRule(
        code="already_retweeted",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The account has reposted the tweet {value} already; nothing has changed.",
        actionable=_NO_REPEAT,
    ),
    HintRule(
        code="already_following",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The account follows {value} already; nothing has changed.",
        actionable=_NO_REPEAT,
    ),
    HintRule(
        code="not_following",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The account does not follow {value}, so that nothing has changed. Names are matched letter for letter.",
        actionable=(
            "See how the followed users are named with `list_all_following`.",
            "Check the spelling of the name, upper and lower case included.",
        ),
    ),
)
