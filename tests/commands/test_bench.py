import pytest

from envtune_gym.commands import bench

FIELDS = {"name", "value", "low", "high", "unit", "compared_with", "bar"}


def test_figures_of_this_package(envtune, envtune_json, task_file):
    report = envtune_json("bench", "--tasks", task_file, "--repeats", "1")
    names = {figure["name"] for figure in report["figures"]}
    assert names == {
        "env.reset",
        "world.call, TicketAPI",
        "world.call, MathAPI",
        "step with a failing call and a hint",
        "import envtune_gym, beyond its dependencies",
    }
    for figure in report["figures"]:
        assert set(figure) == FIELDS
        assert 0 <= figure["low"] <= figure["value"] <= figure["high"]
    code, out, _ = envtune("bench", "--tasks", task_file, "--repeats", "1")
    assert code == 0
    assert "env.reset" in out
    assert "the same step without hints" in out
    assert "bar" not in out.splitlines()[2].split()  # without a bar there is no such column
    [imports] = [line for line in out.splitlines() if "import envtune_gym" in line]
    assert " ms " in imports


@pytest.mark.bfcl
def test_ratios_to_the_official_package(envtune_json):
    pytest.importorskip("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")
    report = envtune_json("bench", "--tasks", "bfcl", "--limit", "2", "--repeats", "1", "--against-official")
    bars = {figure["name"]: figure["bar"] for figure in report["figures"] if figure["bar"] is not None}
    assert list(bars.values()) == [6, 3, 10]
    official = [figure for figure in report["figures"] if "bfcl-eval" in figure["compared_with"]]
    assert len(official) == 4
    assert all(figure["unit"] == "x" and figure["value"] > 0 for figure in official)


@pytest.mark.bfcl
def test_other_tasks_cannot_be_compared(envtune, task_file):
    code, _, error = envtune("bench", "--tasks", task_file, "--against-official")
    assert code == 2
    assert "--tasks bfcl" in error


def test_without_a_checkout_a_line_says_how_to_have_one(envtune, task_file, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "_OFFICIAL_SCRIPT", tmp_path / "official_speed.py")
    code, _, error = envtune("bench", "--tasks", task_file, "--against-official")
    assert code == 2
    assert "in a checkout: pip install -e ." in error
