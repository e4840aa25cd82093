import pytest

from envtune_gym.feedback.turns import turn_note
from envtune_gym.scoring import EMPTY_TURN, RESPONSE_MISMATCH, STATE_MISMATCH, TurnResult


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (TurnResult(0, True, True, True), None),
        (TurnResult(0, False, True, True), None),
        (TurnResult(0, True, True, False), "could not be fulfilled yet"),
        (TurnResult(0, False, False, False, EMPTY_TURN, ("TravelAPI",)), "needed tool calls, and none was made."),
        (
            TurnResult(0, False, True, False, STATE_MISMATCH, ("TravelAPI", "MathAPI")),
            "the state of TravelAPI and MathAPI is not what the requests so far ask for.",
        ),
        (TurnResult(0, True, False, False, RESPONSE_MISMATCH), "a result that the request asks for was not obtained."),
        (
            TurnResult(0, False, False, False, STATE_MISMATCH, ("TravelAPI",)),
            "the state of TravelAPI is not what the requests so far ask for; a result that",
        ),
    ],
)
def test_a_failed_turn_is_told_by_part(result, says):
    note = turn_note(result)
    assert note is None if says is None else says in note
