import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.feedback.automatic.failure import looks_failed, message_of


@pytest.mark.parametrize(
    "text",
    [
        '{"error": "no such file"}',
        '{"booking_status": false, "error": "Card not registered"}',
        '{"errors": [{"message": "bad"}]}',
        '{"isError": true, "content": []}',
        '{"success": false}',
        '{"status": "failed"}',
        "Error during execution: name 'x' is not defined",
        "ValueError: bad value",
        "Traceback (most recent call last):",
        "Failed to connect",
    ],
)
def test_a_failure_is_told_by_its_text(text):
    assert looks_failed(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None",
        "[]",
        '{"error": null}',
        '{"status": "Open"}',
        '{"login_status": false}',
        "No errors found",
        "{broken",
    ],
)
def test_what_only_sounds_like_one_is_none(text):
    assert not looks_failed(text)


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text):
    assert looks_failed(text) in (True, False)
    assert isinstance(message_of(text), str)


def test_keys_are_no_part_of_the_message():
    assert message_of('{"booking_status": false, "error": "Card not registered"}') == "Card not registered"
