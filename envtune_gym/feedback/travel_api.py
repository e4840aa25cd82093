"""Hints for TravelAPI."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

_LOG_IN = (
    "Log the traveller in with `authenticate_travel`, if you have been given the credentials, and use the token that "
    "it returns.",
    "Ask the user for what is needed to log in.",
)
_CARD = (
    "Look up the ids of the registered cards with `get_all_credit_cards`; a card that is not there is not registered.",
    "Use the id that registering the card returned.",
)
_BOOKING = (
    "Look up the bookings with `get_booking_history`; a flight that is not there is not booked.",
    "Use the id that booking the flight returned.",
)
_AIRPORT = (
    "Find the airport of a city with `get_nearest_airport_by_city`, or see all airports with `list_all_airports`.",
    "See all airports with `list_all_airports`.",
    "Give the code of an airport, not the name of a city.",
)

RULES = (
    HintRule(
        code="not_authenticated",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="Nobody is logged in, and this tool works for a traveller who is.",
        actionable=_LOG_IN,
    ),
    HintRule(
        code="token_expired",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="The access token has expired, and an expired token opens nothing.",
        actionable=_LOG_IN,
    ),
    HintRule(
        code="invalid_token",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="{value} is not the access token in force. Only the token issued last is valid, letter for letter.",
        actionable=("Use the token that was issued last, or the one that the user gave you.",),
    ),
    HintRule(
        code="card_already_registered",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="A card with the number {value} is registered already, and a card is registered once.",
        actionable=(
            "Look up its id with `get_all_credit_cards` and use that.",
            "Use the id under which it is registered.",
        ),
    ),
    HintRule(
        code="card_not_found",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="No card is registered under the id {value}, for none is registered at all.",
        actionable=(
            "If the user has given a card, register it first with `register_credit_card`; its result has the id.",
            "If the user has given a card, register it first; its result has the id.",
        ),
        when={"known": []},
        or_ask=True,
    ),
    HintRule(
        code="card_not_found",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="No card is registered under the id {value}. The id of a card is given when it is registered; it is "
        "not the number of the card.",
        actionable=_CARD,
    ),
    HintRule(
        code="balance_missing",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="The card {value} has no balance on record, so that nothing can be paid with it.",
        actionable=(
            "Look for another registered card with `get_all_credit_cards`, or tell the user.",
            "Pay with another card, or tell the user.",
        ),
    ),
    HintRule(
        code="insufficient_funds",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The flight costs more than the balance of the card {value}.",
        actionable=(
            "Compare the price from `get_flight_cost` with the balance from `get_credit_card_balance`; then take "
            "another card, class or day if the user leaves that open, or tell the user.",
            "Take another card, class or day if the user leaves that open, or tell the user.",
        ),
    ),
    HintRule(
        code="balance_below_budget",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="The balance of the card {value} is below the budget limit. A card pays only while its balance is not "
        "below that limit.",
        actionable=(
            "Where the user has asked for another limit, set it first with `set_budget_limit`; otherwise compare the "
            "cards with `get_all_credit_cards`, and pay with another one.",
            "Check the balance with `get_credit_card_balance`, and pay with another card.",
            "Pay with another card, or tell the user.",
        ),
    ),
    HintRule(
        code="budget_exceeded",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="A cost of {value} is above the budget limit in force.",
        actionable=(
            "Hold the cost against the request. Where the user has asked for another limit, set it first with "
            "`set_budget_limit`.",
            "Tell the user that the budget limit stands in the way.",
        ),
    ),
    HintRule(
        code="booking_not_found",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="There is no booking {value}, for no flight is booked.",
        actionable=(
            "If a flight was to be booked, do that first with `book_flight`; its result has the id.",
            "If a flight was to be booked, do that first; its result has the id.",
        ),
        when={"known": []},
    ),
    HintRule(
        code="booking_not_found",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="There is no booking {value}. The id of a booking is given when the flight is booked; it is neither the "
        "id of the transaction nor that of an insurance.",
        actionable=_BOOKING,
    ),
    HintRule(
        code="incomplete_booking",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="The booking {value} exists, but its record lacks what this tool needs: {missing}.",
        actionable=("This cannot be repaired from here; tell the user.",),
    ),
    HintRule(
        code="refund_card_missing",
        category="resource_unavailable",
        augmentation="explain_dependency",
        error="The card that paid for the booking {value} is not registered, so that its price cannot be refunded. "
        "Nothing was cancelled.",
        actionable=("This cannot be repaired from here; tell the user.",),
    ),
    HintRule(
        code="unknown_airport",
        category="parameter_constraint",
        augmentation="correct_format",
        error="{value}, given as {argument}, is not the code of an airport. Airports are named by three "
        "capital letters.",
        actionable=_AIRPORT,
    ),
    HintRule(
        code="no_route",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="Both airports exist, but no direct flight goes from {travel_from} to {value}.",
        actionable=(
            "Check both codes with `get_nearest_airport_by_city`, and that departure and arrival are not exchanged.",
            "Check that both codes are right, and that departure and arrival are not exchanged.",
        ),
    ),
    HintRule(
        code="invalid_travel_class",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a travel class. The classes are {known}, written like that.",
        actionable=("Choose the class that was asked for.",),
    ),
    HintRule(
        code="invalid_date",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value}, given as {argument}, is not a date of the calendar written YYYY-MM-DD.",
        actionable=("Write year, month and day with four, two and two digits, and hyphens between them.",),
    ),
    HintRule(
        code="no_exchange_rate",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="There is no rate from {base_currency} to {value}. One side of an exchange must be US dollars, "
        "the other one of the documented currencies, each by its code in capital letters.",
        actionable=("Between two other currencies, convert to US dollars first, and then from US dollars.",),
    ),
    HintRule(
        code="unknown_city",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a city that this tool knows, so that no airport was found. Cities are matched letter "
        "for letter.",
        actionable=(
            "Give the bare name of the city as documented, without state or country, or see `list_all_airports`.",
            "Give the bare name of the city as documented, without state or country.",
        ),
    ),
    HintRule(
        code="another_traveler",
        category="parameter_constraint",
        augmentation="explain_dependency",
        error="{value}, given as {argument}, is not the name of the traveller who is logged in, and only that "
        "traveller can be verified.",
        actionable=("Check the spelling of first and last name, and which is which.",),
    ),
    HintRule(
        code="traveler_too_young",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="A traveller born on {value} is not of age.",
        actionable=("Check the date of birth against what the user said; if it is right, tell the user.",),
    ),
    HintRule(
        code="foreign_passport",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not the number of a passport of the United States; such a number begins with the country's "
        "two letters.",
        actionable=("Check the number against what the user said; if it is right, tell the user.",),
    ),
)
