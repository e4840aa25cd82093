"""Examples for the generator: rules of this package, with the need that each of them answers.

A domain shows its own, and those of other domains where it has too few. The rule of the very cause that is asked
about is never among them, or the model would copy it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from envtune_gym.feedback.book import GENERAL, default_book
from envtune_gym.feedback.proposing.bookfile import Cause
from envtune_gym.feedback.rules import HintRule

__all__ = ["NEEDS", "examples_for"]

_SHOWN = 4

NEEDS: dict[str, dict[str, str]] = {
    "GorillaFileSystem": {
        "no_such_file": "To see that a name counts in the present directory alone, and where the file really is.",
        "path_not_allowed": "To know that this tool takes one name, so that paths are walked step by step.",
        "already_at_root": "To know where one is before trying to go up.",
        "file_exists": "To know that nothing is overwritten here.",
        "directory_not_empty": "To know that a directory is removed by another tool once it holds something.",
    },
    "MathAPI": {
        "division_by_zero": "To see which of the two numbers may not be zero.",
        "empty_list": "To know that the numbers have to be gathered first.",
        "not_a_number": "To know that numbers go in bare, not as text.",
        "unsupported_unit": "To know which units there are, and how they are written.",
        "negative_number": "To know for which numbers the operation exists.",
    },
    "MessageAPI": {
        "not_logged_in": "To know that messages belong to a user who is logged in.",
        "unknown_user_id": "To tell the id of a user from the name.",
        "unknown_user": "To know that names have to be those of the workspace.",
        "user_exists": "To know that a name is given once.",
        "no_message_to_receiver": "To see that only a message that was sent can be deleted.",
    },
    "TicketAPI": {
        "not_authenticated": "To know that tickets belong to a user who is logged in.",
        "ticket_not_found": "To know where the ids of tickets come from.",
        "invalid_priority": "To know the limits of a priority.",
        "already_closed": "To see that the ticket has reached that state already.",
        "unknown_fields": "To know which fields of a ticket can be changed.",
    },
    "TradingBot": {
        "not_authenticated": "To know that an account is used by someone who is logged in.",
        "order_not_found": "To know where the ids of orders come from.",
        "insufficient_funds": "To compare the cost with the balance first.",
        "not_positive": "To know the limits of an amount.",
        "stock_not_found": "To tell the symbol of a stock from the name of its company.",
    },
    "TravelAPI": {
        "not_authenticated": "To know that a booking belongs to a traveller who is logged in.",
        "card_not_found": "To tell the id of a card from its number.",
        "unknown_airport": "To know how airports are named, and where the codes are found.",
        "invalid_date": "To know how dates are written.",
        "insufficient_funds": "To compare the cost with the balance first.",
    },
    "TwitterAPI": {
        "not_authenticated": "To know that posting needs someone who is logged in.",
        "tweet_not_found": "To know where the ids of posts come from.",
        "not_following": "To see that one can only leave whom one follows.",
        "already_following": "To see that the wish is fulfilled already.",
        "wrong_credentials": "To know that name and password have to be those of the account.",
    },
    "VehicleControlAPI": {
        "doors_unlocked": "To know which safety steps come before the engine.",
        "brake_not_pressed": "To know which safety steps come before the engine.",
        "engine_not_running": "To know that this needs a running engine.",
        "tank_overflow": "To compare the amount with what still fits.",
        "invalid_pedal_position": "To know the range of a position.",
    },
}
"""What the agent needs to learn, for some error codes of each domain."""

_OTHERS = (("TravelAPI", "not_authenticated"), ("GorillaFileSystem", "no_such_file"), ("TravelAPI", "invalid_date"))


def examples_for(cause: Cause) -> list[str]:
    """Return examples for a cause, each a failure and the JSON of a good proposal for it."""
    own = [(cause.domain, code) for code in NEEDS.get(cause.domain, ())]
    chosen = [pair for pair in dict.fromkeys((*own, *_OTHERS)) if pair != (cause.domain, cause.code)]
    return list(islice(_written(chosen), _SHOWN))


def _written(pairs: list[tuple[str, str]]) -> Iterator[str]:
    rules = default_book().rules
    for domain, code in pairs:
        known = (*rules.get(domain, ()), *rules[GENERAL])
        rule = next((rule for rule in known if rule.code == code and rule.actionable), None)
        if rule is not None:
            yield f"{domain}, error {code}:\n{_as_json(rule, NEEDS[domain][code])}"


def _as_json(rule: HintRule, need: str) -> str:
    proposal = {
        "need": need,
        "category": rule.category,
        "augmentation": rule.augmentation,
        "error": rule.error,
        "actionable": list(rule.actionable),
    }
    return json.dumps(proposal, ensure_ascii=False)
