import json

import pytest

from tests.viewer.runs import FAILED, SOLVED, TASK, played, save


@pytest.fixture
def files(tmp_path):
    """Two runs over the same tasks, the second worse."""
    first = save(tmp_path / "first.jsonl", [played(TASK, SOLVED), played(TASK, FAILED, sample=1)])
    second = save(tmp_path / "second.jsonl", [played(TASK, FAILED), played(TASK, FAILED, sample=1)])
    return first, second


def test_a_page_is_written_beside_the_file(envtune, files, task_file):
    first, _ = files
    code, out, error = envtune("view", first, "--tasks", task_file)
    assert (code, error) == (0, "")
    assert f"2 episodes in {first.with_suffix('.html')}" in out
    assert first.with_suffix(".html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("other", [0, 1])
def test_a_page_takes_the_place_of_a_page_only(other, envtune, files, task_file, tmp_path):
    before = files[other].read_text()
    code, _, error = envtune("view", files[0], "--tasks", task_file, "--out", files[other])
    assert (code, error.count("\n")) == (2, 1)
    assert "give another --out" in error
    assert files[other].read_text() == before
    for _ in range(2):
        assert envtune("view", files[0], "--tasks", task_file, "--out", tmp_path / "page.html")[0] == 0


def test_two_runs_are_compared(envtune_json, files, task_file, tmp_path):
    written = envtune_json("view", "--compare", *files, "--tasks", task_file)
    page = tmp_path / "first-against-second.html"
    assert written == {"page": str(page), "episodes": 4, "bytes": page.stat().st_size}
    written = envtune_json("view", "--compare", *files, "--tasks", task_file, "--out", tmp_path / "new/page.html")
    assert written["page"] == str(tmp_path / "new/page.html")


def test_the_terminal_shows_the_same(envtune, envtune_json, files, task_file, tmp_path):
    code, out, error = envtune("view", files[0], "--tasks", task_file, "--terminal", "--failed", "--conversations")
    assert (code, error) == (0, "")
    assert "wrong_argument" in out
    assert "Turn 2" in out
    assert not list(tmp_path.glob("*.html"))
    (episode,) = envtune_json("view", files[0], "--tasks", task_file, "--terminal", "--solved")
    assert episode["solved"]


def test_rollouts_of_a_training_run_open(envtune_json, tmp_path, task_file):
    run = tmp_path / "run"
    run.mkdir()
    line = {"task_id": "ticket", "step": 1, "stage": "first", "feedback": "error", "num_turns": 2, "messages": FAILED}
    (run / "rollouts.jsonl").write_text(json.dumps(line) + "\n" + json.dumps({**line, "step": 3}) + "\n")
    (run / "settings.yaml").write_text(json.dumps({"tasks": [{"source": task_file, "split": "all"}]}))
    first, second = envtune_json("view", run, "--terminal")
    assert (first["stage"], first["step"], second["step"]) == ("first", "1", "3")
    assert first["turns"][1]["steps"][0]["results"][0]["hint"]
    assert envtune_json("view", run)["page"] == str(run / "rollouts.html")


def test_what_replay_wrote_opens(envtune, envtune_json, task_file, tmp_path):
    envtune("replay", "--tasks", task_file, "--out", tmp_path / "replay.jsonl")
    episodes = envtune_json("view", tmp_path / "replay.jsonl", "--tasks", task_file, "--terminal")
    assert all(episode["solved"] and not episode["notes"] for episode in episodes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--failed", "--solved"], "exclude each other"),
        (["--compare"], "--compare and two files"),
        (["--task", "unknown"], "loosen"),
        (["--tasks", "nowhere"], "'generated', 'bfcl'"),
        (["--out", "/proc/nowhere/page.html"], "cannot write"),
        (["--conversations"], "goes with --terminal"),
        (["--terminal", "--out", "page.html"], "leave one of them out"),
    ],
)
def test_mistakes_are_a_line_on_stderr(words, said, envtune, files, task_file):
    tasks = [] if "--tasks" in words else ["--tasks", task_file]
    code, out, error = envtune("view", files[0], *tasks, *words)
    assert (code, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1
