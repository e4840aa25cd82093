import sys

import pytest
from training_logs import write_run


@pytest.fixture
def runs(tmp_path):
    return [
        write_run(tmp_path / "direct-1", accuracies=[0.25]),
        write_run(tmp_path / "direct-2", (0.3, 0.2, 0.2), "abb", seed=2),
        write_run(tmp_path / "tu|ned", more="beta: 0.1"),
    ]


def test_tables_are_printed_and_written_with_pictures(envtune, runs, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, error = envtune("report", *runs, "--out", tmp_path / "new" / "report")
    assert (code, error) == (0, "")
    page = (tmp_path / "new" / "report" / "report.md").read_text()
    for words in ("Outcome by stage", "By domain", "Validation accuracy", "25.0%", "gradient norm"):
        assert words in " ".join(out.split())
        assert words in page
    assert "| direct | a | 1 | 2 (1..2) | 0.225 (0.150..0.300) |" in page
    assert "tu\\|ned" in page
    assert "![Outcome by batch of rollouts](learning.png)" in page
    for name in ("learning", "training", "categories", "domains", "costs"):
        assert (tmp_path / "new" / "report" / f"{name}.png").stat().st_size > 1000


def test_the_report_of_one_run_is_within_it(envtune, runs):
    code, out, _ = envtune("report", runs[0], "--no-pictures")
    assert code == 0
    assert "Settings that differ" not in out
    assert [path.name for path in (runs[0] / "report").iterdir()] == ["report.md"]
    assert "png" not in (runs[0] / "report" / "report.md").read_text()


def test_the_report_as_json(envtune_json, runs, tmp_path):
    report = envtune_json("report", *runs, "--no-pictures", "--out", tmp_path / "report")
    assert [(group["name"], len(group["runs"])) for group in report["groups"]] == [("direct", 2), ("tu|ned", 1)]
    assert report["groups"][0]["curves"]["validation_accuracy"] == {
        "batch": [1], "mean": [0.25], "low": [0.25], "high": [0.25],
    }  # fmt: skip
    assert "By category: means over the batches that have it" in [table["title"] for table in report["tables"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{run} {run}", "given twice"),
        ("{tmp}", "no training run in"),
        ("{run} --out {run}/updates.jsonl", "cannot write"),
    ],
)
def test_mistakes_are_a_line_on_stderr(words, said, envtune, runs, tmp_path):
    code, out, error = envtune("report", *words.format(run=runs[0], tmp=tmp_path).split(), "--no-pictures")
    assert (code, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1


def test_without_matplotlib_tables_can_be_had(envtune, runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, error = envtune("report", runs[0])
    assert (code, out) == (2, "")
    assert "pip install 'envtune-gym[viz]'" in error
    assert not (runs[0] / "report").exists()
    assert envtune("report", runs[0], "--no-pictures")[0] == 0
