import json
import re

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
        ("create_tickets", {}, "written almost like that is 'create_ticket'."),
        ("brew", {}, "If no tool on offer can do what is asked, end the turn with an answer"),
        ("x" * 20_000, {}, "If no tool on offer"),
        ("create_ticket", {"description": "d"}, "lacks the argument 'title'"),
        (
            "create_ticket",
            {"title": "t", "urgent": True},
            "no argument 'urgent'. Its arguments: 'title', 'description'",
        ),
        ("ticket_get_login_status", {"who": 1}, "takes no arguments, and the call gives it 'who'"),
        ("mean", {"numbers": "123"}, "'numbers' is to be of type array of numbers, and '123' is not"),
        ("mean", {"numbers": ["1", "2"]}, "'numbers' is to be of type array of numbers, and '1', '2' is not"),
        ("find", {"name": None, "path": 3}, "'path' is to be of type string, and 3 is not"),
        (
            "create_ticket",
            {"title": "t", "description": "d", "priority": None},
            "'priority' is to be of type integer",
        ),
        ("get_credit_card_balance", {"access_token": "x", "card_id": 7}, "Nobody is logged in"),
        ("contact_customer_support", {"booking_id": 7, "message": "m"}, "'booking_id' is to be of type string"),
        ("contact_customer_support", {"booking_id": "7", "message": 8}, "There is no booking '7', for"),
        ("add", {"a": 1, "b": None}, "'b' is to be of type number, and None is not"),
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


@pytest.fixture
def python_hint(ticket_task):
    """Return the hint for a call in Python syntax."""
    env = AugmentedFeedbackWrapper(
        gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet([ticket_task]), action_format="python")
    )

    def play(text):
        env.reset(seed=0)
        content = env.step(f"[{text}]")[4]["tool_results"][0]["content"]
        return content.partition("\nHint: ")[2] or json.loads(content).get("hint", "")

    return play


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("mean(numbers=add(a=1, b=2))", "The argument 'numbers' holds a call."),
        ("get_ticket(ticket_id=add(a=3, b=4))", "The argument 'ticket_id' holds a call."),
        ("add(1, 2, 3)", "The call gives more values by position than the tool 'add' has arguments: 'a', 'b'."),
        ("add(1, 2, a=3)", "gives the argument 'a' twice, by position and by name."),
        ("edit_ticket(ticket_id=7, updates=[1])", "There is no ticket 7"),
        ("power(base=2.5, exponent=99999.5)", "could not work with 99999.5 as 'exponent'"),
        ("square_root(number=2, precision=2000)", "'precision' asks for more work than this tool does: 1000"),
    ],
)
def test_what_only_python_syntax_can_say_is_explained(python_hint, call, says):
    assert says in python_hint(call)


def test_what_a_nested_call_returned_is_not_shown(python_hint):
    assert "'result'" not in python_hint("get_ticket(ticket_id=add(a=3, b=4))")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("create_ticket", {"title": 7}, "the argument 'title' is to be of type string, and 7 is not"),
        ("absolute_value", {"number": True}, "the argument 'number' is to be of type number, and True is not"),
        ("create_ticket", {"title": "t", "priority": 2.0}, ""),
        ("find", {"path": ".", "name": None}, ""),
    ],
)
def test_a_wrong_type_that_a_tool_lets_pass_is_told_of(hint_of, name, arguments, says):
    hint = hint_of(name, arguments)
    assert (says in hint) if says else not hint


@pytest.mark.parametrize("name", ["close_ticket", "closeticket", "get_ticket"])
def test_a_tool_that_is_not_on_offer_is_never_named(withheld_task, name):
    env = AugmentedFeedbackWrapper(gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet([withheld_task])))
    env.reset(seed=0)
    content = env.step(f'<tool_call>[{{"name": "{name}", "arguments": {{}}}}]</tool_call>')[4]["tool_results"][0]
    hint = content["content"].partition("\nHint: ")[2]
    assert hint.startswith(f"No tool named '{name}' is on offer now.")
    assert "end the turn with an answer that says so" in hint
    assert "almost like that" not in hint
    assert not {"close_ticket", "get_ticket"} - {name} & set(re.findall(r"\w+", hint))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<tool_call>[{}]</tool_call>", "at character 12 stands '{'. Expected there: \"name\" in the call."),
        (
            "<answer>a</answer><answer>b</answer>",
            "at character 18 stands '<'. Expected there: nothing after the answer",
        ),
        ('<tool_call>[{"name": "a", "name": "b"}]</tool_call>', "key 'name' given twice in one call, at character 26"),
    ],
)
def test_a_message_that_cannot_be_read_is_explained_by_its_place(ticket_task, text, says):
    env = AugmentedFeedbackWrapper(gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet([ticket_task])))
    env.reset(seed=0)
    assert says in env.step(text)[0].partition("\nHint: ")[2]
