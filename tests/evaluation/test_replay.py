import pytest

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation import replay
from envtune_gym.tasks import load_tasks


class Player:
    """Sends the same messages whatever the task."""

    name = "fixed"

    def __init__(self, *messages):
        self._messages = messages

    def messages(self, task):
        return list(self._messages)


OPEN, CLOSE, MEAN = (
    render_calls([parse_call(text)], "tool_call")
    for text in (
        "create_ticket(title='Lamp', description='The lamp is broken.')",
        "close_ticket(ticket_id=7)",
        "mean(numbers=[1, 2, 6])",
    )
)
DONE = render_answer("Done.", "tool_call")


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_ground_truth_succeeds_in_every_format(ticket_task, withheld_task, action_format):
    seen = []
    report = replay([ticket_task, withheld_task], action_format=action_format, on_episode=seen.append)
    assert [(record.task_id, record.success, record.progress) for record in report.episodes] == [
        ("ticket", True, 1.0),
        ("withheld", True, 1.0),
    ]
    assert seen == list(report.episodes)
    assert report.failed == []
    assert report.settings["action_format"] == action_format


def test_counts_and_shares(ticket_task, withheld_task):
    report = replay([ticket_task, withheld_task], Player(OPEN, DONE, CLOSE, "<tool_call>[", MEAN, DONE))
    first, second = report.episodes
    assert (first.turns, first.num_steps, first.calls, first.errors, first.success) == (2, 6, 3, 1, True)
    # In the other task the tool is withheld in the second turn, and the recording ends before the third.
    assert (second.turns, second.errors, second.success) == (2, 2, False)
    assert second.error_type == "multi_turn:force_terminated"
    assert second.progress == pytest.approx(1 / 3)
    total = report.summary.total
    assert (total.tasks, total.accuracy.value, total.turns) == (2, 0.5, 4)
    assert [(row.name, row.tasks, row.accuracy.value) for row in report.summary.categories] == [
        ("base", 1, 1.0),
        ("miss_func", 1, 0.0),
    ]
    assert [(row.name, row.tasks) for row in report.summary.domains] == [("MathAPI", 2), ("TicketAPI", 2)]
    assert report.to_dict()["accuracy"] == {"base": 1.0, "miss_func": 0.0, "average": 0.5}
    assert report.to_dict()["failed"] == {"withheld": "multi_turn:force_terminated"}


def test_offer_is_stated_and_obeyed(withheld_task):
    early = Player(OPEN, DONE, CLOSE, DONE, MEAN, DONE)
    strict, official = (replay([withheld_task], early, offer=offer) for offer in ("strict", "official"))
    assert [report.settings["offer"] for report in (strict, official)] == ["strict", "official"]
    assert (len(strict.failed), len(official.failed)) == (1, 0)


def test_messages_after_the_end_are_not_sent(ticket_task):
    [record] = replay([ticket_task], Player(OPEN, DONE, CLOSE, MEAN, DONE, OPEN, DONE)).episodes
    assert record.success
    assert record.num_steps == 5
    assert len(record.messages) == 5


def test_nothing_to_send_is_a_failure(ticket_task):
    [record] = replay([ticket_task], Player()).episodes
    assert (record.turns, record.progress, record.error_type) == (0, 0.0, "multi_turn:force_terminated")


def test_no_task_is_refused():
    with pytest.raises(ConfigurationError, match="no task"):
        replay([])


def test_every_domain_replays_generated_tasks():
    report = replay(load_tasks("generated")[:60])
    assert report.failed == []


@pytest.mark.bfcl
def test_all_official_ground_truths_are_valid():
    report = replay(load_tasks("bfcl"))
    total = report.summary.total
    assert (total.tasks, total.calls, total.accuracy.value, total.progress.value) == (800, 4625, 1.0, 1.0)
    assert len(report.summary.domains) == 8
    assert report.summary.leaderboard == 1.0
    assert report.summary.is_complete
