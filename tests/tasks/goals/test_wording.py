import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.errors import TaskError
from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.goals.wording import count_wordings, names_in, word

TEMPLATE = "[Please book|Book] {flight}[ for me|][, and pay with [my|the] {card}|]."


def test_every_wording_that_is_counted_can_be_drawn_and_no_other():
    drawn = {word(Rng(f"seed {n}"), [TEMPLATE], {"flight": "it", "card": "card"}) for n in range(400)}
    assert len(drawn) == count_wordings([TEMPLATE]) == 2 * 2 * 3
    assert "Please book it for me, and pay with the card." in drawn
    assert "Book it." in drawn
    assert count_wordings([TEMPLATE, "No choice."]) == 13


@given(st.text(), st.text())
def test_values_are_taken_as_they_are(flight, card):
    said = word(Rng("any"), ["<{flight}> [and {card}|or {card}]"], {"flight": flight, "card": card})
    assert said in (f"<{flight}> and {card}", f"<{flight}> or {card}")


def test_names_are_those_of_the_values():
    assert names_in([TEMPLATE, "{place}"]) == {"flight", "card", "place"}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("[a|b", "never closed"),
        ("a]", "outside of brackets"),
        ("a|b", "outside of brackets"),
        ("{a", "brace without partner"),
        ("{a b}", "brace without partner"),
        ("{missing}", "asks for 'missing'"),
    ],
)
def test_malformed_templates_are_told(template, message):
    with pytest.raises(TaskError, match=message):
        word(Rng("any"), [template], {"given": "x"})
