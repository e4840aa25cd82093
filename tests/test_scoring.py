import pytest

from envtune_gym import score_trajectory
from envtune_gym.scoring import ground_truth

EMPTY = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"
STOPPED = "multi_turn:force_terminated"

OPEN = "create_ticket(title='Lamp', description='The lamp is broken.')"
CLOSE = "close_ticket(ticket_id=7)"
MEAN = "mean(numbers=[1, 2, 6])"


@pytest.mark.parametrize(
    ("steps", "error", "progress"),
    [
        ([[[OPEN]], [[CLOSE, MEAN]]], None, 1.0),
        ([[[OPEN]], [[MEAN], [CLOSE]]], None, 1.0),  # the order of results is free
        ([[[OPEN], ["get_ticket(ticket_id=7)"]], [[CLOSE], [MEAN]]], None, 1.0),  # harmless reads
        ([[[OPEN, MEAN]], [[CLOSE]]], None, 1.0),  # a result of an earlier turn counts
        ([[[OPEN]], [[CLOSE]]], RESPONSE, 0.5),
        ([[[OPEN]], [[MEAN]]], STATE, 0.5),
        ([[[OPEN]], []], EMPTY, 0.5),
        ([[[OPEN]], [[]]], EMPTY, 0.5),
        ([[[OPEN]], [[], []]], STATE, 0.5),  # two empty steps are not an empty turn, officially
        ([[], [[OPEN, CLOSE, MEAN]]], EMPTY, 0.5),  # the ground truth moves on; state and results catch up
        ([[[CLOSE]], [[OPEN, MEAN]]], STATE, 0.0),
        ([[[OPEN]]], STOPPED, 0.5),
        ([], STOPPED, 0.0),
        ([[[OPEN]], [[CLOSE, MEAN]], []], STOPPED, 1.0),
        ([[["not a call"]], [[CLOSE, MEAN]]], STATE, 0.0),
    ],
)
def test_verdict_and_progress(ticket_task, steps, error, progress):
    verdict = score_trajectory(ticket_task, steps)
    assert (verdict.valid, verdict.error_type, verdict.progress) == (error is None, error, progress)


def test_progress_divides_by_all_turns_however_few_were_reached(ticket_task):
    assert score_trajectory(ticket_task, [[[OPEN]]]).progress == 0.5


def test_calls_in_an_impossible_turn_cost_progress_but_not_the_verdict(withheld_task):
    asked = score_trajectory(withheld_task, [[[OPEN]], [], [[CLOSE, MEAN]]])
    acted = score_trajectory(withheld_task, [[[OPEN]], [[CLOSE]], [[MEAN]]])
    assert (asked.valid, asked.progress) == (True, 1.0)
    assert (acted.valid, acted.progress) == (True, pytest.approx(2 / 3))


def test_an_unscored_turn_of_a_base_task_passes_whatever_is_called(ticket_task):
    task = ticket_task.model_copy(update={"ground_truth": ((), (OPEN, CLOSE, MEAN))})
    verdict = score_trajectory(task, [[[OPEN]], [[CLOSE]]])
    assert [turn.passed for turn in verdict.turns] == [True, False]
    assert verdict.error_type == RESPONSE


def test_the_turn_says_which_domain_is_wrong(ticket_task):
    verdict = score_trajectory(ticket_task, [[[OPEN]], [[MEAN]]])
    assert verdict.turns[1].wrong_domains == ("TicketAPI",)
    assert (verdict.turns[1].state_ok, verdict.turns[1].response_ok) == (False, False)


def test_ground_truth_runs_once_for_equal_tasks(ticket_task):
    again = type(ticket_task).model_validate(ticket_task.model_dump())
    assert ground_truth(ticket_task) is ground_truth(again)
    other = ticket_task.model_copy(update={"initial_config": {"TicketAPI": {"ticket_counter": 8}}})
    assert ground_truth(other) is not ground_truth(ticket_task)


def test_scoring_leaves_no_trace_in_the_kept_ground_truth(ticket_task):
    states = [
        {name: domain.state() for name, domain in state.domains.items()} for state in ground_truth(ticket_task).states
    ]
    score_trajectory(ticket_task, [[[OPEN, OPEN, CLOSE]], [["logout()"]]])
    assert states == [{n: d.state() for n, d in state.domains.items()} for state in ground_truth(ticket_task).states]
    assert score_trajectory(ticket_task, [[[OPEN]], [[CLOSE, MEAN]]]).valid
