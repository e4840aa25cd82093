import asyncio

import pytest

from envtune_gym.errors import ServerError
from envtune_gym.feedback.proposing import ChatModel, propose_all

from .server import DROP, judgement, proposal, status


def test_an_approved_proposal_becomes_an_entry(propose, server):
    entry = propose()
    assert (entry.status, str(entry.cause), entry.failures) == ("approved", "TicketAPI ticket_not_found", 1)
    assert entry.hint.error.startswith("There is no ticket")
    assert entry.proposed_by.model_dump() == {"model": "m", "host": "127.0.0.1"}
    [attempt] = entry.attempts
    assert (attempt.decided_by, attempt.reasons) == ("judge", ("It says where ids come from.",))
    assert entry.example.call == "close_ticket(ticket_id=99)"
    assert entry.decided_at.tzinfo is not None


def test_only_the_judge_sees_the_ground_truth(propose, server):
    propose()
    [to_generator], [to_judge] = server.asked("generator"), server.asked("judge")
    assert "mean(numbers=[1, 2, 6])" in str(to_judge)
    assert "mean(numbers" not in str(to_generator)


def test_the_judges_reasons_go_back_to_the_generator(propose, server):
    entry = propose(
        proposal(),
        judgement(teaches_rule=False, reasons=["Say which rule."]),
        proposal(),
        judgement(leaks_solution=True, reasons=["Too much."]),
    )
    assert (entry.status, len(entry.attempts)) == ("approved", 3)
    conversation = server.asked("generator")[2]["messages"]
    assert [message["role"] for message in conversation] == ["system", "user", *["assistant", "user"] * 2]
    assert "Say which rule." in conversation[3]["content"]
    assert "Too much." in conversation[5]["content"]


def test_three_rejections_are_the_end(propose, server):
    entry = propose(*[proposal(), judgement(is_actionable=False)] * 3)
    assert entry.status == "rejected"
    assert [attempt.approved for attempt in entry.attempts] == [False] * 3
    assert entry.hint is not None
    assert len(server.requests) == 6


def test_the_leak_check_rejects_without_asking_the_judge(propose, server):
    entry = propose(proposal(actionable=["The id of the ticket is 7."]))
    first, second = entry.attempts
    assert (first.decided_by, first.approved) == ("leak check", False)
    assert "a concrete value of the solution: 7" in first.reasons[0]
    assert second.approved
    assert len(server.asked("judge")) == 1


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("I would say that", "no JSON object"),
        ("", "no JSON object"),
        ('{"need": "x"}', "category: Field required"),
        (proposal(category="laziness"), "category: Input should be"),
        (proposal(error="Look at {value.real}."), "braces hold a plain name"),
        (proposal(error="There is no {ticket}."), "{ticket} is not one of the values"),
        (proposal(actionable=["Use `get_user_tickets`."]), "may name a tool"),
        (proposal(actionable=["Use `rm`.", "Look."]), "`rm` is not one of the tools"),
        (proposal(actionable=["Use get_user_tickets."]), "get_user_tickets is named without backticks"),
        (proposal(error="x" * 301), "error: String should have at most 300 characters"),
    ],
)
def test_a_malformed_reply_costs_an_attempt_and_is_sent_back(propose, server, reply, fault):
    entry = propose(reply)
    assert [attempt.decided_by for attempt in entry.attempts] == ["form", "judge"]
    assert fault in entry.attempts[0].reasons[0]
    assert fault in server.asked("generator")[1]["messages"][3]["content"]


def test_the_beginning_of_a_reply_without_a_proposal_is_kept_for_the_reviewer(propose):
    reply = propose("I would say that" + "." * 1_000).attempts[0].reply
    assert reply.startswith("I would say that...")
    assert len(reply) == 500


def test_a_judge_that_cannot_be_read_is_asked_once_more(propose, server):
    assert propose(proposal(), "Fine!").status == "approved"
    assert "no JSON object" in server.asked("judge")[1]["messages"][3]["content"]
    entry = propose(proposal(), "Fine!", "Fine, I said!")
    assert [attempt.approved for attempt in entry.attempts] == [False, True]
    assert "gave no decision" in entry.attempts[0].reasons[0]


@pytest.mark.parametrize("failure", [status(429), status(429, **{"retry-after": "0.001"}), status(500), DROP])
def test_failures_of_the_server_cost_no_attempt(propose, server, failure):
    entry = propose(failure, proposal(), failure)
    assert (entry.status, len(entry.attempts)) == ("approved", 1)
    assert len(server.requests) == 4


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
def test_an_answer_that_is_none_counts_as_malformed(propose, body):
    assert [attempt.decided_by for attempt in propose(body).attempts] == ["form", "judge"]


@pytest.fixture
def ask_all(collect, server, settings):
    """Ask about three causes, one after another; return the outcome and the causes that were finished."""
    groups = collect(["close_ticket(ticket_id=99)", "mean(numbers=[])", "clos_ticket(ticket_id=7)"])

    def ask_all(*script, concurrency=1):
        server.script = list(script)
        finished = []

        async def ask():
            async with ChatModel(settings) as model:
                return await propose_all(groups, model, model, finished.append, concurrency=concurrency)

        return asyncio.run(ask()), [entry.cause.code for entry in finished]

    return ask_all


def test_all_causes_are_asked_about_at_once(ask_all):
    outcome, finished = ask_all(concurrency=3)
    assert sorted(finished) == ["empty_list", "ticket_not_found", "unknown_tool"]
    assert (outcome.unanswered, outcome.stopped) == ({}, None)


def test_a_server_that_keeps_failing_stops_the_run(ask_all, server):
    outcome, finished = ask_all(None, None, *[status(503)] * 3)
    assert len(finished) == len(outcome.unanswered) == 1
    assert "InternalServerError" in outcome.stopped
    assert len(server.requests) == 5


def test_a_refused_request_leaves_its_cause_open_and_the_others_go_on(ask_all):
    outcome, finished = ask_all(status(400))
    assert (len(finished), len(outcome.unanswered), outcome.stopped) == (2, 1, None)
    assert "BadRequestError" in next(iter(outcome.unanswered.values()))


def test_one_cause_alone_reports_the_server(propose, server):
    with pytest.raises(ServerError, match=r"127\.0\.0\.1: AuthenticationError"):
        propose(status(401))
    assert len(server.requests) == 1
