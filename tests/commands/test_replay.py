import json

import pytest


def test_the_report_as_json(envtune_json, task_file):
    report = envtune_json("replay", "--tasks", task_file)
    assert report["episodes"] == 2
    assert report["failed"] == {}
    assert report["accuracy"] == report["progress"] == {"base": 1.0, "miss_func": 1.0, "average": 1.0}
    assert [(row["name"], row["tasks"]) for row in report["by_domain"]] == [("MathAPI", 2), ("TicketAPI", 2)]
    assert report["total"]["calls"] == 6
    assert report["settings"]["offer"] == "strict"
    assert report["settings"]["feedback"] == "off"


def test_the_report_as_tables(envtune, task_file):
    code, out, _ = envtune("replay", "--tasks", task_file)
    assert code == 0
    for words in ("TicketAPI", "miss_func", "100.0%", "policy oracle", "offer strict"):
        assert words in out


def test_a_written_run_plays_again(envtune_json, task_file, tmp_path):
    out = tmp_path / "new" / "run.jsonl"
    first = envtune_json("replay", "--tasks", task_file, "--action-format", "openai", "--out", out)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["task_id"], record["success"], record["calls"]) for record in records] == [
        ("ticket", True, 3),
        ("withheld", True, 3),
    ]
    again = envtune_json("replay", "--tasks", task_file, "--action-format", "openai", "--actions", out)
    assert again["total"] == first["total"]


def test_a_file_that_holds_something_is_not_overwritten(envtune, task_file, tmp_path):
    out = tmp_path / "run.jsonl"
    out.touch()
    assert envtune("replay", "--tasks", task_file, "--out", out)[0] == 0
    kept = out.read_text()
    for words in ((), ("--actions", out)):
        code, _, error = envtune("replay", "--tasks", task_file, *words, "--out", out)
        assert code == 2
        assert error == f"error: {out} exists already: remove it, or choose another --out\n"
        assert out.read_text() == kept != ""


@pytest.fixture
def actions(tmp_path):
    """Write recorded actions."""

    def write(*lines):
        path = tmp_path / "actions.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


OPEN = "create_ticket(title='Lamp', description='The lamp is broken.')"


def test_failing_actions_exit_with_1_and_are_named(envtune, task_file, actions):
    path = actions({"task_id": "ticket", "steps": [[[OPEN]], [["close_ticket(ticket_id=7)"]]]})
    code, out, _ = envtune("replay", "--tasks", task_file, "--actions", path)
    assert code == 1
    assert "failed: ticket (multi_turn:execution_response_mismatch)" in out
    assert "50.0%" in out


def test_selected_tasks_without_recorded_actions_are_not_played(envtune_json, envtune, task_file, actions):
    path = actions({"task_id": "ticket", "steps": [[[OPEN]], [["close_ticket(7)", "mean([1, 2, 6])"]]]})
    assert envtune_json("replay", "--tasks", task_file, "--actions", path)["episodes"] == 1
    code, _, error = envtune("replay", "--tasks", task_file, "--actions", path, "--categories", "miss_func")
    assert code == 2
    assert "no selected task has recorded actions" in error


def test_actions_of_an_unknown_task_are_refused(envtune, task_file, actions):
    code, _, error = envtune(
        "replay", "--tasks", task_file, "--actions", actions({"task_id": "tickets", "messages": []})
    )
    assert code == 2
    assert "similar: ticket" in error


@pytest.mark.bfcl
@pytest.mark.parametrize("options", [(), ("--action-format", "python", "--decoder", "official")])
def test_official_ground_truths_are_valid(envtune_json, options):
    report = envtune_json("replay", "--tasks", "bfcl", "--limit", "40", "--seed", "0", *options)
    assert report["total"]["accuracy"]["value"] == report["accuracy"]["average"] == 1.0
    assert report["settings"]["offer"] == "official"
