import json
import os
import subprocess
import sys

import pytest

from envtune_gym import load_tasks

WORDS = ("tasks", "ladder", "--limit", "15")


@pytest.fixture(scope="module")
def reports():
    """What the command prints in two processes of different hash order."""
    code = f"import sys; from envtune_gym.cli import main; sys.exit(main({[*WORDS, '--json']!r}))"
    runs = [
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")
    ]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, b"")] * 2
    return [run.stdout for run in runs]


def test_the_same_seed_gives_the_same_table(reports):
    assert reports[0] == reports[1]


def test_report_says_what_it_was_measured_on(reports):
    report = json.loads(reports[0])
    version = load_tasks("generated")[0].source_version
    settings = {"tasks": 15, "split": "test", "source_version": version, "seed": 0, "feedback": "actionable"}
    assert {key: report[key] for key in settings} == settings
    assert [(rung["name"], rung["tasks"]) for rung in report["levels"]] == [(str(level), 3) for level in range(1, 6)]
    assert sum(rung["tasks"] for rung in report["categories"]) == 15
    assert report["total"]["success"]["oracle"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert set(report["total"]["progress"]) == {"oracle", "learner", "random"}


def test_feedback_is_an_argument_and_helps_the_learner(envtune_json):
    words = ("tasks", "ladder", "--limit", "100", "--seed", "1", "--feedback")
    off, written = (envtune_json(*words, level) for level in ("off", "actionable"))
    assert (off["feedback"], written["feedback"]) == ("off", "actionable")
    shares = [report["total"]["success"]["learner"]["value"] for report in (off, written)]
    assert shares[0] < shares[1]
    assert off["total"]["success"]["random"] == written["total"]["success"]["random"]


def test_another_seed_is_another_part_of_the_tasks(envtune_json, reports):
    assert envtune_json(*WORDS, "--seed", "9")["levels"] != json.loads(reports[0])["levels"]


def test_tables(envtune):
    code, out, _ = envtune("tasks", "ladder", "--limit", "9", "--feedback", "error")
    assert code == 0
    for text in ("Success: 5 generated tasks", "Progress: 5 generated tasks", "feedback error", "difficulty 5", "all"):
        assert text in out


@pytest.mark.parametrize("words", [("--feedback", "loud"), ("--limit", "4"), ("--seed", "-1")])
def test_user_mistakes_end_with_an_error(envtune, words):
    code, out, err = envtune("tasks", "ladder", *words)
    assert (code, out) == (2, "")
    assert words[0].strip("-") in err


def test_help_has_an_example(envtune):
    assert "envtune tasks ladder --limit" in envtune("tasks", "ladder", "--help")[1]
