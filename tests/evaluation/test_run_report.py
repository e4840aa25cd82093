import pytest
from training_logs import write_run

from envtune_gym.evaluation.run_figures import FIGURES, Spread, curve, stage_changes
from envtune_gym.evaluation.run_logs import group_runs, read_run
from envtune_gym.evaluation.run_report import report_dict, tables


@pytest.fixture
def groups(tmp_path):
    """Two runs that differ in their seed, the second of which stopped early, and one of another kind."""
    return group_runs(
        [
            read_run(write_run(tmp_path / "direct-1", (0.1, 0.2, 0.4, 0.4), accuracies=[0.2, 0.1])),
            read_run(write_run(tmp_path / "direct-2", (0.3, 0.2, 0.2), "abb", seed=2, accuracies=[0.4])),
            read_run(write_run(tmp_path / "other", (0.5,), "x", more="beta: 0.1\nstages: [{name: x}]")),
        ]
    )


def rows(groups, title):
    [table] = [table for table in tables(groups) if table.title.startswith(title)]
    return table.to_dict()["rows"]


def test_a_curve_is_the_mean_over_seeds_with_its_range(groups):
    direct = curve(groups[0], FIGURES["reward"])
    assert direct.batches == [1, 2, 3, 4]
    assert direct.values[0] == Spread(pytest.approx(0.2), 0.1, 0.3)
    assert direct.values[3] == Spread(0.4, 0.4, 0.4)  # the run that goes on


def test_stage_changes_are_found(groups):
    assert stage_changes(groups[0].runs[1]) == [(1, "a"), (2, "b")]


def test_stages_are_told_apart(groups):
    direct_a, direct_b, other = rows(groups, "Outcome by stage")
    assert (direct_a["runs"], direct_a["stage"], direct_b["stage"], other["stage"]) == ("direct", "a", "b", "x")
    assert direct_b["from batch"] == {"mean": 2.5, "low": 2, "high": 3}
    assert direct_a["reward"] == {"mean": pytest.approx(0.225), "low": pytest.approx(0.15), "high": 0.3}
    assert direct_a["success, end"]["low"] == 0.1  # of the last tenth, here the last batch
    assert other["hint rate"]["mean"] == 0.25


def test_what_is_not_in_the_log_is_an_empty_cell(groups):
    [training, *_] = [table for table in tables(groups) if table.title == "Training by stage"]
    shown = dict(zip([column.title for column in training.columns], training.texts()[0], strict=True))
    assert (shown["clip fraction"], shown["cut by tokens"], shown["entropy"]) == ("1.0%", "12.5%", "")


def test_a_domain_counts_the_batches_that_have_it(groups):
    found = {(row["runs"], row["domain"]): row for row in rows(groups, "By domain")}
    assert set(found) == {("direct", "MathAPI"), ("direct", "TravelAPI"), ("other", "MathAPI")}
    assert found["direct", "MathAPI"]["batches"]["mean"] == 2
    assert found["direct", "MathAPI"]["progress"] == {"mean": pytest.approx(0.25), "low": 0.25, "high": 0.25}


def test_validations_have_their_first_best_and_last(groups):
    [row] = rows(groups, "Validation")
    assert (row["stage"], row["first"]["mean"], row["last"]["mean"]) == ("a", pytest.approx(0.3), pytest.approx(0.25))
    assert row["best"] == {"mean": pytest.approx(0.3), "low": 0.2, "high": 0.4}


def test_costs_are_told_apart_by_phase(groups):
    row = rows(groups, "Costs")[0]
    assert [row[f"s {phase}"]["mean"] for phase in ("generation", "environment", "loss")] == [4, 1, 5]
    assert row["environment's share"]["mean"] == pytest.approx(0.1)
    assert row["tokens/s generated"]["mean"] == 250
    assert row["minutes in all"]["high"] == pytest.approx(40 / 60)


def test_settings_that_differ_are_named(groups):
    assert rows(groups, "Settings that differ") == [
        {"setting": "beta", "direct": "0.0", "other": "0.1"},
        {"setting": "stages.0.name", "direct": "", "other": "x"},
    ]


def test_a_difference_in_processes_alone_is_named(tmp_path):
    paths = [
        write_run(tmp_path / name, seed=seed, processes=[number] * 4)
        for name, seed, number in (("one", 1, 1), ("two", 2, 2))
    ]
    found = group_runs(map(read_run, paths))
    assert rows(found, "Settings that differ") == [{"setting": "processes", "one": "1", "two": "2"}]
    assert [run["processes"] for group in report_dict(found)["groups"] for run in group["runs"]] == [[1], [2]]


def test_ranges_are_written_where_there_are_several_runs(groups):
    outcome = next(table for table in tables(groups) if table.title.startswith("Outcome"))
    first, *_, last = outcome.texts()
    assert first[4:6] == ["0.225 (0.150..0.300)", "11.2% (7.5..15.0)"]
    assert last[4:6] == ["0.500", "25.0%"]


def test_all_of_it_is_plain_data(groups):
    direct, other = report_dict(groups)["groups"]
    assert [run["seed"] for run in direct["runs"]] == [1, 2]
    assert direct["runs"][1]["stages"] == [{"name": "a", "first_batch": 1}, {"name": "b", "first_batch": 2}]
    assert direct["curves"]["validation_accuracy"]["batch"] == [1, 2]
    assert other["curves"]["reward"] == {"batch": [1], "mean": [0.5], "low": [0.5], "high": [0.5]}
    assert other["curves"]["entropy"]["batch"] == []
