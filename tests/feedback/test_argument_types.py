import pytest
from jsonschema import Draft202012Validator

from envtune_gym.feedback.argument_types import describe_type, fits

SCHEMAS = [
    *({"type": kind} for kind in ("string", "number", "integer", "boolean", "array", "object")),
    {"type": "array", "items": {"type": "number"}},
    {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    {"type": "object", "properties": {"priority": {"type": "integer"}}},
    {},
]
VALUES = [
    *(None, True, 0, 3, -1, 2.0, 2.5, 10**400, "", "12", [], {}, [1, 2.5], [1, "2"], [True], [["a"], []], [["a"], [1]]),
    *({"priority": 3}, {"priority": "3"}, {"other": "3"}, "x" * 99),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=describe_type)
def test_a_type_fits_as_json_schema_says(schema):
    validator = Draft202012Validator(schema)
    assert [fits(value, schema) for value in VALUES] == [validator.is_valid(value) for value in VALUES]


def test_types_in_words():
    assert describe_type({"type": "array", "items": {"type": "number"}}) == "array of numbers"
    assert describe_type({"type": "string"}) == "string"
