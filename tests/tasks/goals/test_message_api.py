import re
from collections import Counter
from itertools import pairwise

import pytest

from envtune_gym.domains import domain_class
from envtune_gym.tasks.goals import goals_of
from envtune_gym.tasks.goals.message_notes import TOPICS
from envtune_gym.world import World

from .planned import plans, told_before

DOMAIN = "MessageAPI"


@pytest.fixture(scope="module")
def some_plans():
    return plans(DOMAIN, 250)


def test_every_tool_and_every_goal_occurs(some_plans):
    steps = [step for plan in some_plans for turn in plan.turns for step in turn]
    assert {call.name for step in steps for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_no_id_is_said_by_the_user(some_plans):
    for plan in some_plans:
        said = " ".join(step.request + step.answer for turn in plan.turns for step in turn)
        assert not re.search(r"USR\d", said)


def test_receivers_come_from_results(some_plans):
    for plan in some_plans:
        for step, name, value in told_before(plan):
            if name in ("receiver_id", "user_id"):
                assert value in step.shown, (step.request, value)


def test_people_are_looked_up_once(some_plans):
    for plan in some_plans:
        looked_up = Counter(
            call.kwargs["user"]
            for turn in plan.turns
            for step in turn
            for call in step.calls
            if call.name == "get_user_id"
        )
        assert set(looked_up.values()) <= {1}


def test_what_is_deleted_is_what_the_request_speaks_of(some_plans):
    """The tool takes the receiver alone and deletes the latest message to them."""
    named = 0
    for plan in some_plans:
        world = World((DOMAIN,), plan.config)
        for step in (step for turn in plan.turns for step in turn):
            for call in step.calls:
                before = world.state()[DOMAIN]["inbox"]
                world.run(call)
                topics = [topic for topic in TOPICS if topic in step.request]
                if call.name == "delete_message" and topics:
                    named += 1
                    after = world.state()[DOMAIN]["inbox"]
                    (text,) = (text for message in before if message not in after for text in message.values())
                    assert topics[0] in text, step.request
    assert named > 10


def test_some_scenarios_begin_outside_and_writing_waits_for_the_login(some_plans):
    outside = [plan for plan in some_plans if plan.config[DOMAIN]["current_user"] is None]
    assert 0.1 < len(outside) / len(some_plans) < 0.5
    for plan in outside:
        names = [call.name for turn in plan.turns for step in turn for call in step.calls]
        if "send_message" in names:
            assert "message_login" in names[: names.index("send_message")]


def test_they_are_the_colleague_named_last(some_plans):
    seen = 0
    for plan in some_plans:
        steps = [step for turn in plan.turns for step in turn]
        for before, step in pairwise(steps):
            if step.goal == "write_to_the_one_named":
                seen += 1
                assert step.calls[0].kwargs["receiver_id"] in before.results[-1]
    assert seen > 5


def test_a_greeting_is_not_taken_back_passed_on_or_followed_up(some_plans):
    goals = ("take_a_message_back", "send_the_same_to_another", "write_again")
    for plan in some_plans:
        for step in (step for turn in plan.turns for step in turn):
            if step.goal in goals:
                assert "welcome" not in step.request, step.request
