import json

import pytest
import yaml

from envtune_gym.cli import main
from envtune_gym.training.presets import PRESETS


def shown(capsys, *words):
    assert main(["train", *words, "--print-config"]) == 0
    return yaml.safe_load(capsys.readouterr().out)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_can_be_printed_and_given_as_a_file(preset, capsys, tmp_path):
    settings = shown(capsys, "--preset", preset)
    (tmp_path / "run.yaml").write_text(json.dumps(settings))
    assert shown(capsys, "--config", str(tmp_path / "run.yaml")) == settings


def test_flags_stand_over_files_and_files_over_presets(capsys, tmp_path):
    (tmp_path / "run.yaml").write_text("seed: 5\nbeta: 0.5\nlearning_rate: 3e-5\n")
    words = ["--preset", "small", "--config", str(tmp_path / "run.yaml"), "--seed", "6", "--out", "runs/x"]
    words += ["--tasks", "bfcl", "--split", "all", "--domains", "MathAPI,TicketAPI", "--limit", "9"]
    settings = shown(capsys, *words, "--set", "learning_rate=1e-5")
    assert (settings["seed"], settings["beta"], settings["learning_rate"]) == (6, 0.5, 1e-5)
    assert (settings["out"], settings["groups"]) == ("runs/x", 16)
    [tasks] = settings["tasks"]
    assert (tasks["source"], tasks["split"], tasks["limit"]) == ("bfcl", "all", 9)
    assert tasks["domains"] == ["MathAPI", "TicketAPI"]
    assert (tasks["categories"], tasks["difficulty"]) == (None, None)  # those of the preset are for its own tasks
    assert settings["validation"]["tasks"] is None


def test_the_same_source_is_only_changed(capsys):
    settings = shown(capsys, "--preset", "small", "--tasks", "generated", "--limit", "9")
    assert [(one["limit"], one["difficulty"]) for one in settings["tasks"]] == [(9, 1), (1000, 1)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--preset", "huge"], "unknown preset 'huge'"),
        (["--set", "learning_rat=1"], "similar: learning_rate"),
        (["--set", "learning_rate"], "--set takes name=value"),
        (["--config", "none.yaml"], "cannot read none.yaml"),
        (["--resume"], "--out DIR"),
        (["--resume", "--out", "nowhere"], "there is no run in nowhere"),
        (["--split", "dev"], "tasks.0.split"),
    ],
)
def test_mistakes_are_a_line_on_stderr(words, said, capsys):
    assert main(["train", *words]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("model", ["nowhere", "no/such/model", "none.gguf"])
def test_a_model_that_is_not_there_is_a_line_on_stderr(model, capsys, tmp_path, monkeypatch):
    pytest.importorskip("trl")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--preset", "demo", "--model", model]) == 2
    assert capsys.readouterr().err.startswith("error: no model ")
    assert not (tmp_path / "runs").exists()
