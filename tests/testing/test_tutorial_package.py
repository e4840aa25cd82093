"""The tutorial's package, installed as anybody's would be: its tests pass, and every command knows its domain."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENVTUNE = ("-c", "import sys; from envtune_gym.cli import main; sys.exit(main())")
EXAMPLE = Path(__file__).parents[2] / "docs/examples/outside_domain"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Install the package into a folder of its own, without a network, and return what runs Python beside it."""
    source, site = tmp_path_factory.mktemp("source") / "lending", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    environment = {**os.environ, "PYTHONPATH": str(site), "HYPOTHESIS_STORAGE_DIRECTORY": str(site / "hypothesis")}

    def python(*words):
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    python("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-t", str(site), ".")
    shutil.rmtree(source / "lending_desk")  # what is tested is what was installed
    return python


@pytest.fixture(scope="module")
def tasks(run):
    return run("-m", "lending_desk").strip()


def test_its_own_tests_pass(run):
    assert " passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_its_domain_has_an_environment(run, tasks):
    code = f"""
import gymnasium as gym, envtune_gym
from envtune_gym.wrappers import AugmentedFeedbackWrapper
env = AugmentedFeedbackWrapper(gym.make("EnvTune/LendingDesk-v0", tasks={tasks!r}))
env.reset(seed=0)
call = '{{"name": "show_book", "arguments": {{"book_id": "Harbour Lights"}}}}'
print(env.step(f"<tool_call>[{{call}}]</tool_call>")[0])
"""
    told = json.loads(run("-c", code))[0]["content"]
    assert "'Harbour Lights' is not the id of a book" in told
    assert "`find_books`" in told


def test_replay_solves_its_tasks(run, tasks):
    report = json.loads(run(*ENVTUNE, "replay", "--tasks", tasks, "--json"))
    assert report["failed"] == {}
    assert report["accuracy"]["average"] == 1.0


def test_tasks_lists_audits_and_generates(run, tasks, tmp_path):
    listed = json.loads(run(*ENVTUNE, "tasks", "list", "--tasks", tasks, "--json"))
    assert {"base", "miss_func", "miss_param"} == {row["category"] for row in listed}
    assert json.loads(run(*ENVTUNE, "tasks", "audit", "--tasks", tasks, "--json"))["findings"] == []
    made = tmp_path / "made.jsonl"
    words = ("--count", "8", "--domains", "LendingDesk", "--out", str(made))
    run(*ENVTUNE, "tasks", "generate", *words)
    assert all("LendingDesk" in json.loads(line)["domains"] for line in made.read_text().splitlines())
    assert json.loads(run(*ENVTUNE, "replay", "--tasks", str(made), "--json"))["failed"] == {}


def test_hints_cover_its_failures(run, tasks):
    report = json.loads(run(*ENVTUNE, "hints", "coverage", "--tasks", tasks, "--json"))
    assert (report["off_differences"], report["score_differences"]) == (0, 0)
    assert report["total"]["failures"] == report["total"]["own"] > 100
    assert report["total"]["leaks"] == 0
