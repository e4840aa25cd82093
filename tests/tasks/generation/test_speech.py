import pytest

from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.generation.speech import MANNERS, say


def said(manner, requests, first=True, number=300):
    return {say(Rng(f"seed {n}"), manner, requests, first) for n in range(number)}


@pytest.mark.parametrize("manner", MANNERS, ids=lambda manner: manner.name)
def test_a_message_holds_its_requests_in_order_with_and_without_courtesies(manner):
    requests = ["Book the flight.", "I want an invoice.", "Close ticket 'A {1} B'."]
    messages = said(manner, requests)
    assert len(messages) > 10
    for message in messages:
        low = message.lower()
        places = [low.index(request.lower()) for request in requests]
        assert places == sorted(places)
    assert requests[0] in said(manner, requests[:1])


def test_what_does_not_begin_a_sentence_has_a_small_letter_if_it_is_a_common_word():
    terse = next(manner for manner in MANNERS if manner.name == "terse")
    assert "Quick one: book it." in said(terse, ["Book it."])
    assert any(message.endswith(": I'd like tea.") for message in said(terse, ["Book it.", "I'd like tea."]))
    assert any(message.endswith(": NASDAQ is closed.") for message in said(terse, ["Book it.", "NASDAQ is closed."]))


def test_manners_differ():
    formal, terse = (next(m for m in MANNERS if m.name == name) for name in ("formal", "terse"))
    assert not (said(formal, ["Go."]) & said(terse, ["Go."])) - {"Go."}
