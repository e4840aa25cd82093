import argparse
import json
from pathlib import Path

import pytest

pytest.importorskip("trl")

import processes_speed
from processes_speed import AGREEMENT, COLUMNS, agreement, command, costs, played, said, with_speed_ups
from speed_report import markdown

SETTINGS = """
tasks: [{source: generated, split: train, difficulty: 1, domains: [TicketAPI], categories: [base], limit: 20}]
stages: [{name: first, reward: format, feedback: "off"}]
groups: 2
group_size: 2
updates_per_batch: 1
micro_batch: 1
beta: 0.0
entropy_bonus: 0.0
gradient_checkpointing: false
max_prompt_tokens: 8000
max_completion_tokens: 60
max_new_tokens: 6
max_steps: 2
"""


def rollouts(*rewards, task="lamp"):
    return [{"task_id": task, "reward": reward, "success": reward == 1} for reward in rewards]


def test_runs_are_compared_batch_by_batch():
    first = [rollouts(0, 1, 0, 1), rollouts(0, 0, 0, 0)]
    other = [rollouts(1, 1, 1, 0), [*rollouts(0, 0), *rollouts(0.5, 0.5, task="chair")]]
    one, two = agreement(first, other, 2)
    assert (one["reward"], one["reward_difference"], one["success_difference"]) == (0.75, 0.25, 0.25)
    # The variances of four rewards are 1/3 and 1/4; those of their means are a quarter of that.
    assert one["standard_errors"] == pytest.approx(0.25 / ((1 / 3 + 1 / 4) / 4) ** 0.5)
    assert two["standard_errors"] is None  # nothing to measure it by
    assert (one["tasks_alike"], two["tasks_alike"]) == (1.0, 0.5)
    assert said([one, two]) == (
        "tasks of the first batch: the same; over 2 batches the mean reward differs by 0.250 at most, "
        "the share solved by 25.0% at most"
    )
    assert "OTHERS" in said([two])
    assert markdown(AGREEMENT, [one]).splitlines()[2] == "| 2 | 1 | 0.750 | +0.250 | +0.7 | 75.0% | +25.0% | 100% |"


def test_a_shorter_batch_is_not_alike():
    [one] = agreement([rollouts(0, 1, 0, 1)], [rollouts(0, 1)], 2)
    assert one["tasks_alike"] == 0.5


@pytest.fixture
def logs(tmp_path):
    """Write the logs of a run of three batches, two updates each."""
    updates = []
    for batch, (generation, loss) in enumerate([(9.0, 4.0), (2.0, 1.0), (4.0, 2.0)]):
        shared = {"stage": "first", "processes": 2}
        phases = {"seconds/generation": generation, "seconds/environment": 0.5, "tokens/generated": 100.0 * batch}
        updates.append({"step": 2 * batch + 1, **shared, "reward": 0.1, "seconds/loss": loss, **phases})
        updates.append({"step": 2 * batch + 2, **shared, "seconds/loss": loss})
    lines = [{"step": step, "task_id": "lamp", "reward": 0, "success": False} for step in (1, 1, 3, 3, 5, 5)]
    for name, entries in (("updates", updates), ("rollouts", lines)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return tmp_path


def test_a_batch_costs_what_its_updates_cost_together_and_the_first_stands_apart(logs):
    assert costs(logs) == {
        "generation": 3.0,
        "environment": 0.5,
        "loss": 3.0,
        "batch": 6.5,
        "tokens": 150.0,
        "first": 17.5,
    }
    assert [len(batch) for batch in played(logs)] == [2, 2, 2]
    rows = [
        {"processes": 1, "whole": 90.0, **costs(logs)},
        {"processes": 2, "whole": 60.0, **costs(logs), "batch": 3.25},
    ]
    table = markdown(COLUMNS, with_speed_ups(rows)).splitlines()
    assert table[2] == "| 1 | 6.50 | 3.00 | 0.50 | 3.00 | 1.00 | 150 | 17.5 | 90 |"
    assert table[3].startswith("| 2 | 3.25 | 3.00 | 0.50 | 3.00 | 2.00 |")


def test_one_process_needs_no_launcher_and_several_have_the_same_settings():
    args = argparse.Namespace(
        batches=4, seed=7, preset=["small"], config=None, model="m", set=["groups=2"], launch=Path("two.yaml")
    )
    alone, three = (command(args, processes, Path("out")) for processes in (1, 3))
    assert "accelerate.commands.launch" not in alone
    assert three[three.index("--num_processes") + 1] == "3"
    assert three[-len(alone) + 1 :] == alone[1:]
    for setting in ("batches=4", "seed=7", "evaluations=[]", "groups=2"):
        assert setting in alone


def test_a_run_that_fails_is_told_with_the_end_of_its_log(tmp_path, capsys):
    command = ["--config", str(tmp_path / "none.yaml"), "--processes", "1", "--out", str(tmp_path / "out")]
    assert processes_speed.main(command) == 1
    assert "1 processes: failed after" in (text := capsys.readouterr().out)
    assert "none.yaml" in text


@pytest.mark.slow
def test_two_processes_are_compared_with_one(model, tmp_path, capsys):
    config, out = tmp_path / "run.yaml", tmp_path / "out"
    config.write_text(SETTINGS)
    command = ["--config", str(config), "--model", str(model), "--batches", "2", "--out", str(out), "--limit", "250"]
    assert processes_speed.main([*command, "--processes", "1", "2"]) == 0, capsys.readouterr().out
    assert "tasks of the first batch: the same" in capsys.readouterr().out
    rows = json.loads((out / "processes_speed.json").read_text())["rows"]
    assert [row["processes"] for row in rows] == [1, 2]
    assert not list(out.glob("*/checkpoint-*"))
