import pytest

from envtune_gym.tasks import TOOLS_ADDED_MESSAGE, Task, load_tasks
from envtune_gym.tasks.generation.proof import harmless_reads, prove
from envtune_gym.tasks.goals import Discarded
from envtune_gym.world import World

DESK = {
    "ticket_queue": [
        {"id": 4711, "title": "Loud fan", "description": "", "status": "Open", "priority": 2, "created_by": "kim"},
        {"id": 4712, "title": "Dim lamp", "description": "", "status": "Open", "priority": 3, "created_by": "kim"},
    ],
    "ticket_counter": 4713,
    "current_user": "kim",
}


def desk(turns, calls, **more):
    return Task(
        id="desk",
        category=more.pop("category", "base"),
        domains=("TicketAPI",),
        initial_config={"TicketAPI": DESK},
        turns=turns,
        ground_truth=calls,
        **more,
    )


def reason(task):
    with pytest.raises(Discarded) as caught:
        prove(task)
    return caught.value.reason


def test_a_fair_task_passes():
    prove(
        desk(
            ["Close ticket 4711.", "Show me 4712."], [["close_ticket(ticket_id=4711)"], ["get_ticket(ticket_id=4712)"]]
        )
    )


@pytest.mark.parametrize(
    ("turns", "calls", "why"),
    [
        (["Close ticket 1."], [["close_ticket(ticket_id=1)"]], "call fails"),
        (["Close a ticket."], [["close_ticket(ticket_id=4711)"]], "argument not grounded"),
        (["Close 4711, read 4712.", "Read 4712 again."],
         [["close_ticket(ticket_id=4711)", "get_ticket(ticket_id=4712)"], ["get_ticket(ticket_id=4712)"]],
         "call not needed"),
        (["Give 4711 priority 4. No, 5."],
         [[f"edit_ticket(ticket_id=4711, updates={{'priority': {priority}}})" for priority in (4, 5)]],
         "hidden order"),
    ],
)  # fmt: skip
def test_unfair_tasks_are_told_why(turns, calls, why):
    assert reason(desk(turns, calls)) == why


def test_the_same_read_twice_in_a_turn_counts_twice():
    prove(desk(["Read 4712 twice."], [["get_ticket(ticket_id=4712)", "get_ticket(ticket_id=4712)"]]))


def test_two_draws_in_a_turn_are_refused():
    inbox = {
        "user_map": {"Kim": "USR901", "Bo": "USR902", "Jo": "USR903"},
        "user_count": 903,
        "current_user": "USR901",
        "inbox": [],
        "message_count": 0,
        "random_seed": 5,
    }
    task = Task(
        id="two",
        category="base",
        domains=("MessageAPI",),
        initial_config={"MessageAPI": inbox},
        turns=["Tell USR902 'hi' and USR903 'ho'."],
        ground_truth=[
            ["send_message(receiver_id='USR902', message='hi')", "send_message(receiver_id='USR903', message='ho')"]
        ],
    )
    assert reason(task) == "random order"


def test_a_tool_that_is_needed_before_it_comes_back_is_not_withheld():
    task = desk(
        ["Read 4711.", "Read 4712.", TOOLS_ADDED_MESSAGE],
        [["get_ticket(ticket_id=4711)"], [], ["get_ticket(ticket_id=4712)"]],
        category="miss_func",
        missed_functions={2: ["get_ticket"]},
    )
    assert reason(task) == "withheld tool"


def test_what_is_left_unsaid_must_be_news():
    answered = ["Close one of my tickets.", "It is 4711."], [[], ["close_ticket(ticket_id=4711)"]]
    prove(desk(*answered, category="miss_param"))
    known = ["Close ticket 4711.", "Yes, please."], [[], ["close_ticket(ticket_id=4711)"]]
    assert reason(desk(*known, category="miss_param")) == "nothing was left out"


def test_what_has_been_shown_in_other_letters_is_not_left_unsaid():
    turns = ["Show me 4711.", "Search my tickets by a status.", "The status is 'Open'."]
    seen = [["get_ticket(ticket_id=4711)"], [], ["get_user_tickets(status='Open')"]]
    assert reason(desk(turns, seen, category="miss_param")) == "nothing was left out"
    turns = ["Show me 4711.", "Rename it.", "Call it 'loud FAN'."]
    calls = [["get_ticket(ticket_id=4711)"], [], ["edit_ticket(ticket_id=4711, updates={'title': 'loud FAN'})"]]
    assert reason(desk(turns, calls, category="miss_param")) == "nothing was left out"


def test_what_the_state_alone_tells_is_not_left_unsaid():
    lonely = {**DESK, "ticket_queue": DESK["ticket_queue"][:1]}
    task = desk(["Close my ticket.", "It is 4711."], [[], ["close_ticket(ticket_id=4711)"]], category="miss_param")
    only = task.model_copy(update={"initial_config": {"TicketAPI": lonely}})
    assert reason(only) == "nothing was left out"


@pytest.mark.bfcl
def test_most_official_tasks_are_not_proven(official):
    failed = 0
    for task in load_tasks("bfcl", categories="base")[:40]:
        try:
            prove(task)
        except Discarded:
            failed += 1
    assert 10 < failed < 40


def test_reads_are_the_calls_that_change_nothing():
    world = World(("TicketAPI", "TravelAPI"), {"TicketAPI": DESK})
    before = world.snapshot()
    reads = [
        "ticket_get_login_status",
        "get_user_tickets",
        "travel_get_login_status",
        "get_budget_fiscal_year",
        "list_all_airports",
        "get_all_credit_cards",
    ]
    assert harmless_reads(world) == reads
    assert world.same_state(before)
    world.call("logout", {})  # once nobody is logged in, it changes nothing either
    assert harmless_reads(world) == [reads[0], "logout", *reads[1:]]
