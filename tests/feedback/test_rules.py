import pytest

from envtune_gym.domains.base import ToolError
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.rules import HintRule, shown_values

KINDS = {"category": "format_mismatch", "augmentation": "correct_format"}


def rule(**fields):
    return HintRule(**{"code": "lost", "error": "It is lost.", **KINDS, **fields})


@pytest.mark.parametrize(
    "text",
    ["{0}", "{}", "{value.x}", "{value[0]}", "{value!r}", "{value:>9}", "{value", "", "x" * 301, 7, "{value:{tool}}"],
)
def test_a_template_admits_plain_names_only(text):
    with pytest.raises(ConfigurationError, match="hint rule 'lost'"):
        rule(error=text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"category": "bad_luck"}, "category 'bad_luck' is not one of dependency_missing"),
        ({"augmentation": "shout"}, "augmentation 'shout' is not one of clarify_constraint"),
        ({"error": "Use `ls`."}, "may name a tool"),
        ({"actionable": ("Look.", "Use `ls`.")}, "may name a tool"),
    ],
)
def test_a_rule_with_a_mistake_is_refused(fields, message):
    with pytest.raises(ConfigurationError, match=message):
        rule(**fields)


def test_plain_data_makes_the_same_rule():
    made = rule(actionable=("Use `ls`.", "Look."), tool="cat", when={"mode": "STOP"})
    assert HintRule.from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    ("data", "message"),
    [({}, "missing"), ({"colour": "red"}, "fields: code"), ({"actionable": "Look."}, "list of texts")],
)
def test_broken_plain_data_is_refused(data, message):
    with pytest.raises(ConfigurationError, match=message):
        HintRule.from_dict(data if not data else {**rule().to_dict(), **data})


@pytest.mark.parametrize(
    ("fields", "applies"),
    [
        ({}, True),
        ({"code": "found"}, False),
        ({"tool": "cat"}, True),
        ({"tool": "ls"}, False),
        ({"when": {"mode": "STOP"}}, True),
        ({"when": {"mode": "START"}}, False),
        ({"when": {"argument": "name"}}, True),
        ({"when": {"absent": None}}, False),
    ],
)
def test_a_rule_applies_by_code_tool_and_values(fields, applies):
    error = ToolError("lost", "cat", "name", "x", {"mode": "STOP"})
    assert rule(**fields).applies_to(error) is applies


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("it's", '"it\'s"'),
        ("{tool} {0.__class__}", "'{tool} {0.__class__}'"),
        ("a\nb\u202e", "'a\\nb\\u202e'"),
        (["a", "b"], "'a', 'b'"),
        (list(range(20)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more"),
        (None, "None"),
        ([10**5000], "a number too long to print"),
    ],
)
def test_values_are_shown_as_they_are_and_short(value, shown):
    assert shown_values(ToolError("lost", "cat", "name", value))["value"] == shown


@pytest.mark.parametrize(
    "value", ["x" * 10**6, ["y" * 999] * 999, {"k" * 999: {"v": ["z" * 999] * 999}}, "\ud800" * 99]
)
def test_a_shown_value_is_bounded(value):
    assert len(shown_values(ToolError("lost", "cat", "name", value))["value"]) <= 1000
