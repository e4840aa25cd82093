import itertools
import re
from functools import lru_cache

import pytest

from envtune_gym.domains import domain_class
from envtune_gym.tasks.generation.planner import plan_task
from envtune_gym.tasks.generation.shape import Shape
from envtune_gym.tasks.goals import Discarded, goals_of
from envtune_gym.world import World

DOMAIN = "VehicleControlAPI"
PLANS = 250


@lru_cache(maxsize=1)
def plans():
    """Return plans of the largest shape, those that are given up left out."""
    found = []
    for number in range(PLANS):
        try:
            found.append(plan_task((DOMAIN,), Shape(3, goals=2), f"car {number}", False, lambda key: True))
        except Discarded:
            continue
    assert len(found) > 0.95 * PLANS
    return found


def runs():
    """Yield each call with the step it belongs to, the world before it, its result and all that was said before."""
    for plan in plans():
        world = World(plan.domains, plan.config)
        said, shown = "", ""
        for step in (step for turn in plan.turns for step in turn):
            said += step.request
            for call in step.calls:
                before = world.fork()
                result = world.run(call)
                yield step, call, before, result, said, shown
                shown += result.content


def car(world):
    return world.state()[DOMAIN]


def test_every_tool_that_can_work_and_every_goal_occurs():
    steps = [step for plan in plans() for turn in plan.turns for step in turn]
    tools = {call.name for step in steps for call in step.calls}
    assert tools == set(domain_class(DOMAIN).tools) - {"get_outside_temperature_from_weather_com"}
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_the_engine_starts_at_once_and_only_when_it_does_not_run():
    starts = [(before, result) for _, call, before, result, *_ in runs() if call.name == "startEngine"]
    assert starts
    for before, result in starts:
        assert car(before)["engine_state"] == "stopped"
        assert car(before)["remainingUnlockedDoors"] == 0
        assert result.error is None


def test_cruise_control_is_for_a_car_that_moves():
    found = [before for _, call, before, *_ in runs() if call.name == "setCruiseControl"]
    assert found
    for before in found:
        assert car(before)["engine_state"] == "running"
        assert car(before)["parkingBrakeStatus"] == "released"


@pytest.mark.parametrize(
    ("tool", "argument"),
    [("estimate_distance", "cityB"), ("fillFuelTank", "fuelAmount"), ("gallon_to_liter", "gallon")],
)
def test_what_can_be_looked_up_comes_from_a_result(tool, argument):
    from_results = [
        str(call.kwargs[argument]) in shown and str(call.kwargs[argument]) not in said
        for _, call, _, _, said, shown in runs()
        if call.name == tool
    ]
    assert sum(from_results) > len(from_results) / 3


def test_an_address_that_was_found_is_used_later_without_being_said():
    shop = "456 Oakwood Avenue, Rivermist, 83214"
    used = [call.name for _, call, _, _, said, _ in runs() if shop in str(call.kwargs) and shop not in said]
    assert {"set_navigation", "display_log"} <= set(used)


def test_fuel_is_added_only_if_it_does_not_last():
    outcomes = set()
    for plan in plans():
        for step in (step for turn in plan.turns for step in turn if step.goal == "refuel_if_needed"):
            lasts = step.results[0] == '{"canDrive": true}'
            assert [call.name for call in step.calls[1:]] == ([] if lasts else ["fillFuelTank"])
            outcomes.add(lasts)
    assert outcomes == {True, False}


def test_a_shop_is_looked_for_only_if_the_tires_are_not_healthy():
    lengths = set()
    for plan in plans():
        for step in (step for turn in plan.turns for step in turn if step.goal == "see_to_the_tires"):
            healthy = '"healthy_tire_pressure": true' in step.results[0]
            assert len(step.calls) == (1 if healthy else 3)
            lengths.add(len(step.calls))
    assert lengths == {1, 3}


def test_no_reading_is_asked_for_twice():
    for plan in plans():
        shown = [
            call.source()
            for turn in plan.turns
            for step in turn
            for call in step.calls
            if call.name == "displayCarStatus"
        ]
        assert len(shown) == len(set(shown))


def test_no_number_is_shown_that_some_would_write_with_a_point_and_others_without():
    shown = [
        text
        for step, call, *_ in runs()
        if step.goal == "show_a_figure" and call.name == "display_log"
        for text in call.kwargs["messages"]
    ]
    assert len(shown) > 5
    assert not any(text.endswith(".0") for text in shown)


def test_there_is_where_the_distance_just_asked_for_ends():
    legs = 0
    for plan in plans():
        steps = [step for turn in plan.turns for step in turn]
        for before, step in itertools.pairwise(steps):
            if step.goal == "distance_of_the_next_leg" and re.search(r"\bthere\b", step.request):
                legs += 1
                assert before.calls[-1].name == "estimate_distance", (before.request, step.request)
                assert before.calls[-1].kwargs["cityB"] == step.calls[-1].kwargs["cityA"]
    assert legs > 5
