import pytest

from envtune_gym.feedback.proposing import collect_failures


def causes(groups):
    return {str(group.cause): group.count for group in groups}


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        ("close_ticket(ticket_id=99)", "TicketAPI ticket_not_found"),
        ("create_ticket()", "TicketAPI missing_argument create_ticket title"),
        ("create_ticket(title='x', colour='red')", "TicketAPI unknown_argument create_ticket"),
        ("add(a='1', b=2)", "MathAPI ill_typed_argument add a"),
        ("ticket_login(username='ann', password='')", "TicketAPI empty_credentials"),
        ("rm(file_name='x')", "general unknown_tool"),
    ],
)
def test_a_failure_is_filed_under_its_cause(collect, call, cause):
    assert causes(collect([call])) == {cause: 1}


def test_a_message_that_cannot_be_read_is_a_failure(ticket_task):
    assert causes(collect_failures([(ticket_task, ["<tool_call>["])])) == {"general bad_syntax": 1}


def test_the_most_frequent_cause_comes_first(collect):
    groups = collect(["mean(numbers=[])", "close_ticket(ticket_id=98)", "close_ticket(ticket_id=99)"], runs=2)
    assert causes(groups) == {"TicketAPI ticket_not_found": 4, "MathAPI empty_list": 2}
    assert [len(group.failures) for group in groups] == [1, 1]  # all of them are of one task


def test_a_failure_keeps_its_place(group):
    [failure] = group.failures
    assert failure.request == "Close it and average 1, 2 and 6."
    assert failure.remaining == ("close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])")
    assert failure.earlier == ()  # the turn before is over
    assert any("The lamp is broken" in text or "Lamp" in text for text in failure.seen)
    assert failure.seen[-1] == failure.result
    assert {"argument", "value", "tool"} <= group.names


def test_names_are_those_that_every_failure_has(collect):
    groups = collect(["get_tickt(ticket_id=1)", "xyzzy(a=1)"])
    [group] = groups
    assert group.count == 2
    assert "value" in group.names
    assert "near" not in group.names


def test_a_value_is_a_name_only_if_the_agent_has_seen_it(collect, ticket_task):
    secret = {"id": 4242, "title": "x", "description": "", "status": "Open", "priority": 1, "created_by": "ann"}
    config = {"TicketAPI": {**ticket_task.initial_config["TicketAPI"], "ticket_queue": [secret]}}
    task = ticket_task.model_copy(update={"initial_config": config})
    [blind] = collect(["get_ticket(ticket_id=99)"], task=task)
    [seeing] = collect(["get_user_tickets()", "get_ticket(ticket_id=99)"], task=task)
    assert blind.failures[0].values["known"] == [4242]
    assert "known" not in blind.names
    assert "known" in seeing.names


def test_the_tools_of_the_domain_come_first(collect):
    assert collect(["mean(numbers=[])"])[0].offered[0] == "logarithm"
    assert collect(["get_ticket(ticket_id=99)"])[0].offered[0] == "create_ticket"


def test_what_runs_well_gives_nothing(collect):
    assert collect(["create_ticket(title='Lamp')"]) == collect_failures([]) == []


def test_a_withheld_tool_that_runs_tells_nothing(withheld_task):
    calls = ['<tool_call>[{"name": "close_ticket", "arguments": {"ticket_id": 99}}]</tool_call>']
    assert collect_failures([(withheld_task, calls)], offer="official") == []
