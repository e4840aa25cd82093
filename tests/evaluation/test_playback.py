import pytest

from envtune_gym import TaskSet
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.errors import DataError
from envtune_gym.evaluation.playback import look_again, play_again
from envtune_gym.evaluation.runs.records import RunSettings


def call(name, thought=None, **arguments):
    return render_calls([Call(name, arguments)], "tool_call", thought=thought)


DONE = render_answer("Done.", "tool_call")
OPEN = call("create_ticket", title="Lamp", description="The lamp is broken.")
CLOSE = call("close_ticket", ticket_id=7)
MEAN = call("mean", numbers=[1, 2, 6])


def play(task, *messages, **settings):
    return play_again(task, messages, RunSettings(policy="test", **settings))


def test_a_solved_episode_has_its_calls_results_and_verdicts(ticket_task):
    playback = play(ticket_task, OPEN, DONE, CLOSE, MEAN, DONE)
    first, second = playback.turns
    assert playback.success
    assert playback.error_type is None
    assert first.request == ticket_task.turns[0]
    assert first.steps[0].calls == ("create_ticket(title='Lamp', description='The lamp is broken.')",)
    assert first.steps[1].answer == "Done."
    assert [result.tool for step in second.steps for result in step.results] == ["close_ticket", "mean"]
    assert second.expected == ticket_task.ground_truth[1]
    assert all(turn.result.passed and not turn.differences for turn in playback.turns)


def test_a_wrong_state_is_told_by_what_is_missing_extra_and_different(ticket_task):
    wrong = call("create_ticket", title="Lump", description="The lamp is broken.")
    playback = play(ticket_task, wrong, DONE, DONE)
    first, second = playback.turns
    assert not first.result.passed
    assert [(one.kind, one.where, one.expected, one.actual) for one in first.differences] == [
        ("different", "TicketAPI.ticket_queue[0].title", "Lamp", "Lump")
    ]
    assert {one.where for one in second.differences} >= {"TicketAPI.ticket_queue[0].status"}
    assert playback.error_type == "multi_turn:instance_state_mismatch"


def test_an_episode_that_stopped_early_shows_the_open_turn(ticket_task):
    playback = play(ticket_task, OPEN, DONE, MEAN)
    first, second = playback.turns
    assert first.result.passed
    assert second.result is None
    assert [one.where for one in second.differences] == ["TicketAPI.ticket_queue[0].status"]
    assert playback.finished == 1


def test_messages_after_the_end_are_kept_apart(ticket_task):
    playback = play(ticket_task, DONE, DONE, "more", "and more")
    assert playback.unsent == ("more", "and more")
    assert len(playback.turns) == 2


@pytest.mark.parametrize("message", [call("get_ticket", ticket_id=99), call("no_such_tool"), "<tool_call>[oops"])
def test_hints_stand_apart_from_the_official_text(ticket_task, message):
    plain, told = (play(ticket_task, message, feedback=to).turns[0].steps[0].results[0] for to in ("off", "error"))
    assert not plain.is_augmented
    assert plain.hint == ""
    assert told.official == plain.text
    assert told.is_augmented
    assert told.hint
    assert told.hint in told.text.replace('\\"', '"')
    assert not told.hint.startswith(("{", "Hint:"))


def test_a_note_on_the_turn_before_stands_apart_from_the_request(ticket_task):
    second = play(ticket_task, DONE, DONE, feedback="diagnostic").turns[1]
    assert second.request == ticket_task.turns[1]
    assert "none was made" in second.note


def test_thoughts_and_breaches_of_the_format_are_told(ticket_task):
    playback = play(ticket_task, call("mean", thought="Averaging.", numbers=[1]), "plainly said")
    thoughtful, informal = playback.turns[0].steps
    assert thoughtful.thought == "Averaging."
    assert thoughtful.format_ok
    assert informal.answer == "plainly said"
    assert not informal.format_ok


def test_the_settings_of_the_run_count(ticket_task, withheld_task):
    assert play(ticket_task, "[mean(numbers=[1, 2, 6])]", action_format="python").turns[0].steps[0].calls
    limited = play(ticket_task, MEAN, MEAN, MEAN, max_steps_per_turn=1)
    assert limited.unsent == (MEAN,)
    refused, ran = (
        play(withheld_task, CLOSE, offer=offer).turns[0].steps[0].results[0].error for offer in ("strict", "official")
    )
    assert (refused, ran) == ("unknown_tool", "ticket_not_found")
    with pytest.raises(DataError):
        play(ticket_task, DONE, feedback="error", hints="nowhere.yaml")


def look(task, *messages, success=False, turns=2, **settings):
    run = RunSettings(policy="test", **settings)
    return look_again(lambda: task, messages, run, success=success, turns=turns)


def test_what_differs_from_the_record_is_said(ticket_task):
    early = "played again, the episode ended before its last messages"
    assert look(ticket_task, DONE, DONE).notes == []
    assert look(ticket_task, DONE, DONE, "more").notes == [early]
    assert look(ticket_task, DONE, DONE, "more", success=True).notes == [early, "played again, it was not solved"]
    assert look(ticket_task, DONE, DONE, turns=1).notes == ["played again, 2 turns were finished, not 1"]
    assert look(ticket_task, DONE, DONE).task == ticket_task


def test_what_cannot_be_played_again_says_why(ticket_task):
    missing = look_again(
        lambda: TaskSet([ticket_task]).get("stranger"), [DONE], RunSettings(policy="test"), success=False, turns=0
    )
    assert (missing.task, missing.playback) == (None, None)
    assert missing.notes[0].startswith("results not shown: no task 'stranger'")
    assert "nowhere.yaml" in look(ticket_task, DONE, feedback="error", hints="nowhere.yaml").notes[0]
