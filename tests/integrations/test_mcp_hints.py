import pytest

from envtune_gym.feedback import HintBook
from envtune_gym.integrations.mcp_hints import ServerHints

ORDER = {
    "name": "order",
    "description": "Order an item.",
    "inputSchema": {
        "type": "object",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["item"],
    },
}


def server_hints(level="actionable", **options):
    hints = ServerHints(level, **options)
    hints.learn([ORDER, {**ORDER, "name": "cancel"}])
    return hints


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("ordr", {}, "`order`"),
        ("order", {"count": 1}, "item"),
        ("order", {"item": "x", "colour": "red"}, "colour"),
        ("order", {"item": "x", "count": "two"}, "integer"),
        ("order", {"item": "x y z and more words than a name has"}, "one of the values, or the present state"),
    ],
)
def test_every_failure_gets_a_hint_for_its_cause(name, arguments, said):
    assert said in server_hints().of_call(name, arguments, "it failed", failed=True)
    assert server_hints("off").of_call(name, arguments, "it failed", failed=True) is None
    assert server_hints().of_call(name, arguments, "it failed", failed=False) is None


def test_values_seen_before_are_remembered():
    hints = server_hints()
    hints.of_call("order", {"item": "lamp"}, '{"order_id": "Ab-17"}', failed=False)
    assert "capitals" in hints.of_call("cancel", {"item": "aB-17"}, "no item aB-17", failed=True)


def test_before_the_tools_are_known_there_is_no_hint():
    assert ServerHints().of_call("ordr", {}, "it failed", failed=True) is None


def rule(code, text, **rest):
    return {
        "code": code,
        "category": "parameter_constraint",
        "augmentation": "clarify_constraint",
        "error": text,
        **rest,
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Name the item. Ask for it."),
        ({"item": "x", "count": "two"}, "'count' takes 'integer'."),
        ({"item": "x"}, "The shop says: 'sold out'"),
    ],
)
def test_a_hint_book_comes_first(arguments, said):
    rules = [
        rule("missing_argument", "Name the item.", tool="order", when={"argument": "item"}, actionable=["Ask for it."]),
        rule("ill_typed_argument", "{argument} takes {expected}."),
        rule("failed", "The shop says: {message}", tool="order"),
    ]
    hints = server_hints(book=HintBook.from_dict({"general": rules}))
    assert said in str(hints.of_call("order", arguments, "sold out", failed=True))
    assert "sold out" not in hints.of_call("cancel", {"item": "x"}, "sold out", failed=True)
