import json

import gymnasium as gym
import pytest

from envtune_gym import TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper


@pytest.fixture
def hint_of(ticket_task):
    """Return the hint for a call, by name and arguments, in the ticket task with two more domains."""
    domains = (*ticket_task.domains, "GorillaFileSystem", "TravelAPI")
    tasks = TaskSet([ticket_task.model_copy(update={"domains": domains})])
    env = AugmentedFeedbackWrapper(gym.make("EnvTune/MultiDomain-v0", tasks=tasks))

    def play(name, arguments):
        env.reset(seed=0)
        call = json.dumps([{"name": name, "arguments": arguments}])
        content = env.step(f"<tool_call>{call}</tool_call>")[4]["tool_results"][0]["content"]
        return content.partition("\nHint: ")[2] or json.loads(content).get("hint", "")

    return play


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("create_tickets", {}, "Tools with a similar name: 'create_ticket'"),
        ("brew", {}, "If no tool on offer can do what is asked, end the turn with an answer"),
        ("x" * 20_000, {}, "If no tool on offer"),
        ("create_ticket", {"description": "d"}, "lacks the argument 'title'"),
        (
            "create_ticket",
            {"title": "t", "urgent": True},
            "no argument 'urgent'. Its arguments: 'title', 'description'",
        ),
        ("ticket_get_login_status", {"who": 1}, "takes no arguments, and the call gives it 'who'"),
        ("mean", {"numbers": "123"}, "'numbers' is to be of type 'array', and '123' is not"),
        ("mean", {"numbers": ["1", "2"]}, "'numbers' is to be of type 'array', and '1', '2' is not"),
        ("find", {"name": None, "path": 3}, "'path' is to be of type 'string', and 3 is not"),
        (
            "create_ticket",
            {"title": "t", "description": "d", "priority": None},
            "'priority' is to be of type 'integer'",
        ),
        ("get_credit_card_balance", {"access_token": "x", "card_id": 7}, "Nobody is logged in"),
        ("contact_customer_support", {"booking_id": 7, "message": "m"}, "'booking_id' is to be of type 'string'"),
        ("contact_customer_support", {"booking_id": "7", "message": 8}, "There is no booking '7'."),
        ("add", {"a": 1, "b": None}, "'b' is to be of type 'number', and None is not"),
    ],
)
def test_what_goes_wrong_before_a_tool_runs_is_explained(hint_of, name, arguments, says):
    hint = hint_of(name, arguments)
    assert says in hint
    assert len(hint) <= 1000


@pytest.mark.parametrize(
    ("name", "arguments"), [("add", {"a": 1, "b": 2}), ("create_ticket", {"title": "t", "description": "d"})]
)
def test_a_call_that_works_has_no_hint(hint_of, name, arguments):
    assert hint_of(name, arguments) == ""


def test_a_nested_call_is_not_taken_for_a_text(ticket_task):
    tasks = TaskSet([ticket_task])
    env = AugmentedFeedbackWrapper(gym.make("EnvTune/MultiDomain-v0", tasks=tasks, action_format="python"))
    env.reset(seed=0)
    content = env.step("[mean(numbers=add(a=1, b=2))]")[4]["tool_results"][0]["content"]
    assert "error" in content.lower()
    assert "is to be of type" not in content
