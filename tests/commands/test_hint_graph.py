import json

import pytest

from envtune_gym.feedback.automatic import ToolGraph


def test_the_graph_of_a_domain_is_shown_and_drawn(envtune, tmp_path):
    code, out, _ = envtune("hints", "graph", "--domains", "VehicleControlAPI")
    assert code == 0
    assert "pressBrakePedal" in out
    assert "authenticate_travel" not in out
    picture = tmp_path / "graph.md"
    code, out, _ = envtune("hints", "graph", "--domains", "VehicleControlAPI", "--out", picture)
    assert code == 0
    assert "lockDoors --> startEngine" in picture.read_text()


def test_tasks_are_mined_and_the_counts_kept(envtune, envtune_json, task_file, tmp_path):
    graph = envtune_json("hints", "graph", "--from", "tasks", "--tasks", task_file)
    assert graph["feeds"]["close_ticket.ticket_id"] == {"create_ticket.id": 1}
    assert graph["feeds"]["create_ticket.title"] == {"user": 1}
    code, _, _ = envtune("hints", "graph", "--from", "tasks", "--tasks", task_file, "--out", tmp_path / "g.json")
    assert code == 0
    assert ToolGraph.from_dict(json.loads((tmp_path / "g.json").read_text())).to_dict() == graph


def test_recorded_runs_are_mined(envtune, envtune_json, task_file, tmp_path):
    runs = tmp_path / "runs.jsonl"
    assert envtune("replay", "--tasks", task_file, "--out", runs)[0] == 0
    graph = envtune_json("hints", "graph", "--from", runs, "--tasks", task_file)
    assert set(graph["turns"]) == {"create_ticket", "close_ticket", "mean"}


@pytest.mark.parametrize("words", [["hints", "graph", "--from"], ["replay", "--actions"], ["tasks", "show"]])
def test_what_the_default_source_lacks_is_told_with_the_flag_that_finds_it(envtune, tmp_path, words):
    runs = tmp_path / "runs.jsonl"
    runs.write_text(json.dumps({"task_id": "multi_turn_base_150", "messages": []}))
    code, _, err = envtune(*words, "multi_turn_base_150" if words[-1] == "show" else runs)
    assert code == 2
    assert "--tasks bfcl" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "graph.gif"], "must end in"),
        (["--split", "train"], "add: --from tasks"),
        (["--from", "nothing.jsonl"], "cannot read"),
    ],
)
def test_mistakes_are_explained_in_a_line(envtune, words, message):
    code, _, err = envtune("hints", "graph", *words)
    assert code == 2
    assert message in err
