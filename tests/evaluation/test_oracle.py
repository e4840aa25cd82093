import pytest

from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation import Oracle

FORMATS = ["tool_call", "python", "openai"]


@pytest.mark.parametrize("action_format", FORMATS)
def test_a_turn_is_one_message_of_named_calls_and_an_answer(withheld_task, action_format):
    positional = withheld_task.model_copy(
        update={"ground_truth": (withheld_task.ground_truth[0], (), ("close_ticket(7)", "mean([1, 2, 6])"))}
    )
    replies = [parse_action(text, action_format) for text in Oracle(action_format).messages(positional)]
    assert all(reply.format_ok for reply in replies)
    assert [len(reply.calls) for reply in replies] == [1, 0, 0, 2, 0]
    assert [reply.answer is not None for reply in replies] == [False, True, True, False, True]
    assert replies[3].calls == (Call("close_ticket", {"ticket_id": 7}), Call("mean", {"numbers": [1, 2, 6]}))


def test_nested_calls_need_the_python_format(ticket_task):
    nested = "mean(numbers=[add(a=1, b=2)])"
    task = ticket_task.model_copy(update={"ground_truth": ((nested,), ())})
    assert nested in Oracle("python").messages(task)[0]
    with pytest.raises(ConfigurationError, match=r"task ticket, turn 0: .*python"):
        Oracle("tool_call").messages(task)


def test_a_turn_of_more_calls_than_a_message_holds_takes_several(ticket_task):
    task = ticket_task.model_copy(update={"ground_truth": (("add(a=1, b=2)",) * 130, ())})
    replies = [parse_action(text, "tool_call") for text in Oracle().messages(task)]
    assert [len(reply.calls) for reply in replies] == [128, 2, 0, 0]
