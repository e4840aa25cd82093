import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.travel_api import TravelAPI

from .travel import BOOK, FLIGHT, INSURANCE, NEW_CARD, TRAVELER, travel


def failure(domain, name, /, **arguments):
    with pytest.raises(ToolFailure) as caught:
        domain.tools[name].function(domain, **arguments)
    return caught.value


TOKEN_FAILURES = [
    ("register_credit_card", NEW_CARD, {}),
    ("get_credit_card_balance", {"card_id": "visa"}, {}),
    ("book_flight", {"card_id": "visa", **FLIGHT}, {"booking_status": False}),
    ("retrieve_invoice", {"booking_id": "b1"}, {}),
    ("get_booking_history", {}, {}),
    ("cancel_booking", {"booking_id": "b1"}, {"cancel_status": False}),
    ("set_budget_limit", {"budget_limit": 1}, {}),
    ("purchase_insurance", INSURANCE, {"insurance_status": False}),
]


@pytest.mark.parametrize(("name", "arguments", "flag"), TOKEN_FAILURES)
@pytest.mark.parametrize(
    ("state", "token", "text", "code", "argument"),
    [
        ({"token_expires_in": 0}, "tok", "Token expired", "token_expired", None),
        ({}, "bad", "Invalid access token", "invalid_token", "access_token"),
        ({"access_token": None}, "bad", "Invalid access token", "not_authenticated", None),
    ],
)
def test_secured_tools_say_what_is_wrong_with_the_token(name, arguments, flag, state, token, text, code, argument):
    domain = travel(**state)
    error = failure(domain, name, **{**arguments, "access_token": token})
    assert error.official == {**flag, "error": text}
    assert (error.code, error.argument) == (code, argument)
    assert domain.same_state(travel(**state))


def test_registering_a_card_before_any_login_says_so():
    error = failure(TravelAPI({}), "register_credit_card", **NEW_CARD)
    assert (error.code, error.official) == ("not_authenticated", {"error": "Token not initialized"})


KNOWN_CARDS = "['visa', 'poor', 'blank']"


@pytest.mark.parametrize(
    ("name", "arguments", "official", "code", "argument"),
    [
        (
            "get_credit_card_balance",
            {"access_token": "tok", "card_id": "x"},
            {"error": f"Card not registered. Here are a list of card_id's: {KNOWN_CARDS}"},
            "card_not_found",
            "card_id",
        ),
        (
            "register_credit_card",
            {**NEW_CARD, "card_number": "visa"},
            {"error": "Card already registered"},
            "card_already_registered",
            "card_number",
        ),
        ("book_flight", {**BOOK, "card_id": "x"}, "Card not registered", "card_not_found", "card_id"),
        ("book_flight", {**BOOK, "card_id": "blank"}, "Balance not found", "balance_missing", "card_id"),
        (
            "book_flight",
            {**BOOK, "travel_from": "PVG"},
            "Invalid departure airport code: PVG",
            "unknown_airport",
            "travel_from",
        ),
        (
            "book_flight",
            {**BOOK, "travel_to": ["LAX"]},
            "Invalid destination airport code: ['LAX']",
            "unknown_airport",
            "travel_to",
        ),
        (
            "book_flight",
            {**BOOK, "travel_date": "2024-02-30"},
            "Invalid date format. Use YYYY-MM-DD.",
            "invalid_date",
            "travel_date",
        ),
        (
            "book_flight",
            {**BOOK, "travel_class": "coach"},
            "Invalid travel class. Must be one of {'business', 'economy', 'first'}",
            "invalid_travel_class",
            "travel_class",
        ),
        (
            "book_flight",
            {**BOOK, "travel_from": "LAX", "travel_to": "CDG"},
            "No available route for the given airports.",
            "no_route",
            "travel_to",
        ),
        ("book_flight", {**BOOK, "card_id": "poor"}, "Insufficient funds", "insufficient_funds", "card_id"),
        (
            "retrieve_invoice",
            {"access_token": "tok", "insurance_id": "9"},
            {"error": "Booking not found"},
            "booking_not_found",
            "booking_id",
        ),
        (
            "cancel_booking",
            {"access_token": "tok", "booking_id": "x"},
            {"cancel_status": False, "error": "Booking not found"},
            "booking_not_found",
            "booking_id",
        ),
        (
            "contact_customer_support",
            {"booking_id": "x", "message": "hi"},
            {"error": "Booking not found"},
            "booking_not_found",
            "booking_id",
        ),
        (
            "purchase_insurance",
            {**INSURANCE, "insurance_cost": 101},
            {"insurance_status": False, "error": "Exceeded budget limit"},
            "budget_exceeded",
            "insurance_cost",
        ),
        (
            "purchase_insurance",
            {**INSURANCE, "card_id": "x"},
            {"insurance_status": False, "error": "Credit card not registered"},
            "card_not_found",
            "card_id",
        ),
    ],
)
def test_refusals_have_the_official_text_and_name_the_argument(name, arguments, official, code, argument):
    domain = travel()
    error = failure(domain, name, **arguments)
    if isinstance(official, str):
        official = {"booking_status": False, "error": official}
    assert error.official == official
    assert (error.code, error.argument, error.value) == (code, argument, arguments.get(argument))
    assert domain.same_state(travel())


