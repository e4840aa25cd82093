import argparse
import json

import pytest

pytest.importorskip("trl")

import loss_speed
import torch
from loss_speed import COLUMNS, Way, chosen_ways, dealt, make_rollouts, shuffled, with_ratios
from speed_report import markdown

pytestmark = pytest.mark.filterwarnings("ignore:You are using 'rollout_func'", "ignore::FutureWarning")

SMALL = [
    "--groups",
    "3",
    "--group-size",
    "4",
    "--micro-batch",
    "4",
    "--prompt",
    "30",
    "--completion",
    "8",
    "--no-bf16",
    "--repeats",
    "1",
]


@pytest.fixture
def args():
    return argparse.Namespace(groups=3, group_size=4, prompt=40, completion=10, seed=0)


def test_rollouts_have_the_shape_of_a_runs(args):
    rows = make_rollouts(args, 1_000, 0)
    prompts, completions = rows["prompt_mask"].sum(1), rows["completion_mask"].sum(1)
    assert rows["prompt_ids"].unique(dim=0).shape[0] == 3
    assert 30 <= prompts.min() <= prompts.max() <= 50
    assert 5 <= completions.min() < completions.max() <= 15
    assert rows["prompt_mask"][:, -1].all()  # padded on the left
    assert rows["completion_mask"][:, 0].all()  # and these on the right
    assert rows["num_items_in_batch"] == completions.sum()
    assert (rows["advantages"].abs() > 0.1).all()


def test_ways_score_all_rows_in_as_many_passes_as_they_say(args):
    cut = shuffled(make_rollouts(args, 1_000, 0), 4, 0, "cpu")
    for way, sizes in (
        (Way("plain"), [4, 4, 4]),
        (Way("groups"), [4, 4, 4]),
        (Way("passes", 10_000), [0, 0, 12]),
    ):
        parts = dealt(cut, way)
        assert [len(part["advantages"]) for part in parts] == sizes
    by_groups = dealt(cut, Way("groups"))
    assert [len(part["prompt_ids"].unique(dim=0)) for part in by_groups] == [1, 1, 1]


def test_each_budget_is_measured():
    args = argparse.Namespace(ways=["trl", "groups", "passes"], pass_tokens=[10, 20_000])
    assert list(map(str, chosen_ways(args))) == ["trl", "groups", "passes of 10", "passes of 20,000"]


def test_ways_are_compared_with_trls_own():
    rows = [{"way": "trl", "seconds": 3.0}, {"way": "groups", "seconds": 1.5, "peak_gb": 20.0}]
    assert [row["times_trl"] for row in with_ratios(rows)] == [1.0, 2.0]
    assert with_ratios(rows[1:])[0]["times_trl"] is None
    assert markdown(COLUMNS, with_ratios(rows)).splitlines()[3] == "| groups |  |  | 1.500 | 2.0 |  | 20.0 |  |"


def test_all_ways_come_to_the_same_gradient(model, tmp_path, capsys):
    command = [*SMALL, "--model", str(model), "--pass-tokens", "60", "1000"]
    assert loss_speed.main([*command, "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "loss_speed.json").read_text())["rows"]
    assert [row["way"] for row in rows] == ["trl", "plain", "shuffled", "groups", "passes", "passes"]
    assert [row["passes"] for row in rows] == [3, 3, 3, 3, 3, 1]
    for row in rows:
        assert row["gradient_norm"] == pytest.approx(rows[0]["gradient_norm"], rel=1e-4)
    assert "passes of 1,000" in capsys.readouterr().out


def test_a_profile_says_where_the_time_goes(model, capsys):
    assert loss_speed.main([*SMALL, "--model", str(model), "--ways", "groups", "--profile", "--top", "4"]) == 0
    said = capsys.readouterr().out
    table = said[said.index("operators by time on the host") :].splitlines()
    assert len(table[1:5]) == 4
    assert all(" x " in line for line in table[1:5])


def test_a_way_that_fails_does_not_stop_the_others(model, capsys, monkeypatch):
    def merged(micro_batches, taken):
        raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr(loss_speed, "merged", merged)
    command = [*SMALL, "--model", str(model), "--ways", "passes", "groups", "--pass-tokens", "1000"]
    assert loss_speed.main(command) == 1
    said = capsys.readouterr().out
    assert "passes of 1,000            failed: OutOfMemoryError" in said
    assert "groups  " in said
