import pytest

from envtune_gym.domains import domain_class
from envtune_gym.domains._travel_tables import AIRPORT_OF_CITY, AIRPORTS
from envtune_gym.tasks.goals import goals_of
from envtune_gym.tasks.goals.travel_notes import fare

from .planned import plans, steps_of, told_before

DOMAIN = "TravelAPI"


@pytest.fixture(scope="module")
def some_plans():
    return plans(DOMAIN, 250)


def test_every_tool_and_every_goal_occurs(some_plans):
    steps = [step for plan in some_plans for step in steps_of(plan)]
    assert {call.name for step in steps for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_ids_of_cards_and_bookings_come_from_results(some_plans):
    seen = 0
    for plan in some_plans:
        said = " ".join(step.request for step in steps_of(plan))
        for step, name, value in told_before(plan):
            if name in ("card_id", "booking_id"):
                seen += 1
                assert value in step.shown, step.request
                assert value not in said
    assert seen > 250


def test_airports_come_from_look_ups_though_the_user_speaks_of_cities(some_plans):
    seen = 0
    for plan in some_plans:
        for step, name, value in told_before(plan):
            if name in ("travel_from", "travel_to"):
                seen += 1
                assert f'"nearest_airport": "{value}"' in step.shown, step.request
        for step in steps_of(plan):
            assert not set(AIRPORTS) & set(step.request.replace(".", " ").replace(",", " ").split()), step.request
    assert seen > 200


def test_the_access_token_is_said_once_or_issued(some_plans):
    issued = 0
    for plan in some_plans:
        told = [(step, value) for step, name, value in told_before(plan) if name == "access_token"]
        by_login = plan.config[DOMAIN]["access_token"] is None
        issued += by_login
        for step, token in told:
            assert (token in step.shown) or not by_login
        if told and not by_login:
            token = told[0][1]
            assert sum(token in step.request for step in steps_of(plan)) == 1
    assert len(some_plans) / 8 < issued < len(some_plans) / 2


def test_a_card_is_looked_up_once_when_only_its_last_digits_are_said(some_plans):
    looked_up = 0
    for plan in some_plans:
        listed = [step for step in steps_of(plan) for call in step.calls if call.name == "get_all_credit_cards"]
        looked_up += len(listed)
        assert len(listed) < 2
        assert all("my card ending in" in step.request for step in listed)
    assert looked_up > 40


def test_nothing_is_booked_beyond_the_budget(some_plans):
    bought = 0
    for plan in some_plans:
        budget = plan.config[DOMAIN]["budget_limit"]
        for step in steps_of(plan):
            for call in step.calls:
                if call.name == "set_budget_limit":
                    budget = call.kwargs["budget_limit"]
                if call.name == "purchase_insurance" and budget is not None:
                    assert call.kwargs["insurance_cost"] <= budget
                bought += call.name == "book_flight"
    assert bought > 50


def test_bookings_of_the_scenario_cost_what_such_a_flight_costs(some_plans):
    city_of = {airport: city for city, airport in AIRPORT_OF_CITY.items()}
    for plan in some_plans:
        bookings = plan.config[DOMAIN]["booking_record"].values()
        assert len({booking["travel_date"] for booking in bookings}) == len(bookings) > 1
        for booking in bookings:
            ends = (city_of[booking[end]] for end in ("travel_from", "travel_to"))
            assert booking["travel_cost"] == fare(*ends, booking["travel_date"], booking["travel_class"])
            assert booking["card_id"] in plan.config[DOMAIN]["credit_card_list"]
