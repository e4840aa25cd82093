"""What a run writes is what reports and readers of rollouts expect."""

import json

import pytest

pytest.importorskip("trl")

from envtune_gym.cli import main
from envtune_gym.tasks import save_jsonl
from envtune_gym.training import grpo

from .conftest import TASKS


def test_a_run_can_be_reported_and_its_rollouts_read(settings, tmp_path, capsys):
    save_jsonl(TASKS, tmp_path / "tasks.jsonl")
    grpo.train(settings(tasks={"source": str(tmp_path / "tasks.jsonl"), "split": "all"}), validation=TASKS)
    run = str(tmp_path / "run")
    capsys.readouterr()

    assert main(["report", run, "--no-pictures", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rows = {table["title"].partition(":")[0]: table["rows"] for table in report["tables"]}
    [row] = rows["Runs"]
    assert (row["batches"], row["rollouts"], row["updates"]) == ("2 of 2", 4, 4)
    assert [(row["stage"], row["from batch"]["mean"]) for row in rows["Outcome by stage"]] == [
        ("first", 1),
        ("second", 2),
    ]
    for table in ("Outcome by stage", "Training by stage", "Costs of a batch"):
        assert all(value is not None for row in rows[table] for value in row.values())
    assert [row["domain"] for row in rows["By domain, where a task counts in each of its domains"]] == ["TicketAPI"]
    assert report["groups"][0]["curves"]["validation_accuracy"]["batch"] == [1, 2]

    assert main(["rollouts", run, "--limit", "4", "--json"]) == 0
    rollouts = json.loads(capsys.readouterr().out)
    assert [(rollout["step"], rollout["notes"]) for rollout in rollouts] == [(1, [])] * 2 + [(3, [])] * 2
    assert all(rollout["conversation"][0]["content"] == TASKS[0].turns[0] for rollout in rollouts)
