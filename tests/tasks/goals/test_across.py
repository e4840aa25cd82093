from itertools import combinations

import pytest

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.tasks.goals import goals_of

from .planned import plans, told_before

JOINING = {name: goal for name, goal in goals_of(BUILTIN_DOMAINS).items() if len(goal.domains) > 1}
PAIRS = sorted({goal.domains for goal in JOINING.values()})


@pytest.fixture(scope="module")
def some_plans():
    return {pair: plans(pair, 45) + plans(pair[::-1], 45) for pair in PAIRS}


def steps_of(plan):
    return [step for turn in plan.turns for step in turn]


def test_goals_join_two_domains_each_of_which_is_joined_with_several():
    assert len(JOINING) >= 10
    for domain in BUILTIN_DOMAINS:
        assert sum(domain in pair for pair in PAIRS) >= 3
    assert set(PAIRS) <= set(combinations(sorted(BUILTIN_DOMAINS), 2))


def test_a_single_domain_is_offered_its_own_goals_alone():
    for domain in BUILTIN_DOMAINS:
        assert not JOINING.keys() & goals_of((domain,)).keys()


def test_every_goal_occurs_between_its_domains(some_plans):
    for name, goal in JOINING.items():
        found = [step for plan in some_plans[goal.domains] for step in steps_of(plan) if step.goal == name]
        assert found, name
        tools = {tool for domain in goal.domains for tool in domain_class(domain).tools}
        assert {call.name for step in found for call in step.calls} <= tools


@pytest.mark.parametrize(
    ("goal", "argument"),
    [
        ("send_a_booking", "message"),
        ("send_an_order", "message"),
        ("send_a_line", "message"),
        ("send_a_product", "message"),
        ("keep_a_booking", "content"),
        ("keep_an_order", "content"),
        ("keep_a_quotient", "content"),
        ("ticket_about_a_booking", "description"),
        ("tweet_a_line", "content"),
        ("tweet_a_figure", "content"),
        ("withdraw_the_fare", "amount"),
        ("card_after_a_price", "a"),
    ],
)
def test_what_goes_in_has_come_out_of_a_result(some_plans, goal, argument):
    """And the request does not say it, save for amounts that happen to look like something in it."""
    found = [
        (step, value)
        for plan in some_plans[JOINING[goal].domains]
        for step, name, value in told_before(plan)
        if step.goal == goal and name == argument
    ]
    assert found
    for step, value in found:
        assert str(value) in step.shown, (step.request, value)
    assert sum(str(value) in step.request for step, value in found) < len(found) / 2


def test_a_conversion_asks_the_car_for_the_converted_miles(some_plans):
    found = [
        step
        for plan in some_plans["MathAPI", "VehicleControlAPI"]
        for step in steps_of(plan)
        if step.goal == "reach_in_miles"
    ]
    assert found
    for step in found:
        convert, ask = step.calls
        assert convert.name == "imperial_si_conversion"
        assert str(ask.kwargs["distance"]) in step.results[0]
        assert 0.6 < ask.kwargs["distance"] / convert.kwargs["value"] < 0.65
