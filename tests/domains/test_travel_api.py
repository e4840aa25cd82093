import copy

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.travel_api import TravelAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

CARD = {"card_number": "4111", "cardholder_name": "Ann Lee", "balance": 5000.0}
BOOKING = {
    "card_id": "visa",
    "travel_date": "2024-05-01",
    "travel_from": "SFO",
    "travel_to": "LAX",
    "travel_class": "economy",
    "travel_cost": 400.0,
    "transaction_id": "77",
}
CONFIG = {
    "random_seed": 7,
    "credit_card_list": {"visa": CARD, "poor": {**CARD, "balance": 50.0}, "blank": {}},
    "booking_record": {
        "b1": BOOKING,
        "old": {"flight_number": "X1", "cost": 3.0},
        "lost": {**BOOKING, "card_id": "gone"},
    },
    "access_token": "tok",
    "token_type": "Bearer",
    "token_expires_in": 2,
    "token_scope": "read_write",
    "user_first_name": "Ann",
    "user_last_name": "Lee",
    "budget_limit": 100.0,
}
FILLER = {
    "CREDIT_CARD_EXTENSION": {"visa": {"balance": 1.0}, "extra": {"balance": 900.0}},
    "BOOKING_RECORD_EXTENSION": {"b9": {**BOOKING, "card_id": "extra"}},
}
FLIGHT = {"travel_date": "2024-05-01", "travel_from": "SFO", "travel_to": "LAX", "travel_class": "economy"}
TRAVELER = {
    "first_name": "Ann",
    "last_name": "Lee",
    "date_of_birth": "1990-01-01",
    "passport_number": "US1",
}
INSURANCE = {
    "access_token": "tok",
    "insurance_type": "basic",
    "booking_id": "b1",
    "insurance_cost": 60,
    "card_id": "visa",
}
NEW_CARD = {
    "access_token": "tok",
    "card_number": "42",
    "expiration_date": "01/2030",
    "cardholder_name": "Ann Lee",
    "card_verification_number": 123,
}


def travel(filler=None, **changes):
    return TravelAPI({**CONFIG, **changes}, filler)


def failure(domain, name, /, **arguments):
    with pytest.raises(ToolFailure) as caught:
        domain.tools[name].function(domain, **arguments)
    return caught.value


def test_there_are_18_tools_and_optional_arguments_have_no_default_in_the_schema():
    assert len(TravelAPI.tools) == 18
    parameters = TravelAPI.tools["retrieve_invoice"].schema["function"]["parameters"]
    assert parameters["required"] == ["access_token"]
    assert [(name, p["type"], "default" in p) for name, p in parameters["properties"].items()] == [
        ("access_token", "string", False),
        ("booking_id", "string", False),
        ("insurance_id", "string", False),
    ]
    assert (
        TravelAPI.tools["set_budget_limit"].schema["function"]["parameters"]["properties"]["budget_limit"]["type"]
        == "number"
    )


def test_an_empty_configuration_has_the_official_defaults():
    assert TravelAPI({}).state() == {
        "credit_card_list": {},
        "booking_record": {},
        "access_token": None,
        "token_type": None,
        "token_expires_in": None,
        "token_scope": None,
        "user_first_name": None,
        "user_last_name": None,
        "budget_limit": None,
        "long_context": False,
    }


def test_a_login_issues_the_token_that_the_seed_gives():
    domain = TravelAPI({})
    assert domain.travel_get_login_status() == {"status": False}
    result = domain.authenticate_travel("id", "secret", "refresh", "read", "Ann", "Lee")
    assert result == {"expires_in": 2, "access_token": "251675", "token_type": "Bearer", "scope": "read"}
    assert domain.travel_get_login_status() == {"status": True}
    assert (domain.access_token, domain.user_first_name, domain.user_last_name) == ("251675", "Ann", "Lee")


@pytest.mark.parametrize(
    ("route", "day", "travel_class", "cost"),
    [
        (("SFO", "LAX"), "2024-05-01", "economy", 400.0),  # digits add up to 14, which doubles the fare
        (("SFO", "LAX"), "2024-05-02", "economy", 200.0),
        (("LAX", "SFO"), "2024-05-02", "business", 200.0),
        (("OKD", "LAX"), "2024-05-01", "first", 2200.0),
        (("JFK", "PVG"), "no digits", "economy", 1900.0),
    ],
)
def test_a_fare_depends_on_route_class_and_the_digits_of_the_day(route, day, travel_class, cost):
    assert travel().get_flight_cost(*route, day, travel_class) == {"travel_cost_list": [cost]}


def test_with_long_context_every_fare_is_listed():
    costs = travel(FILLER).get_flight_cost("LHR", "CDG", "2024-05-02", "business")["travel_cost_list"]
    assert (len(costs), costs[0], costs[-2:]) == (153, 400.0, [200.0, 440.0])


