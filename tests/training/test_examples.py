import pytest

pytest.importorskip("trl")

from envtune_gym.calls import parse_action
from envtune_gym.training.examples import WorkedExamples


@pytest.mark.parametrize("action_format", ["tool_call", "python"])
def test_worked_examples_stand_before_the_request_and_can_be_read(make_env, action_format):
    env = WorkedExamples(make_env(action_format=action_format), action_format)
    _, info = env.reset(options={"task_id": "ticket"})
    system, *examples, request = info["messages"]
    assert system["role"] == "system"
    assert "Lamp" in request["content"]
    assert [message["role"] for message in examples] == ["user", "assistant"] * 4
    replies = [parse_action(message["content"], action_format) for message in examples[1::2]]
    assert [bool(reply.calls) for reply in replies] == [True, False, True, False]
    assert all(reply.format_ok for reply in replies)
