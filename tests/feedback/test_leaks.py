import pytest

from envtune_gym.feedback.leaks import Leak, find_leaks

TRUTH = ["cd(folder='docs')", "book_flight(travel_class='first', cost=[120.5, 7], paid=True, note={'to': 'Rome'})"]


def leaks(hint, seen=""):
    return find_leaks(hint, offered=("cd", "ls"), seen=seen, ground_truth=TRUTH)


@pytest.mark.parametrize(
    ("hint", "leak"),
    [
        ("Use `cp` for it.", Leak("tool", "cp")),
        ("Call book_flight first.", Leak("tool", "book_flight")),
        ("Try lockDoors.", Leak("tool", "lockDoors")),
        ("Next: cd(folder='docs')", Leak("call", TRUTH[0])),
        ("Look into docs.", Leak("value", "docs")),
        ("It costs 120.5 dollars.", Leak("value", "120.5")),
        ("Seven is 7.", Leak("value", "7")),
        ("All roads lead to Rome", Leak("value", "Rome")),
        ("x" * 1001, Leak("length", "x")),
    ],
)
def test_what_gives_the_solution_away_is_found(hint, leak):
    assert leak in leaks(hint)


@pytest.mark.parametrize(
    "hint",
    [
        "Use `ls`, then `cd`.",
        "Find out and sort it.",
        "Look at the docstring.",
        "True to the request.",
        "x" * 1000,
        "17",
    ],
)
def test_a_hint_that_gives_nothing_away_passes(hint):
    assert leaks(hint) == []


@pytest.mark.parametrize("hint", ["Look into docs.", "Rome it is.", "`cp` is unknown."])
def test_what_the_agent_has_seen_is_no_leak(hint):
    assert leaks(hint, seen="docs for Rome, says cp") == []
