import json

import pytest

from envtune_gym.feedback.render import attach


@pytest.mark.parametrize(
    ("official", "shown"),
    [
        ('{"error": "no"}', {"error": "no", "hint": 'say "x"'}),
        ("{}", {"hint": 'say "x"'}),
        ('{"a": NaN, "b": {"c": [1]}}', None),
    ],
)
def test_an_object_gains_a_key_and_keeps_the_rest(official, shown):
    text = attach(official, 'say "x"')
    assert text.startswith(official[:-1])
    assert list(json.loads(text)) == [*json.loads(official), "hint"]
    if shown is not None:
        assert json.loads(text) == shown


@pytest.mark.parametrize("official", ["Error: no", "", "{'a': Decimal('1')}", "[1]", "{" * 10_000, '{"a": 1} {"b": 2}'])
def test_any_other_text_gains_a_line(official):
    assert attach(official, "look") == f"{official}\nHint: look"


def test_without_a_hint_nothing_changes():
    assert attach('{"error": "no"}', None) == '{"error": "no"}'
