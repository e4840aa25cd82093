import json

import pytest

from envtune_gym.asking import read_reply
from envtune_gym.feedback.proposing.checks import find_faults, find_leaked
from envtune_gym.feedback.proposing.reply import Proposal

from .server import proposal


def made(**changes) -> Proposal:
    return read_reply(proposal(**changes), Proposal)


def test_a_good_proposal_passes(group):
    assert find_faults(made(), group) == find_leaked(made(), group) == []


@pytest.mark.parametrize(
    ("text", "leak"),
    [
        ("Make the call close_ticket(ticket_id=7) instead.", "a call of the solution"),
        ("The right id is 7.", "a concrete value of the solution: 7"),
        ("First `close_ticket`, then `mean`.", "all the calls that the request needs"),
    ],
)
def test_what_tells_the_solution_is_found(group, text, leak):
    found = find_leaked(made(actionable=[text, "Look."]), group)
    assert any(leak in reason for reason in found)


def test_a_value_in_the_template_is_found_even_if_the_agent_has_seen_it(collect):
    [group] = collect(["mean(numbers=[])"])
    assert any("Lamp" in text for text in group.failures[0].seen)
    assert find_leaked(made(error="It is called Lamp."), group) == [
        "a text contains a concrete value of the solution: Lamp"
    ]


def test_the_value_that_the_agent_itself_gave_may_be_filled_in(collect):
    [group] = collect(["create_ticket(title='Lamp', description='x', priority=9)"])
    assert find_leaked(made(error="{value} is no priority."), group) == []


def test_a_tool_that_is_not_on_offer_everywhere_is_named_where_it_is(collect, ticket_task, withheld_task):
    [group] = collect(["resolve_ticket(ticket_id=99, resolution='x')"])
    [elsewhere] = collect(["resolve_ticket(ticket_id=99, resolution='x')"], task=withheld_task)
    group.add(elsewhere.failures[0])
    hint = made(actionable=["Close it with `close_ticket`.", "Close it."])
    assert find_faults(hint, group) == find_leaked(hint, group) == []
    assert "`get_ticket`" in json.dumps(find_faults(made(error="x", actionable=["`get_ticket`", "x"]), elsewhere))
