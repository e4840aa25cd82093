import copy

import pytest

from envtune_gym.domains.travel_api import TravelAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

from .travel import BOOK, CARD, CONFIG, FILLER, FLIGHT, INSURANCE, NEW_CARD, TRAVELER, travel


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


def test_the_listed_airports_are_the_callers_own():
    airports = travel().list_all_airports()
    assert (len(airports), airports[0], airports[-1]) == (23, "RMS", "BOS")
    airports.clear()
    assert len(travel().list_all_airports()) == 23


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
