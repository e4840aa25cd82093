import json

import pytest

from envtune_gym.calls import parse_action
from envtune_gym.errors import DataError, UnknownTaskError
from envtune_gym.evaluation import RecordedActions


@pytest.fixture
def recorded(tmp_path):
    """Open a file of the given text or lines."""

    def make(*lines, action_format="tool_call"):
        path = tmp_path / "actions.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return RecordedActions(path, action_format)

    return make


def test_messages_are_kept_to_the_letter(recorded, ticket_task):
    messages = ["<think>x</think> [broken", "", "done \U0001f600"]
    actions = recorded({"task_id": "other", "steps": []}, "", {"task_id": "ticket", "messages": messages, "more": 1})
    assert actions.task_ids == ["other", "ticket"]
    assert actions.messages(ticket_task) == messages


def test_steps_are_written_out_and_turns_get_answers(recorded, ticket_task):
    actions = recorded({"task_id": "ticket", "steps": [[["get_ticket(7)"], ["logout()"]], []]}, action_format="python")
    texts = actions.messages(ticket_task)
    assert texts[:2] == ["[get_ticket(ticket_id=7)]", "[logout()]"]
    assert [parse_action(text, "python").answer is None for text in texts] == [True, True, False, False]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no actions"),
        (["{"], "line 1: not JSON"),
        (["[" * 100_000], "line 1: not JSON"),
        (["[]"], "line 1: "),
        (["", '{"messages": []}'], "line 2: task_id"),
        ([{"task_id": "a"}], "either 'messages' or 'steps'"),
        ([{"task_id": "a", "messages": [], "steps": []}], "either 'messages' or 'steps'"),
        ([{"task_id": "a", "messages": [1]}], "messages.0"),
        ([{"task_id": "a", "steps": [["ls()"]]}], "steps.0.0"),
        ([{"task_id": "a", "steps": []}, {"task_id": "a", "steps": []}], "line 2: task_id: 'a'"),
    ],
)
def test_a_broken_file_is_refused_with_line_and_field(recorded, lines, said):
    with pytest.raises(DataError) as caught:
        recorded(*lines)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_missing_or_no_call_is_told_when_played(recorded, ticket_task):
    with pytest.raises(UnknownTaskError, match="no actions for task 'ticket'"):
        recorded({"task_id": "other", "steps": []}).messages(ticket_task)
    with pytest.raises(DataError, match="task 'ticket'"):
        recorded({"task_id": "ticket", "steps": [[["not a call"]]]}).messages(ticket_task)
    with pytest.raises(DataError, match="cannot read"):
        RecordedActions("absent.jsonl")
