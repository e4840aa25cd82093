import json

import pytest

pytestmark = pytest.mark.bfcl


@pytest.fixture
def run_file(envtune, tmp_path):
    """A run of eight official tasks by the ground truth, of which one failed."""
    path = tmp_path / "run.jsonl"
    envtune("replay", "--tasks", "bfcl", "--limit", "8", "--seed", "3", "--action-format", "openai", "--out", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0] |= {"messages": lines[0]["messages"][:1], "success": False, "error_type": "multi_turn:force_terminated"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_numbers_of_a_run(envtune, envtune_json, run_file):
    [run] = envtune_json("score", run_file)["runs"]
    assert (run["name"], run["episodes"]) == ("run.jsonl", 8)
    assert run["total"]["accuracy"]["value"] == 7 / 8
    assert run["failures"] == {"gave_up": 1}
    assert (run["feedback"], run["circumstances"]["policy"]) == ("off", "oracle")
    code, out, _ = envtune("score", run_file)
    assert code == 0
    for words in ("87.5%", "gave_up", "not comparable with the leaderboard", "feedback off", "quarantined"):
        assert words in out


def test_a_run_goes_to_official_files_and_back(envtune_json, run_file, tmp_path):
    folder, back = tmp_path / "result", tmp_path / "back" / "official.jsonl"
    exported = envtune_json("score", run_file, "--export", folder, "--model", "gpt-4o-2024-11-20-FC")
    assert sum(exported["exported"].values()) == 8
    assert exported["differing"] == []
    [run] = envtune_json("score", folder, "--out", back)["runs"]
    assert run["name"] == "gpt-4o-2024-11-20-FC"
    assert run["accuracy"] == exported["runs"][0]["accuracy"]
    assert envtune_json("score", back)["runs"][0]["accuracy"] == run["accuracy"]
    compared = envtune_json("compare", run_file, folder)
    assert (compared["pairs"], compared["gained"], compared["lost"]) == (8, [], [])


def test_a_file_that_holds_something_is_not_overwritten(envtune, run_file):
    kept = run_file.read_text()
    code, out, error = envtune("score", run_file, "--out", run_file)
    assert (code, out) == (2, "")
    assert error == f"error: {run_file} exists already: remove it, or choose another --out\n"
    assert run_file.read_text() == kept


def test_an_unfinished_or_wrong_command_line(envtune, run_file, tmp_path):
    assert envtune("score", run_file, "--export", tmp_path / "result")[0] == 2
    code, _, error = envtune("score", tmp_path / "nothing.jsonl")
    assert (code, "there is no file" in error) == (2, True)
    code, _, error = envtune("score", tmp_path)
    assert (code, "no official result file" in error) == (2, True)
    for model in ("a", "b"):
        envtune("score", run_file, "--export", tmp_path / "result", "--model", model)
    code, _, error = envtune("score", tmp_path / "result", "--out", tmp_path / "x.jsonl")
    assert (code, "holds 2 models" in error) == (2, True)
