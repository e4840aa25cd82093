import argparse
import json

import pytest

pytest.importorskip("torch")

from speed_report import markdown, report

COLUMNS = {"engine": ("name", ""), "tokens/s": ("speed", ",.0f")}
ROWS = [{"name": "fast", "speed": 12_345.6}, {"name": "unknown", "speed": None}, {"name": "none"}]


def test_figures_are_written_as_their_column_says_and_missing_ones_are_blank():
    assert markdown(COLUMNS, ROWS) == (
        "| engine | tokens/s |\n| - | - |\n| fast | 12,346 |\n| unknown |  |\n| none |  |\n"
    )


def test_a_report_is_a_table_and_the_figures_behind_it(tmp_path):
    out = tmp_path / "deep" / "down"
    args = argparse.Namespace(batches=[1, 2], out=out)
    for number in (1, 3):
        report(out, "speed", args, COLUMNS, ROWS[:number])
    assert (out / "speed.md").read_text().endswith(markdown(COLUMNS, ROWS))
    figures = json.loads((out / "speed.json").read_text())
    assert figures["rows"] == ROWS
    assert figures["arguments"]["batches"] == [1, 2]
    report(None, "speed", args, COLUMNS, ROWS)  # nowhere to write to