def test_a_card_below_the_budget_limit_books_nothing():
    error = failure(travel(budget_limit=6000.0), "book_flight", **BOOK)
    assert error.official == {"booking_status": False, "error": "Balance is less than budget limit"}
    assert error.details == {"balance": 5000.0, "cost": 400.0, "budget_limit": 6000.0}


@pytest.mark.parametrize(
    ("name", "arguments", "text", "code"),
    [
        ("get_flight_cost", {**FLIGHT, "travel_to": "CDG"}, "No available route for the given airports.", "no_route"),
        (
            "get_flight_cost",
            {**FLIGHT, "travel_to": "Rome"},
            "No available route for the given airports.",
            "unknown_airport",
        ),
        (
            "get_flight_cost",
            {**FLIGHT, "travel_class": ["first"]},
            "Invalid travel class. Options are: economy, business, first.",
            "invalid_travel_class",
        ),
        (
            "compute_exchange_rate",
            {"base_currency": "EUR", "target_currency": "GBP", "value": 1},
            "No available exchange rate for the given currencies.",
            "no_exchange_rate",
        ),
        ("retrieve_invoice", {"access_token": "tok", "booking_id": "old"}, "'travel_date'", "incomplete_booking"),
        ("cancel_booking", {"access_token": "tok", "booking_id": "old"}, "'card_id'", "incomplete_booking"),
        ("cancel_booking", {"access_token": "tok", "booking_id": "lost"}, "'gone'", "refund_card_missing"),
    ],
)
def test_what_officially_is_an_exception_is_one_with_a_cause(name, arguments, text, code):
    error = failure(travel(), name, **arguments)
    assert isinstance(error.official, Exception)
    assert (str(error.official), error.code) == (text, code)


@pytest.mark.parametrize(
    ("changes", "reason", "code"),
    [
        ({"date_of_birth": "2008-03-24"}, "Traveler must be at least 18 years old.", "traveler_too_young"),
        ({"date_of_birth": "1/1/1990"}, "Invalid date of birth format. Please use YYYY-MM-DD.", "invalid_date"),
        ({"passport_number": "GB1"}, "Passport must be issued by the United States.", "foreign_passport"),
        (
            {"last_name": "Li"},
            "Cannot book flight information for another user.Expected Ann Lee, got Ann Li",
            "another_traveler",
        ),
    ],
)
def test_a_traveler_who_may_not_travel_gets_the_reason(changes, reason, code):
    error = failure(travel(), "verify_traveler_information", **{**TRAVELER, **changes})
    assert error.official == {"verification_status": False, "verification_failure": reason}
    assert (error.code, error.argument) == (code, next(iter(changes)))


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("book_flight", {**BOOK, "travel_date": 5}, r"strptime() argument 1 must be str, not int"),
        ("get_flight_cost", {**FLIGHT, "travel_date": 5}, "'int' object is not iterable"),
        ("get_flight_cost", {**FLIGHT, "travel_to": []}, "unhashable type: 'list'"),
        ("set_budget_limit", {"access_token": "tok", "budget_limit": "x"}, "could not convert string to float: 'x'"),
        (
            "purchase_insurance",
            {**INSURANCE, "insurance_cost": "5"},
            "'<' not supported between instances of 'float' and 'str'",
        ),
        (
            "verify_traveler_information",
            {**TRAVELER, "passport_number": 1},
            "'int' object has no attribute 'startswith'",
        ),
        (
            "cancel_booking",
            {"access_token": "tok"},
            "TravelAPI.cancel_booking() missing 1 required positional argument: 'booking_id'",
        ),
    ],
)
def test_ill_typed_arguments_get_pythons_own_words(name, arguments, text):
    domain = travel()
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        domain.tools[name].function(domain, **arguments)
    assert str(caught.value) == text


def test_a_subtraction_that_fails_is_worded_as_one_in_place():
    with pytest.raises(TypeError, match=r"for -=: 'float' and 'str'"):
        travel(budget_limit=None).purchase_insurance(**{**INSURANCE, "insurance_cost": "5"})


def test_an_unknown_city_is_a_silent_mistake():
    error = failure(travel(), "get_nearest_airport_by_city", location="Atlantis")
    assert (error.silent, error.official, error.code) == (True, {"nearest_airport": "Unknown"}, "unknown_city")
    assert travel().get_nearest_airport_by_city("Tokyo") == {"nearest_airport": "HND"}