def test_booking_charges_the_card_and_cancelling_refunds_it():
    domain = travel()
    result = domain.book_flight("tok", "visa", **FLIGHT)
    booking_id, transaction_id = result["booking_id"], result["transaction_id"]
    assert (len(booking_id), len(transaction_id)) == (7, 8)
    assert (result["booking_status"], result["booking_history"]) == (True, {})
    assert domain.credit_card_list["visa"] == {**CARD, "balance": 4600.0}
    invoice = domain.retrieve_invoice("tok", booking_id)["invoice"]
    assert invoice == {"booking_id": booking_id, **FLIGHT, "travel_cost": 400.0, "transaction_id": transaction_id}
    assert list(domain.get_booking_history("tok")["booking_history"]) == ["b1", "old", "lost", booking_id]

    assert domain.cancel_booking("tok", booking_id) == {"cancel_status": True}
    assert domain.same_state(travel())


def test_insurance_is_charged_to_the_card():
    domain = travel()
    result = domain.purchase_insurance(**INSURANCE)
    assert result["insurance_status"] is True
    assert len(result["insurance_id"]) == 9
    assert domain.get_credit_card_balance("tok", "visa") == {"card_balance": 4940.0}


def test_a_new_card_gets_an_id_and_a_balance_drawn_in_that_order():
    domain = travel()
    card_id = domain.register_credit_card(**NEW_CARD)["card_id"]
    assert card_id == "534439589175"
    assert domain.credit_card_list[card_id]["balance"] == 95319


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


BOOK = {"access_token": "tok", "card_id": "visa", **FLIGHT}
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


def test_one_is_of_age_on_the_eighteenth_birthday():
    traveler = {**TRAVELER, "date_of_birth": "2008-03-23"}
    assert travel().verify_traveler_information(**traveler) == {"verification_status": True}


@pytest.mark.parametrize(
    ("base", "target", "value", "result"),
    [
        ("USD", "EUR", 3, 2.4000000000000004),
        ("EUR", "USD", 1, 1.25),
        ("JPY", "USD", 1000, 9.09),
        ("USD", "RMB", "1", 1111111.0),
    ],
)
def test_money_is_converted_by_way_of_dollars_and_rounded_only_towards_them(base, target, value, result):
    assert travel().compute_exchange_rate(base, target, value) == {"exchanged_value": result}


def test_a_long_text_as_an_amount_does_not_grow_a_hundredfold():
    with pytest.raises(ValueError, match="could not convert string to float") as caught:
        travel().compute_exchange_rate("USD", "JPY", "x" * 65_536)
    assert len(str(caught.value)) < 200_000


def test_an_unknown_city_is_a_silent_mistake():
    error = failure(travel(), "get_nearest_airport_by_city", location="Atlantis")
    assert (error.silent, error.official, error.code) == (True, {"nearest_airport": "Unknown"}, "unknown_city")
    assert travel().get_nearest_airport_by_city("Tokyo") == {"nearest_airport": "HND"}


def test_the_listed_airports_are_the_callers_own():
    airports = travel().list_all_airports()
    assert (len(airports), airports[0], airports[-1]) == (23, "RMS", "BOS")
    airports.clear()
    assert len(travel().list_all_airports()) == 23


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


def test_long_context_adds_filler_without_overwriting_or_changing_it():
    filler, config = copy.deepcopy(FILLER), copy.deepcopy(CONFIG)
    domain = TravelAPI(config, filler)
    assert domain.long_context is True
    assert list(domain.credit_card_list) == ["visa", "poor", "blank", "extra"]
    assert domain.credit_card_list["visa"]["balance"] == 5000.0
    history = domain.book_flight("tok", "extra", **FLIGHT)["booking_history"]
    assert list(history)[:4] == ["b1", "old", "lost", "b9"]
    domain.cancel_booking("tok", "b9")
    domain.cancel_booking("tok", "b1")
    assert domain.credit_card_list["extra"]["balance"] == 900.0
    assert (filler, config) == (FILLER, CONFIG)


def test_a_fork_goes_its_own_way_with_the_same_random_numbers():
    domain = travel()
    domain.register_credit_card(**NEW_CARD)
    fork = domain.fork()
    assert fork.same_state(domain)
    first = fork.book_flight(**BOOK)
    assert not fork.same_state(domain)
    assert domain.credit_card_list["visa"]["balance"] == 5000.0
    assert list(domain.booking_record) == ["b1", "old", "lost"]
    assert domain.book_flight(**BOOK) == first
    assert fork.same_state(domain)


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "TravelAPI"
    configs = (CONFIG, {})
