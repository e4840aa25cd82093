import asyncio
import json

import pytest
from feedback.proposing.server import DROP, ScriptedServer, status

from envtune_gym import Task
from envtune_gym.asking import ChatModel, ModelSettings
from envtune_gym.errors import ServerError
from envtune_gym.tasks import TOOLS_ADDED_MESSAGE
from envtune_gym.tasks.generation.proof import prove
from envtune_gym.tasks.paraphrase import TaskRecord, paraphrase_task, rewritten

GOOD = ("I need a ticket named 'Lamp' saying the lamp is broken.", "Now close it, and tell me the mean of 1, 2 and 6.")


def said(text):
    return json.dumps({"message": text})


@pytest.fixture
def server():
    scripted = ScriptedServer(otherwise=lambda request: said("Nothing was scripted for this."))
    yield scripted
    scripted.close()


@pytest.fixture
def paraphrase(server, ticket_task):
    """Paraphrase a task with scripted replies; return the record and the new task."""

    def paraphrase(*script, task=ticket_task, **settings):
        server.script = list(script)

        async def ask():
            async with ChatModel(ModelSettings("m", server.url, **{"retries": 2, "timeout": 10, **settings})) as model:
                return await paraphrase_task(task, model)

        record = asyncio.run(ask())
        assert TaskRecord.model_validate_json(record.model_dump_json()) == record
        return record, rewritten(task, record)

    return paraphrase


def test_a_task_in_other_words(paraphrase, ticket_task):
    record, task = paraphrase(*map(said, GOOD))
    assert task.turns == GOOD
    assert task.id == "ticket-paraphrased"
    assert [(m.kept, m.attempts) for m in record.messages] == [(None, 1)] * 2
    same = {"ground_truth", "initial_config", "category", "source", "source_version", "domains"}
    assert task.model_dump(include=same) == ticket_task.model_dump(include=same)
    prove(task)


def test_the_seed_is_in_the_id_and_goes_to_the_server(paraphrase, server):
    assert paraphrase(*map(said, GOOD), seed=3)[1].id == "ticket-paraphrased3"
    assert {request["seed"] for request in server.requests} == {3}


def test_what_the_model_is_told(paraphrase, server, ticket_task):
    paraphrase(*map(said, GOOD))
    first, second = (request["messages"][1]["content"] for request in server.requests)
    assert json.dumps(ticket_task.turns[0]) in first
    assert '"Lamp"' in first
    assert "Earlier messages" not in first
    assert json.dumps(list(GOOD[:1])) in second  # the conversation as it is by now
    assert "create_ticket" not in str(server.requests)


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (said("I need a ticket saying the lamp is broken."), "lost", "Lamp"),
        (said("I need a ticket 'Lamp' with id 99 saying the lamp is broken."), "added", "99"),
        (said("I need a ticket 'Lamp' saying something."), "lost", "lamp is broken"),
        (said(""), "malformed", "empty"),
        ("", "malformed", "no JSON object"),
        ("Sure! I need a ticket 'Lamp'.", "malformed", "no JSON object"),
        ('{"text": "x"}', "malformed", "message"),
        ('{"message": ["x"]}', "malformed", "message"),
        (b"<html>", "malformed", "no JSON object"),
        (said("Open a ticket 'Lamp' saying the lamp is broken."), "unchanged", "word by word"),
        (said("I need a ticket 'Lamp' saying the lamp is broken" + " please" * 60), "too long", "characters"),
    ],
)
def test_a_reply_that_is_refused_is_asked_for_again_and_three_are_the_end(paraphrase, server, reply, kind, reason):
    record, task = paraphrase(reply, said(GOOD[0]), said(GOOD[1]))
    assert (record.messages[0].attempts, task.turns) == (2, GOOD)
    again = server.requests[1]["messages"]
    assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
    assert reason in again[3]["content"].replace("\\", "")

    record, task = paraphrase(reply, reply, reply, said(GOOD[1]))
    first, second = record.messages
    assert (first.kept, first.paraphrase, first.attempts) == (kind, None, 3)
    assert reason in str(first.reasons)
    assert task.turns[0] == "Open a ticket 'Lamp' saying the lamp is broken."
    assert task.turns[1] == second.paraphrase == GOOD[1]


def test_text_around_the_object_and_line_breaks_do_no_harm(paraphrase):
    first = f"Here you are:\n```json\n{said(GOOD[0].replace(' named', chr(10) + 'named'))}\n```"
    assert paraphrase(first, said(GOOD[1].replace("'", "’")))[1].turns == GOOD  # noqa: RUF001 - typographic on purpose


@pytest.mark.parametrize("failure", [status(429), status(500), DROP])
def test_failures_of_the_server_cost_no_attempt(paraphrase, server, failure):
    record, _ = paraphrase(failure, said(GOOD[0]), failure, said(GOOD[1]))
    assert [message.attempts for message in record.messages] == [1, 1]
    assert len(server.requests) == 4


def test_a_server_that_keeps_failing_is_reported(paraphrase):
    with pytest.raises(ServerError, match="RateLimitError"):
        paraphrase(*[status(429)] * 3)


def test_a_task_of_which_all_stays_is_as_it_was(paraphrase, ticket_task):
    record, task = paraphrase(*["no"] * 6)
    assert task == ticket_task
    assert [message.kept for message in record.messages] == ["malformed"] * 2


@pytest.mark.parametrize("message", [TOOLS_ADDED_MESSAGE, "Benchmark's words: more tools are here."])
def test_that_tools_came_back_is_left_as_it_is(paraphrase, server, withheld_task, message):
    task = withheld_task.model_copy(
        update={
            "turns": (*withheld_task.turns[:2], message),
            "ground_truth": (withheld_task.ground_truth[0], (), ("close_ticket(ticket_id=7)",)),
        }
    )
    record, new = paraphrase(*map(said, GOOD), task=task)
    assert (record.messages[2].kept, record.messages[2].attempts) == ("tools added", 0)
    assert new.turns == (*GOOD, message)
    assert len(server.requests) == 2


def test_a_vague_message_does_not_gain_what_was_left_out(paraphrase):
    task = Task(
        id="vague",
        category="miss_param",
        domains=("TicketAPI",),
        initial_config={"TicketAPI": {"ticket_queue": [], "ticket_counter": 7, "current_user": "ann"}},
        turns=("Open a ticket for me.", "Call it 'lamp repair'."),
        ground_truth=((), ("create_ticket(title='lamp repair')",)),
    )
    prove(task)
    leak = "Open a ticket about the lamp repair for me."
    record, new = paraphrase(*[said(leak)] * 3, said("It should be called 'lamp repair'."), task=task)
    assert (record.messages[0].kept, new.turns[0]) == ("unproven", task.turns[0])
    assert "nothing was left out" in record.messages[0].reasons[0]
    assert new.turns[1] == "It should be called 'lamp repair'."


def test_a_task_that_is_not_fair_to_begin_with_is_left_alone(paraphrase, server, ticket_task):
    unfair = ticket_task.model_copy(
        update={"ground_truth": (("create_ticket(title='Desk')",), ticket_task.ground_truth[1])}
    )
    record, task = paraphrase(task=unfair)
    assert task == unfair
    assert {message.kept for message in record.messages} == {"task not proven"}
    assert "Desk" in record.messages[0].reasons[0]
    assert server.requests == []
