import pytest

from envtune_gym.feedback.automatic.documentation import ToolDoc, Violation

PARAMETERS = {
    "type": "object",
    "properties": {
        "symbol": {"type": "string", "pattern": "(a+)+$"},
        "amount": {"type": "integer", "minimum": 1},
        "side": {"enum": ["Buy", "Sell"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "linked": {"$ref": "https://example.com/schema.json"},
    },
    "required": ["symbol"],
}


@pytest.mark.parametrize(
    ("arguments", "violation"),
    [
        ({}, Violation("missing", "symbol")),
        ({"symbol": "A", "price": 1}, Violation("unknown", "price")),
        ({"symbol": 1}, Violation("type", "symbol", ("string",))),
        ({"symbol": "A", "amount": "1"}, Violation("type", "amount", ("integer",))),
        ({"symbol": "A", "amount": True}, Violation("type", "amount", ("integer",))),
        ({"symbol": "A", "amount": 0}, Violation("range", "amount")),
        ({"symbol": "A", "side": "buy"}, Violation("option", "side", ("Buy", "Sell"))),
        ({"symbol": "A", "tags": ["x", 1]}, Violation("type", "tags", ("array",))),
        ({"symbol": "A", "note": 1}, Violation("type", "note", ("string", "null"))),
    ],
)
def test_what_does_not_fit_is_found(arguments, violation):
    assert ToolDoc("order", "", PARAMETERS).violations(arguments) == [violation]


def test_patterns_and_references_are_left_alone_for_they_could_hang_or_fetch():
    arguments = {"symbol": "a" * 60 + "!", "linked": 1, "amount": None}
    assert ToolDoc("order", "", PARAMETERS).violations(arguments) == []


def test_a_tool_is_closed_only_if_its_documentation_lists_its_arguments():
    assert ToolDoc("any", "", {}).violations({"x": 1}) == []
    assert ToolDoc("open", "", {"properties": {}, "additionalProperties": True}).violations({"x": 1}) == []
    assert ToolDoc("none", "", {"properties": {}}).violations({"x": 1}) == [Violation("unknown", "x")]


@pytest.mark.parametrize("key", ["parameters", "inputSchema"])
def test_documentation_is_read_in_each_form(key):
    entry = {"name": "order", "description": "Orders.", key: PARAMETERS}
    assert ToolDoc.read(entry) == ToolDoc.read({"type": "function", "function": entry})
    assert ToolDoc.read(entry).required == ("symbol",)
