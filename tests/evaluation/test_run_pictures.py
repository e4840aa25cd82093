import sys

import pytest
from training_logs import write_run

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation import run_pictures
from envtune_gym.evaluation.run_logs import group_runs, read_run
from envtune_gym.evaluation.run_pictures import check_matplotlib, draw, pictures

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def groups(tmp_path):
    return group_runs(
        [
            read_run(write_run(tmp_path / "direct-1", accuracies=[0.2, 0.1])),
            read_run(write_run(tmp_path / "direct-2", (0.3, -0.2, 0.2), "abb", seed=2)),
            read_run(write_run(tmp_path / "$other", (0.5,), ["$x^"], more="beta: 0.1")),
        ]
    )


def test_each_picture_is_a_file(groups, tmp_path):
    pytest.importorskip("matplotlib")
    files = [draw(picture, groups, tmp_path) for picture in pictures(groups)]
    assert [file.name for file in files] == [
        "learning.png",
        "training.png",
        "categories.png",
        "domains.png",
        "costs.png",
    ]
    assert all(file.read_bytes().startswith(PNG) for file in files)


def test_what_nobody_has_logged_is_not_drawn(groups):
    def panels(groups):
        return {picture.name: [figure.title for figure in picture.panels] for picture in pictures(groups)}

    assert "validation accuracy" in panels(groups)["learning"]
    assert "validation accuracy" not in panels(groups[1:])["learning"]
    assert panels(groups)["domains"] == ["success, MathAPI", "success, TravelAPI"]


def test_the_earliest_of_several_runs_names_a_stage(groups):
    marks = run_pictures._stage_marks(groups)
    assert [(mark.batch, mark.label, mark.color) for mark in marks] == [(3, "", "C0"), (2, "b", "C0")]


def test_stages_that_begin_together_are_marked_once(tmp_path):
    runs = [write_run(tmp_path / "one"), write_run(tmp_path / "two", more="beta: 0.1")]
    marks = run_pictures._stage_marks(group_runs(map(read_run, runs)))
    assert [(mark.batch, mark.label, mark.color) for mark in marks] == [(3, "b", "gray")]


def test_a_place_that_cannot_be_written_is_named(groups, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(DataError, match="cannot write"):
        draw(pictures(groups)[0], groups, tmp_path / "nowhere")


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    with pytest.raises(ConfigurationError, match=r"envtune-gym\[viz\]"):
        check_matplotlib()
