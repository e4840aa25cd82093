import pytest

from envtune_gym.domains.base import ToolError
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.rules import MAX_HINT, HintRule, shown

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
        ({"or_ask": "yes"}, "or_ask is true or false"),
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
    ("value", "text"),
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
def test_values_are_shown_as_they_are_and_short(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    "value", ["x" * 10**6, ["y" * 999] * 999, {"k" * 999: {"v": ["z" * 999] * 999}}, "\ud800" * 99]
)
def test_a_shown_value_is_bounded(value):
    assert len(shown(value)) <= 1000
    long = rule(error="{value}" * 20).text(ToolError("lost", "cat", "name", value), (), advise=True)
    assert len(long) <= MAX_HINT


class TestText:
    """What a rule says of an error."""

    ERROR = ToolError("lost", "cat", "name", "x", {"near": "y"})

    @pytest.mark.parametrize(
        ("offered", "advice"), [(("ls", "cd"), "Use `ls`."), (("cd",), "Is it 'y'?"), ((), "Is it 'y'?")]
    )
    def test_the_first_advice_is_given_whose_tools_are_on_offer(self, offered, advice):
        made = rule(error="{value} is lost.", actionable=("Use `ls`.", "Is it {near}?", "Look."))
        assert made.text(self.ERROR, offered, advise=True) == f"'x' is lost. {advice}"
        assert made.text(self.ERROR, offered, advise=False) == "'x' is lost."

    def test_advice_without_its_values_is_passed_over(self):
        made = rule(actionable=("Is it {far}?", "Look."))
        assert made.text(self.ERROR, (), advise=True) == "It is lost. Look."

    def test_without_its_values_there_is_no_text(self):
        assert rule(error="{far} is lost.").text(self.ERROR, (), advise=True) is None
        assert rule(error="{value} is lost.").text(ToolError("lost", "cat"), (), advise=True) is None

    def test_advice_can_end_with_what_to_do_if_the_user_has_not_said_it(self):
        made = rule(actionable=("Look.",), or_ask=True)
        assert made.text(self.ERROR, (), advise=True).endswith("put the question to the user.")
        assert "user" not in made.text(self.ERROR, (), advise=False)
