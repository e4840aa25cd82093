import json

import pytest

from envtune_gym import load_tasks
from envtune_gym.errors import DataError
from envtune_gym.feedback.automatic import Conversation, ToolGraph, default_graph, mine
from envtune_gym.feedback.automatic.graph import Source
from envtune_gym.feedback.automatic.trajectories import from_tasks


def trajectory(*turns):
    """Return a conversation from turns: what the user says, then calls as name, arguments, result."""
    conversation = Conversation()
    for request, *calls in turns:
        conversation.hear(request)
        for name, arguments, result in calls:
            conversation.note(name, arguments, json.dumps(result))
    return conversation


LOGIN = ("login", {"user": "ann"}, {"ok": True})
LOOKUP = ("lookup", {"name": "Bob"}, {"name": "Bob", "id": "USR7"})
SEND = ("send", {"to": "USR7", "text": "hello"}, {"sent": True})
TRAJECTORIES = [
    trajectory(("I am ann; say 'hello' to Bob.", LOGIN, LOOKUP, SEND)),
    trajectory(("I am ann; say 'hello' to USR7.", LOGIN, SEND)),
    trajectory(("I am ann.", LOGIN), ("Greet Bob.", LOOKUP, SEND)),
]


def test_what_comes_before_what_is_counted_within_turns():
    graph = mine(TRAJECTORIES)
    assert dict(graph.turns) == {"login": 1, "lookup": 2, "send": 3}
    assert dict(graph.before["send"]) == {"login": 2, "lookup": 2}
    assert graph.predecessors("send")["login"] == pytest.approx(2 / 4)


def test_results_that_become_arguments_are_counted_with_their_field():
    graph = mine(TRAJECTORIES)
    assert dict(graph.feeds["send.to"]) == {"lookup.id": 2, "user": 1}
    assert graph.sources("send", "to") == [Source("lookup", "id", 0.5)]
    assert "lookup.name" not in graph.feeds["lookup.name"], "the lookup only repeats the name that it was given"


def test_an_argument_nobody_has_seen_fed_is_likened_to_those_of_its_name():
    graph = mine(TRAJECTORIES)
    assert [source.tool for source in graph.sources("call", "to")] == ["lookup"]


def test_a_tool_that_only_feeds_an_argument_is_less_of_a_prerequisite():
    graph = mine(TRAJECTORIES)
    state = graph.state_predecessors("send")
    assert state["login"] == graph.predecessors("send")["login"]
    assert state["lookup"] < graph.predecessors("send")["lookup"]


def test_tools_used_in_any_order_are_weaker_prerequisites():
    both = [trajectory(("Go.", ("a", {}, {}), ("b", {}, {}))), trajectory(("Go.", ("b", {}, {}), ("a", {}, {})))]
    assert mine(both).predecessors("b")["a"] < mine(both[:1]).predecessors("b")["a"]


def test_copies_of_one_template_count_once():
    assert mine(TRAJECTORIES * 50).to_dict() == mine(TRAJECTORIES).to_dict()


def test_failed_calls_teach_nothing():
    failed = trajectory(("Go.", ("a", {}, {"error": "no"}), ("b", {}, {})))
    assert dict(mine([failed]).turns) == {"b": 1}


def test_no_value_is_kept():
    text = json.dumps(mine(TRAJECTORIES).to_dict())
    assert not any(value in text for value in ("USR7", "ann", "Bob", "hello"))


def test_a_part_of_a_graph_speaks_of_its_tools_only():
    part = mine(TRAJECTORIES).restricted(["login", "send"]).to_dict()
    assert "lookup" not in json.dumps(part)
    assert part["before"]["send"] == {"login": 2}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"turns": {"a": -1}, "before": {}, "uses": {}, "feeds": {}},
        {"turns": {"a": True}, "before": {}, "uses": {}, "feeds": {}},
        {"turns": {}, "before": {"a": {"b": 1}}, "uses": {}, "feeds": {}},
        {"turns": {}, "before": {}, "uses": {}, "feeds": {"a.b": {"user": 1}}},
    ],
)
def test_what_is_no_graph_is_refused(data):
    with pytest.raises(DataError, match="not a graph of tools"):
        ToolGraph.from_dict(data)


@pytest.mark.bfcl
def test_the_graph_of_this_package_can_be_mined_again():
    generated = load_tasks("generated", split="train")[:2000]
    official = load_tasks("bfcl", split="train")
    again = mine(from_tasks(generated)) + mine(from_tasks(official))
    assert again.to_dict() == default_graph().to_dict()
