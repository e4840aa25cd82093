import io

import pytest

from envtune_gym.tasks import save_jsonl


@pytest.fixture
def play(envtune, monkeypatch):
    """Play with typed lines; return the exit code and what is shown."""

    def run(*lines, words=()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, out, err = envtune("play", *words)
        assert err == ""
        return code, out

    return run


@pytest.fixture
def ticket(task_file):
    return ("--tasks", task_file, "--task", "ticket")


def test_a_task_is_played_to_its_end(play, ticket):
    code, out = play(
        "create_ticket(title='Lamp', description='The lamp is broken.')",
        "/done It is open.",
        "[close_ticket(ticket_id=7), mean(numbers=[1, 2, 6])]",
        "/done",
        words=ticket,
    )
    assert code == 0
    assert "user: Open a ticket 'Lamp' saying the lamp is broken." in out
    assert "create_ticket: {" in out
    assert "turn 1 passed" in out
    assert "user: Close it and average 1, 2 and 6." in out
    assert 'mean: {"result": 3.0}' in out
    assert "solved\nreward 1, 2 of 2 turns passed\nthe state equals the ground truth's after turn 2" in out


def test_what_is_missing_extra_and_different_is_shown(play, ticket):
    lines = ("create_ticket(title='Lamp', description='Dark.')", "create_ticket(title='Moth')", "/done", "/done")
    _, out = play(*lines, words=ticket)
    assert "turn 1 failed (multi_turn:instance_state_mismatch)" in out
    assert "not solved (multi_turn:instance_state_mismatch)" in out
    assert "reward 0, 0 of 2 turns passed" in out
    assert 'different  TicketAPI.ticket_queue[0].description: "The lamp is broken." expected, "Dark." found' in out
    assert "extra      TicketAPI.ticket_queue[1]" in out


def test_tools_are_listed_and_documented(play, ticket):
    _, out = play(
        "/tools ticket", "/tools nothing of the kind", "/tool close_ticket", "/tool cd", "/quit", words=ticket
    )
    assert "create_ticket(title: str, description: str = ''" in out
    assert "sum_values(" not in out
    assert "no tool on offer has 'nothing of the kind'" in out
    assert '"name": "close_ticket"' in out
    assert "no tool on offer is named 'cd'" in out


def test_hints_are_shown_beside_the_official_result(play, ticket):
    plain = play("get_ticket(ticket_id=99)", words=(*ticket, "--feedback", "off"))[1]
    taught = play("get_ticket(ticket_id=99)", words=ticket)[1]
    official = 'get_ticket: {"error": "Ticket with ID 99 not found."}'
    assert official in plain
    assert official in taught
    assert "hint: " not in plain
    assert "hint: " in taught


def test_a_turn_that_failed_is_explained_by_the_diagnostic_level(play, ticket):
    _, out = play("/done", words=(*ticket, "--feedback", "diagnostic"))
    assert "hint: [Feedback on the turn that has just ended: the request needed tool calls" in out


def test_what_is_no_call_runs_nothing_and_ends_no_turn(play, ticket):
    _, out = play("create_ticket(title=", "hello", "", "/done create_ticket(title='Moth')", "/quit", words=ticket)
    assert out.count("these are no calls") == 2
    assert "this answer would be read as calls" in out
    assert "left in turn 1" in out
    assert "missing    TicketAPI.ticket_queue[0]" in out


def test_the_end_of_input_leaves_the_episode(play, ticket):
    code, out = play(words=ticket)
    assert code == 0
    assert "left in turn 1" in out


def test_tools_that_come_later_are_announced(play, task_file):
    _, out = play("/done", "/tools close", "/done", "/tools close", words=("--tasks", task_file, "--task", "withheld"))
    before, after = out.split("new tools are on offer: close_ticket")
    assert "no tool on offer has 'close'" in before
    assert "close_ticket(ticket_id: int)" in after


def test_too_many_steps_end_the_episode(play, ticket):
    _, out = play(*["get_ticket(ticket_id=1)"] * 5, words=(*ticket, "--max-steps-per-turn", "2"))
    assert out.count("get_ticket: {") == 3
    assert "the turn has taken too many steps" in out
    assert "not solved (multi_turn:force_terminated)" in out


def test_hostile_text_of_a_task_is_shown_as_text(play, tmp_path, ticket_task):
    hostile = "\x1b[2J[bold]Wipe[/bold]\x07"
    save_jsonl([ticket_task.model_copy(update={"turns": (hostile, "Close it.")})], tmp_path / "t.jsonl")
    _, out = play("create_ticket(title='\\x1b[31m')", "/done", words=("--tasks", tmp_path / "t.jsonl"))
    assert "\x1b" not in out
    assert "\x07" not in out
    assert r"user: \x1b[2J[bold]Wipe[/bold]\x07" in out


def test_an_unknown_task_is_one_line(envtune, task_file):
    code, out, err = envtune("play", "--tasks", task_file, "--task", "tickets")
    assert (code, out) == (2, "")
    assert "no task 'tickets'" in err
