import pytest

from envtune_gym.feedback.automatic import Conversation, ToolGraph
from envtune_gym.feedback.automatic.documentation import ToolDoc
from envtune_gym.feedback.automatic.prerequisites import prerequisites

CAR = {
    name: ToolDoc(name, "", {})
    for name in ("startEngine", "pressBrakePedal", "releaseBrakePedal", "lockDoors", "message_login", "get_user_id")
}


def first(tool, text, conversation=None):
    found = prerequisites(tool, text, CAR, ToolGraph(), conversation or Conversation())
    return found[0].tool if found else None


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Brake pedal needs to be pressed when starting the engine.", "pressBrakePedal"),
        ("All doors must be locked before starting the engine.", "lockDoors"),
        ("No user is currently logged in.", "message_login"),
        ("The engine does not start.", None),
        ("", None),
    ],
)
def test_the_words_of_an_error_name_a_tool(text, tool):
    assert first("startEngine", text) == tool


def test_a_tool_that_was_called_gives_way():
    conversation = Conversation()
    conversation.note("pressBrakePedal", {}, "{}")
    assert first("startEngine", "Press the brake pedal or lock the doors.", conversation) == "lockDoors"
