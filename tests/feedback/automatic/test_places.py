import pytest

from envtune_gym.feedback.automatic import Conversation
from envtune_gym.feedback.automatic.places import Place, is_said, look_alike, where_seen


@pytest.fixture
def conversation():
    conversation = Conversation()
    conversation.hear("Send USR002 the report.pdf, and book 1,500 seats at $12.50 from 'ROME'.")
    conversation.note("search", {"city": "Oslo"}, '{"flights": {"LH400": {"price": 310.23}}}')
    conversation.note("search", {"city": "Nowhere"}, '{"error": "no city Atlantis"}')
    return conversation


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("report.pdf", Place("user")),
        (1500, Place("user")),
        (12.5, None),
        (310.23, Place("result", "search", "price")),
        ("LH400", Place("result", "search", "flights")),
        ("Oslo", Place("call", "search", "city")),
        ("Nowhere", None),
        ("Atlantis", None),
        ("USR00", None),
    ],
)
def test_a_value_is_found_where_it_was_seen_last(conversation, value, place):
    assert where_seen(value, conversation) == place


@pytest.mark.parametrize(
    ("value", "how"),
    [
        ("rome", "upper"),
        ("REPORT.PDF", "lower"),
        ("lh400", "upper"),
        ("usr007", "upper"),
        ("files/report.pdf", "path"),
        (31023.0, "scale"),
        ("reprot.pdf", "similar"),
    ],
)
def test_a_likeness_says_how_the_two_differ(conversation, value, how):
    assert look_alike(value, conversation).how == how


@pytest.mark.parametrize("value", ["report2.pdf", "USR003", "poetry", 417, "x" * 10_000, ""])
def test_another_value_is_not_taken_for_a_slip(conversation, value):
    assert look_alike(value, conversation) is None


def test_a_documented_option_is_a_place_too():
    assert look_alike("buy", Conversation(), ["Buy", "Sell"]).place == Place("documentation")


@pytest.mark.parametrize(("value", "said"), [("an", False), (12, False), (12.0, False), ("", False), (1500, True)])
def test_only_whole_words_count_as_said(value, said):
    assert is_said(value, "1,500 bananas and 112 pears") is said
