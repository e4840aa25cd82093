import pytest


def test_coverage_is_counted_and_written_into_a_page(envtune, envtune_json, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- coverage: begin -->\nold\n<!-- coverage: end -->\nAfter.\n")
    report = envtune_json("hints", "coverage", "--limit", 6, "--generated", 8, "--page", page)
    total = report["total"]
    assert report["episodes"] == 8
    assert total["failures"] == sum(cause["failures"] for cause in report["causes"]) > 200
    text = page.read_text()
    assert text.startswith("Before.\n")
    assert text.endswith("<!-- coverage: end -->\nAfter.\n")
    assert f"| all | {total['failures']:,} |" in text
    assert "old" not in text
    code, out, _ = envtune("hints", "coverage", "--limit", 6, "--generated", 8)
    assert code == 0
    assert f"{total['failures']:,} failing calls" in out


def test_a_page_without_marks_is_refused_at_once(envtune, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("No marks.")
    code, _, err = envtune("hints", "coverage", "--page", page)
    assert code == 2
    assert "mark it by the lines <!-- coverage: begin -->" in err


def test_the_learner_is_measured_with_each_feedback(envtune, envtune_json):
    arguments = ("hints", "measure", "--limit", 60, "--kinds", "withheld_tool,unknown_argument", "--per-kind", 5)
    report = envtune_json(*arguments, "--feedback", "off,written")
    assert list(report["feedback"]) == ["off", "written"]
    assert report["feedback"]["off"]["by_kind"]["withheld_tool"]["share"] == 0
    assert report["feedback"]["written"]["by_kind"]["withheld_tool"]["share"] == 1
    code, out, _ = envtune(*arguments, "--feedback", "off")
    assert code == 0
    assert "withheld_tool" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "typo"], "unknown kind of corruption 'typo'; known: misspelt_tool"),
        (["--feedback", "loud"], "unknown feedback 'loud'; known: off, error, automatic, written"),
        (["--feedback", ","], "name at least one feedback"),
    ],
)
def test_unknown_names_are_refused(envtune, words, message):
    code, _, err = envtune("hints", "measure", "--limit", 3, *words)
    assert code == 2
    assert message in err
