import json

import pytest

from envtune_gym import TaskSet
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.rollout_reading import SavedRollout, Stage, latest_rollouts, read_again, visible


def call(name, **arguments):
    return render_calls([Call(name, arguments)], "tool_call")


DONE = render_answer("Done.", "tool_call")
LOST = [call("close_ticket", ticket_id=99), "<tool_call>[oops", DONE, DONE]
SOLUTION = [
    call("create_ticket", title="Lamp", description="The lamp is broken."),
    DONE,
    call("close_ticket", ticket_id=7),
    call("mean", numbers=[1, 2, 6]),
    DONE,
]


@pytest.fixture
def stage(ticket_task, withheld_task):
    return Stage(TaskSet([ticket_task, withheld_task]))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    lines = [
        {"step": 1, "task_id": "ticket", "success": True, "stage": "a", "messages": SOLUTION, "reward": 1.0},
        {"step": 1, "task_id": "ticket", "success": False, "stage": "a", "messages": LOST},
        {"step": 3, "task_id": "withheld", "success": False, "stage": "b", "messages": []},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 3, "task')
    return path


def lost(**changes):
    return SavedRollout(**{"task_id": "ticket", "messages": LOST, "turns": 2, "feedback": "actionable", **changes})


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({}, ["ticket", "ticket", "withheld"]),
        ({"limit": 2}, ["ticket", "withheld"]),
        ({"success": True}, ["ticket"]),
        ({"success": False, "stage": "a"}, ["ticket"]),
        ({"task_id": "withheld"}, ["withheld"]),
        ({"step": 1}, ["ticket", "ticket"]),
    ],
)
def test_the_latest_that_fit_are_found(file, conditions, found):
    rollouts = latest_rollouts(file, **{"limit": 10, **conditions})
    assert [rollout.task_id for rollout in rollouts] == found


def test_what_cannot_be_found_is_said(file, tmp_path):
    with pytest.raises(ConfigurationError, match="loosen"):
        latest_rollouts(file, 3, stage="c")
    with pytest.raises(DataError, match="no rollouts in"):
        latest_rollouts(tmp_path / "none.jsonl", 3)
    file.write_text('{"task_id": "ticket", "messages": "SOLUTION"}\n')
    with pytest.raises(DataError, match="line 1: messages"):
        latest_rollouts(file, 3)


def test_a_rollout_is_played_again_with_results_and_hints(stage, ticket_task):
    conversation = read_again(lost(), stage)
    assert [(one.role, one.tool, one.is_augmented) for one in conversation.said] == [
        ("user", "", False),
        ("assistant", "", False),
        ("tool", "close_ticket", True),
        ("assistant", "", False),
        ("tool", "", True),
        ("assistant", "", False),
        ("user", "", False),
        ("assistant", "", False),
    ]
    assert [one.text for one in conversation.said if one.role == "user"] == list(ticket_task.turns)
    assert [one.text for one in conversation.said if one.role == "assistant"] == LOST
    assert "hint" in conversation.said[2].text
    assert not conversation.notes


def test_without_feedback_there_are_no_hints(stage):
    conversation = read_again(lost(feedback="off"), stage)
    assert not any(one.is_augmented for one in conversation.said)
    assert json.loads(conversation.said[2].text) == {"error": "Ticket with ID 99 not found."}


def test_a_rollout_that_now_ends_otherwise_says_so(stage):
    assert read_again(lost(success=True), stage).notes == ["played again, it was not solved"]
    assert "turns were finished" in read_again(lost(turns=1), stage).notes[0]
    longer = read_again(lost(messages=[*LOST, "more"]), stage)
    assert longer.said[-1].text == "more"
    assert "before its last messages" in longer.notes[0]


def test_what_cannot_be_played_is_shown_as_it_stands(stage):
    conversation = read_again(lost(task_id="unknown"), stage)
    assert [one.text for one in conversation.said] == LOST
    assert "results not shown" in conversation.notes[0]
    assert read_again(SavedRollout(task_id="", messages=[], broken="boom"), stage).said == []


def test_nothing_in_a_text_acts_on_a_terminal():
    hostile = "\x1b]0;title\x07\r\b\x00\x9b31m\u202e\u2028\ud800\ttext [bold]ü\n"
    assert visible(hostile) == "\\x1b]0;title\\x07\\r\\x08\\x00\\x9b31m\\u202e\\u2028\\ud800\\ttext [bold]ü\n"
