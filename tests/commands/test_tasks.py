import json

import pytest

from envtune_gym import Task, load_tasks


def test_list(envtune, envtune_json, task_file):
    rows = envtune_json("tasks", "list", "--tasks", task_file)
    assert rows[0] == {"id": "ticket", "category": "base", "domains": ["TicketAPI", "MathAPI"], "turns": 2, "calls": 3}
    _, out, _ = envtune("tasks", "list", "--tasks", task_file, "--categories", "miss_func")
    assert "withheld" in out
    assert "TicketAPI, MathAPI" in out
    assert "Tasks (1)" in out


def test_show(envtune, envtune_json, task_file, withheld_task):
    code, out, _ = envtune("tasks", "show", "withheld", "--tasks", task_file)
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert "turn 0: Open a ticket 'Lamp' saying the lamp is broken." in lines
    assert "excluded: get_ticket" in lines
    assert "(nothing to call)" in lines
    after = lines.index("from turn 2 on, withheld before: close_ticket")
    assert lines[after + 1 : after + 4] == [
        "turn 2: More tools are here now.",
        "close_ticket(ticket_id=7)",
        "mean(numbers=[1, 2, 6])",
    ]
    [shown] = envtune_json("tasks", "show", "withheld", "--tasks", task_file)
    assert Task(**shown) == withheld_task


def test_show_prints_brackets_as_they_are(envtune, tmp_path, ticket_task):
    path = tmp_path / "tasks.jsonl"
    turns = ["Open [bold]it[/bold] :smile: [/]", "Go on."]
    path.write_text(json.dumps({**ticket_task.model_dump(mode="json"), "turns": turns}) + "\n")
    assert turns[0] in envtune("tasks", "show", "ticket", "--tasks", path)[1]


def test_audit(envtune, envtune_json, tmp_path, ticket_task):
    path = tmp_path / "tasks.jsonl"
    truth = [["create_ticket(title='Lamp', description='It fell.')"], []]
    path.write_text(json.dumps({**ticket_task.model_dump(mode="json"), "ground_truth": truth}) + "\n")
    audit = envtune_json("tasks", "audit", "--tasks", path)
    [finding] = audit["findings"]
    assert (audit["tasks"], finding["task_id"], finding["turn"], finding["call"]) == (1, "ticket", 0, 0)
    code, out, _ = envtune("tasks", "audit", "--tasks", path, "--details")
    assert code == 0
    assert finding["kind"] in out
    assert f"ticket, turn 0, call 0: {finding['kind']}" in out
    assert finding["detail"] not in envtune("tasks", "audit", "--tasks", path)[1]


def test_the_audit_says_that_a_failing_call_is_no_failed_task(envtune, envtune_json, tmp_path, ticket_task):
    path = tmp_path / "tasks.jsonl"
    truth = [["get_ticket(ticket_id=99)"], []]
    path.write_text(json.dumps({**ticket_task.model_dump(mode="json"), "ground_truth": truth}) + "\n")
    kinds = {finding["kind"] for finding in envtune_json("tasks", "audit", "--tasks", path)["findings"]}
    assert "ground_truth_fails" in kinds
    [row] = [
        line for line in envtune("tasks", "audit", "--tasks", path)[1].splitlines() if "ground_truth_fails" in line
    ]
    assert row.rstrip().endswith("a call that returns an error; the task is passed nonetheless")
    assert envtune("replay", "--tasks", path)[0] == 0


def test_export_and_read_again(envtune, task_file, tmp_path):
    path = tmp_path / "copy.jsonl"
    code, out, _ = envtune("tasks", "export", path, "--tasks", task_file)
    assert code == 0
    assert "2 tasks" in out
    assert list(load_tasks(path)) == list(load_tasks(task_file))


def test_export_generated_tasks(envtune, tmp_path):
    path = tmp_path / "generated.jsonl"
    assert envtune("tasks", "export", path, "--limit", "3", "--seed", "5")[0] == 0
    assert len(load_tasks(path)) == 3


@pytest.mark.bfcl
def test_export_in_the_form_of_the_benchmark(envtune, tmp_path):
    from envtune_gym.official import data_folder, read_jsonl

    name = "BFCL_v4_multi_turn_miss_func.json"
    words = ("--tasks", "bfcl", "--categories", "miss_func", "--format", "bfcl")
    assert envtune("tasks", "export", tmp_path / name, *words)[0] == 0
    for part in (name, f"possible_answer/{name}"):
        assert read_jsonl(tmp_path / part) == read_jsonl(data_folder() / "data" / part)
