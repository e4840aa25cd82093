import json

import pytest


@pytest.fixture
def two_runs(envtune, task_file, tmp_path):
    """Runs of two tasks: one that solves both, one that gives up on the first."""
    good, poor = tmp_path / "good.jsonl", tmp_path / "poor.jsonl"
    envtune("replay", "--tasks", task_file, "--out", good)
    lines = [json.loads(line) for line in good.read_text().splitlines()]
    lines[0] |= {"success": False, "error_type": "multi_turn:empty_turn_model_response", "progress": 0.0}
    poor.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return poor, good


def test_flipped_tasks_as_json(envtune_json, two_runs):
    found = envtune_json("compare", *two_runs)
    assert found["runs"] == ["poor.jsonl", "good.jsonl"]
    assert [flip["task_id"] for flip in found["gained"]] == ["ticket"]
    assert found["total"]["accuracy"] == [0.5, 1.0]
    assert found["total"]["p_value"] == 1.0


def test_flipped_tasks_as_tables(envtune, two_runs):
    code, out, _ = envtune("compare", *two_runs)
    assert code == 0
    for words in ("Only good.jsonl solved", "ticket", "+50.0", "feedback off"):
        assert words in out


def test_runs_without_a_common_task_are_refused(envtune, two_runs, task_file, tmp_path):
    other = tmp_path / "other.jsonl"
    lines = two_runs[1].read_text().splitlines()
    other.write_text(json.dumps({**json.loads(lines[0]), "task_id": "unknown"}) + "\n")
    code, _, error = envtune("compare", two_runs[1], other)
    assert (code, "no task in common" in error) == (2, True)
