import json

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.automatic import AutomaticHints, Conversation, ToolGraph, mine
from envtune_gym.feedback.automatic.hints import MAX_LENGTH
from envtune_gym.wrappers import AugmentedFeedbackWrapper


def tool(name, description="", **properties):
    required = [key for key, schema in properties.items() if "default" not in schema]
    return {"name": name, "description": description, "inputSchema": {"properties": properties, "required": required}}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
SHOP = [
    tool("log_in", "Log in to the shop.", user=TEXT),
    tool("search_items", "Find items.", words=TEXT),
    tool("buy_item", "Buy an item.", item_id=NUMBER, count={"type": "integer", "default": 1}),
]
FAILED = '{"error": "failed"}'


def successful():
    """Return a conversation in which a search, after a login, gives the id of what is bought."""
    conversation = Conversation()
    conversation.hear("I am ann. Buy a lamp.")
    conversation.note("log_in", {"user": "ann"}, '{"status": "ok"}')
    conversation.note("search_items", {"words": "lamp"}, '{"item_id": 417}')
    conversation.note("buy_item", {"item_id": 417}, '{"bought": true}')
    return conversation


@pytest.fixture
def hints():
    return AutomaticHints(SHOP, mine([successful()] * 3))


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("buy_items", {"item_id": 1}, ["buy_items", "buy_item", "not a tool on offer"]),
        ("buy_item", {}, ["lacks", "item_id"]),
        ("buy_item", {"item_id": 1, "amount": 2}, ["amount", "count"]),
        ("buy_item", {"item_id": "lamp"}, ["item_id", "integer"]),
        ("fly_to_the_moon", {}, ["fly_to_the_moon", "tell the user"]),
    ],
)
def test_what_the_schemas_say_is_said(hints, name, arguments, named):
    hint = hints.hint(Conversation(), name, arguments, FAILED)
    assert all(word in hint for word in named), hint


def test_a_tool_that_usually_comes_first_is_named_until_it_has_been_called(hints):
    conversation = Conversation()
    before = hints.hint(conversation, "buy_item", {"item_id": 417}, '{"error": "please log in"}')
    assert "log_in" in before
    conversation.note("log_in", {"user": "ann"}, '{"status": "ok"}')
    assert "log_in" not in (hints.hint(conversation, "buy_item", {"item_id": 417}, FAILED) or "")


def test_where_a_missing_value_comes_from_is_said_without_the_value(hints):
    conversation = Conversation()
    conversation.note("search_items", {"words": "lamp"}, '{"item_id": 417}')
    hint = hints.hint(conversation, "buy_item", {}, FAILED)
    assert "earlier result (field item_id)" in hint
    assert "417" not in hint


def test_no_tool_is_named_that_is_not_on_offer():
    few = AutomaticHints(SHOP[2:], mine([successful()]))
    assert "log_in" not in (few.hint(Conversation(), "buy_item", {"item_id": 1}, '{"error": "please log in"}') or "")


def test_successes_and_level_off_get_no_hint(hints):
    assert hints.hint(Conversation(), "buy_item", {"item_id": 1}, '{"bought": true}') is None
    assert hints.hint(Conversation(), "buy_item", {}, FAILED, level="off") is None
    assert hints.hint(Conversation(), "buy_item", {}, "anything", is_error=True) is not None
    with pytest.raises(ConfigurationError):
        hints.hint(Conversation(), "buy_item", {}, FAILED, level="loud")


def test_the_level_error_says_what_is_wrong_and_not_what_to_do(hints):
    levels = ("error", "actionable")
    short, long = (hints.hint(Conversation(), "buy_item", {"amount": 1}, FAILED, level=level) for level in levels)
    assert long.startswith(short)
    assert len(short) < len(long)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(json_values, json_values, st.text(max_size=80), st.text(max_size=8))
def test_any_schema_and_any_text_give_a_bounded_hint_or_none(schema, arguments, text, name):
    hints = AutomaticHints([{"name": name, "inputSchema": schema}], ToolGraph())
    conversation = Conversation()
    conversation.hear(text)
    conversation.note(name, {"a": arguments}, text)
    hint = hints.hint(conversation, name, {"a": arguments}, text, is_error=True)
    assert hint is None or len(hint) <= MAX_LENGTH


def test_a_graph_survives_json_and_addition():
    graph = mine([successful()])
    again = ToolGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert again.to_dict() == graph.to_dict()
    assert [source.tool for source in graph.sources("buy_item", "item_id")] == ["search_items"]
    assert (graph + graph).turns["buy_item"] == 2 * graph.turns["buy_item"]


def test_the_wrapper_gives_automatic_hints_in_place_of_the_rules():
    env = AugmentedFeedbackWrapper(gym.make("EnvTune/VehicleControlAPI-v0"), hints="automatic")
    env.reset(seed=0)
    action = '<tool_call>[{"name": "startEngine", "arguments": {}}]</tool_call>'
    result = env.step(action)[4]["tool_results"][0]
    assert "ignitionMode" in result["content"]
    assert result["official"] in result["content"]
