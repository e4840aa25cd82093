import json

import pytest

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.errors import DataError
from envtune_gym.feedback.automatic.trajectories import from_replays, from_rollouts, from_tasks, holds_chats

CALL = '<tool_call>[{"name": "b", "arguments": {"x": 2}}]</tool_call>'
CHAT = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Go."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"y": 2}'},
    {"role": "assistant", "content": CALL},
    {"role": "tool", "content": "done"},
    {"role": "assistant", "content": "Done."},
]


def write(tmp_path, *lines):
    path = tmp_path / "rollouts.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_a_ground_truth_is_a_conversation(ticket_task):
    (conversation,) = from_tasks([ticket_task])
    assert conversation.requests == list(ticket_task.turns)
    assert [call.name for call in conversation.calls] == ["create_ticket", "close_ticket", "mean"]
    assert ("id", 7) in conversation.calls[0].values


def test_chats_are_read_in_both_forms_and_failed_ones_passed_over(tmp_path):
    path = write(tmp_path, {"messages": CHAT}, "", {"messages": CHAT, "success": False})
    assert holds_chats(path)
    (conversation,) = from_rollouts(path)
    assert [(call.name, dict(call.arguments), call.content) for call in conversation.calls] == [
        ("a", {"x": 1}, '{"y": 2}'),
        ("b", {"x": 2}, "done"),
    ]


@pytest.mark.parametrize("line", ["{", "[]", '{"messages": "hi"}', '{"messages": ["hi"]}'])
def test_a_broken_line_is_named(tmp_path, line):
    with pytest.raises(DataError, match="line 2"):
        list(from_rollouts(write(tmp_path, {"messages": CHAT}, line)))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot read the rollouts"):
        holds_chats(tmp_path / "nothing.jsonl")


def test_replays_count_only_if_they_solve_the_task(ticket_task):
    right = []
    for calls in ticket_task.ground_truth:
        right += [render_calls([parse_call(call) for call in calls], "tool_call"), render_answer("Done.", "tool_call")]
    conversations = list(from_replays([(ticket_task, right), (ticket_task, right[:1]), (ticket_task, right[1:])]))
    assert [[call.name for call in conversation.calls] for conversation in conversations] == [
        ["create_ticket", "close_ticket", "mean"]
    ]
