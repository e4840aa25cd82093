import pytest

from envtune_gym.viewer.opening import open_run
from envtune_gym.viewer.selecting import Conditions, select, view
from envtune_gym.viewer.terminal import as_data, print_runs
from tests.viewer.runs import FAILED, HOSTILE_MESSAGES, OPEN, SOLVED, TASK, played, save, save_tasks


@pytest.fixture
def make(tmp_path):
    """View runs of some episodes."""
    tasks = str(save_tasks(tmp_path / "tasks.jsonl"))

    def make(*runs):
        opened = [open_run(save(tmp_path / f"{at}.jsonl", one), tasks) for at, one in enumerate(runs)]
        return view(opened, select(opened, Conditions()), Conditions())

    return make


def test_a_run_is_printed_with_its_figures_and_episodes(make, capsys):
    print_runs(make([played(TASK, SOLVED), played(TASK, FAILED, sample=1)]), in_full=False)
    out = capsys.readouterr().out
    assert "By category" in out
    assert "wrong_argument" in out
    rows = [line.split() for line in out.splitlines() if line.strip()[:1] in ("✓", "✗")]
    assert rows == [
        ["✓", "ticket", "base", "2/2", "1.00", "1"],
        ["✗", "ticket", "#1", "base", "0/2", "0.00", "0", "wrong_argument"],
    ]
    assert "Turn 1" not in out


def test_a_conversation_is_printed_in_full(make, capsys):
    print_runs(make([played(TASK, FAILED, feedback="actionable")]), in_full=True)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for said in (
        TASK.turns[0],
        "create_ticket(title='Lump', description='Broken.')",
        '{"error": "Ticket with ID 99 not found."}',
        "hint (augmented)",
        "different TicketAPI.ticket_queue[0].title",
        '"Lamp"',
        "close_ticket(ticket_id=7)",
    ):
        assert said in lines
    assert any(line.startswith("✗ not passed, state differs") for line in lines)


def test_two_runs_are_printed_side_by_side(make, capsys):
    print_runs(make([played(TASK, SOLVED)], [played(TASK, FAILED)]), in_full=True)
    out = capsys.readouterr().out
    assert "McNemar" in out
    assert ["✓", "✗", "ticket", "base", "solved", "by", "A", "only"] in [line.split() for line in out.splitlines()]
    assert out.index("ticket in 0.jsonl") < out.index("ticket in 1.jsonl")


def test_hostile_text_can_neither_act_nor_pass_for_another_speaker(make, capsys):
    messages = [f"[red]\n  user\n{text}" for text in HOSTILE_MESSAGES]
    print_runs(
        make([played(TASK, [OPEN]).model_copy(update={"messages": messages, "broken": "\x1b[2J\n  user\nhello"})]),
        in_full=True,
    )
    out = capsys.readouterr().out
    assert "\\x1b[2J" in out
    assert "[red]" in out
    assert not set(out) & set("\x1b\x00\x07\u202e\u2066\u2028\ud800")
    assert out.splitlines().count("  user") <= out.count("Turn ")


def test_what_must_be_known_of_the_figures_stands_before_them(make, capsys):
    stranger = played(TASK, SOLVED).model_copy(update={"task_id": "stranger"})
    print_runs(make([stranger, played(TASK, SOLVED, feedback="error")]), in_full=False)
    before = capsys.readouterr().out.partition("By category")[0]
    assert "played under different settings: feedback off; feedback error" in before
    assert "1 of the episodes could not be played again" in before


def test_episodes_are_plain_data_too(make):
    (episode,) = as_data(make([played(TASK, FAILED)]))
    assert (episode["run"], episode["id"], episode["failure"]) == ("0.jsonl", "ticket", "wrong_argument")
    assert episode["turns"][0]["differences"][0][:2] == ["different", "TicketAPI.ticket_queue[0].title"]
