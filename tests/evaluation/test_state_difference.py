import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym import World
from envtune_gym.evaluation.state_difference import StateDifference, state_difference, truth_state

SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5]) | st.text("ab. ", max_size=2)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "two words"]), inner, max_size=3)
    ),
    max_leaves=12,
)
STATES = st.dictionaries(st.sampled_from(["TicketAPI", "MathAPI"]), st.dictionaries(st.sampled_from("xyz"), VALUES))


def changes(expected, actual):
    return [(one.kind, one.where) for one in state_difference({"TicketAPI": expected}, {"TicketAPI": actual})]


@given(STATES, STATES)
def test_states_have_no_difference_exactly_if_they_are_equal(expected, actual):
    assert (state_difference(expected, actual) == []) is (expected == actual)
    assert state_difference(expected, copy.deepcopy(expected)) == []


@given(STATES, STATES)
def test_what_is_missing_one_way_is_extra_the_other(expected, actual):
    there, back = state_difference(expected, actual), state_difference(actual, expected)
    kinds = {"missing": "extra", "extra": "missing", "different": "different"}
    if not any(isinstance(key, int) for one in there + back for key in one.path):
        assert {(kinds[one.kind], one.path) for one in there} == {(one.kind, one.path) for one in back}


@given(STATES, STATES)
def test_a_difference_holds_what_stands_at_its_path(expected, actual):
    for one in state_difference(expected, actual):
        if one.kind == "missing" and not any(isinstance(key, int) for key in one.path[:-1]):
            assert at(expected, one.path) == one.expected
        if one.kind == "extra":
            assert at(actual, one.path) == one.actual


def at(value, path):
    for key in path:
        value = value[key]
    return value


def test_missing_extra_and_different_are_told_apart():
    expected = {"queue": [{"id": 1, "status": "Closed"}], "user": None}
    actual = {"queue": [{"id": 1, "status": "Open", "note": ""}], "counter": 2}
    assert changes(expected, actual) == [
        ("different", "TicketAPI.queue[0].status"),
        ("extra", "TicketAPI.queue[0].note"),
        ("missing", "TicketAPI.user"),
        ("extra", "TicketAPI.counter"),
    ]


def test_an_item_too_many_in_front_is_one_difference():
    items = [{"id": number} for number in range(50)]
    assert changes({"queue": items}, {"queue": [{"id": 99}, *items]}) == [("extra", "TicketAPI.queue[0]")]
    assert changes({"queue": items}, {"queue": items[:20] + items[21:]}) == [("missing", "TicketAPI.queue[20]")]


def test_numbers_are_compared_as_the_verdict_does():
    assert changes({"x": [1, 1.0]}, {"x": [1.0, 1]}) == []


def test_long_lists_without_anything_in_common_take_no_time():
    found = changes({"x": list(range(20_000))}, {"x": list(range(-20_000, 0))})
    assert len(found) == 20_000


def test_states_nested_deeper_than_the_stack_are_compared():
    deep, other = "leaf", "other leaf"
    for _ in range(1_500):
        deep, other = {"d": [deep]}, {"d": [other]}
    (found,) = state_difference({"TicketAPI": {"x": deep}}, {"TicketAPI": {"x": other}})
    assert (found.expected, found.actual, len(found.path)) == ("leaf", "other leaf", 3_002)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("TicketAPI", "ticket_queue", 0, "status"), "TicketAPI.ticket_queue[0].status"),
        (("GorillaFileSystem", "root", "directory", "a b.txt"), 'GorillaFileSystem.root.directory["a b.txt"]'),
        (("MessageAPI", "user_map", "\x1b[2J\n"), 'MessageAPI.user_map["\\u001b[2J\\n"]'),
    ],
)
def test_a_path_reads_like_code_and_on_one_line(path, text):
    assert StateDifference("missing", path).where == text


def test_a_world_that_did_what_the_ground_truth_does_has_no_difference(ticket_task):
    world = World(ticket_task.domains, ticket_task.initial_config)
    start = world.state()
    for turn, calls in enumerate(ticket_task.ground_truth):
        for call in calls:
            world.execute(call)
        assert state_difference(truth_state(ticket_task, turn), world.state()) == []
    assert [one.kind for one in state_difference(truth_state(ticket_task, 1), start)] == ["missing", "different"]
