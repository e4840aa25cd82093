from envtune_gym import TaskSet
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.playback import play_again
from envtune_gym.evaluation.rollout_reading import Stage, conversation, visible

DONE = render_answer("Done.", "tool_call")
LOST = [render_calls([Call("close_ticket", {"ticket_id": 99})], "tool_call"), "<tool_call>[oops", DONE, DONE]


def said(task, messages=LOST, feedback="actionable"):
    """Play messages again, and return what was said."""
    return conversation(play_again(task, messages, Stage(TaskSet([task])).run(feedback)), messages)


def test_a_conversation_has_requests_messages_results_and_hints_in_order(ticket_task):
    found = said(ticket_task)
    assert [(one.role, one.tool, one.is_augmented) for one in found] == [
        ("user", "", False),
        ("assistant", "", False),
        ("tool", "close_ticket", True),
        ("assistant", "", False),
        ("tool", "", True),
        ("assistant", "", False),
        ("user", "", False),
        ("assistant", "", False),
    ]
    assert [one.text for one in found if one.role == "user"] == list(ticket_task.turns)
    assert [one.text for one in found if one.role == "assistant"] == LOST
    assert "hint" in found[2].text


def test_without_feedback_there_are_no_hints(ticket_task):
    found = said(ticket_task, feedback="off")
    assert not any(one.is_augmented for one in found)
    assert found[2].text == '{"error": "Ticket with ID 99 not found."}'


def test_messages_after_the_end_come_last(ticket_task):
    assert said(ticket_task, [*LOST, "more"])[-1].text == "more"


def test_of_what_cannot_be_played_the_messages_alone_are_known():
    assert [(one.role, one.text) for one in conversation(None, LOST)] == [("assistant", text) for text in LOST]


def test_nothing_in_a_text_acts_on_a_terminal():
    hostile = "\x1b]0;title\x07\r\b\x00\x9b31m\u202e\u2028\ud800\ttext [bold]ü\n"
    assert visible(hostile) == "\\x1b]0;title\\x07\\r\\x08\\x00\\x9b31m\\u202e\\u2028\\ud800\\ttext [bold]ü\n"
