"""What a run writes is what reports and readers of rollouts expect."""

import json

import pytest

pytest.importorskip("trl")

from training_logs import write_run

from envtune_gym.cli import main
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings, write_episodes
from envtune_gym.tasks import save_jsonl
from envtune_gym.training import grpo

from .conftest import TASKS

EVALUATION = "Evaluation after training, where a task counts in each of its domains"


def test_a_run_can_be_reported_and_its_rollouts_read(settings, tmp_path, capsys):
    save_jsonl(TASKS, tmp_path / "tasks.jsonl")
    tasks = {"source": str(tmp_path / "tasks.jsonl"), "split": "all"}
    evaluation = {"name": "both", "tasks": tasks, "feedback": ["off", "error"], "samples": 2}
    grpo.train(settings(tasks=tasks, evaluations=[evaluation]), validation=TASKS)
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
    assert [(row["feedback"], row["tasks"], row["episodes"]["mean"]) for row in rows[EVALUATION]] == [
        (feedback, name, 4) for feedback in ("off", "error") for name in ("all", "base", "TicketAPI")
    ]

    assert main(["rollouts", run, "--limit", "4", "--json"]) == 0
    rollouts = json.loads(capsys.readouterr().out)
    assert [(rollout["step"], rollout["notes"]) for rollout in rollouts] == [(1, [])] * 2 + [(3, [])] * 2
    assert all(rollout["conversation"][0]["content"] == TASKS[0].turns[0] for rollout in rollouts)


def _episode(number, success, evaluation="held out", **more):
    options = {} if evaluation is None else {"evaluation": evaluation}
    run = RunSettings(policy="local:x", options=options)
    return EvaluatedEpisode(
        task_id=str(number), success=success, progress=float(success) or 0.5, run=run, messages=[], **more
    )


def _write_tested_run(directory, seed, solved):
    """Write a run that was tested on two tasks, and solved as many of them."""
    kinds = [
        {"category": "base", "domains": ["MathAPI"]},
        {"category": "miss_func", "domains": ["MathAPI", "TravelAPI"]},
    ]
    episodes = [_episode(number, number < solved, **kind) for number, kind in enumerate(kinds)]
    write_episodes(episodes, write_run(directory, seed=seed) / "evaluations.jsonl")
    return str(directory)


def test_what_was_tested_is_a_mean_over_runs_with_its_range(tmp_path, capsys):
    runs = [_write_tested_run(tmp_path / f"run-{seed}", seed, solved) for seed, solved in ((1, 1), (2, 2))]
    assert main(["report", *runs, "--no-pictures", "--json", "--out", str(tmp_path / "report")]) == 0
    [table] = [one for one in json.loads(capsys.readouterr().out)["tables"] if one["title"] == EVALUATION]
    assert {row["evaluation"] for row in table["rows"]} == {"held out"}
    assert {row["tasks"]: (row["episodes"]["mean"], *row["success"].values()) for row in table["rows"]} == {
        "all": (2, 0.75, 0.5, 1.0),
        "base": (1, 1.0, 1.0, 1.0),
        "miss_func": (1, 0.5, 0.0, 1.0),
        "MathAPI": (2, 0.75, 0.5, 1.0),
        "TravelAPI": (1, 0.5, 0.0, 1.0),
    }
    assert table["rows"][0]["progress"] == {"mean": 0.875, "low": 0.75, "high": 1.0}
    page = (tmp_path / "report" / "report.md").read_text()
    assert "| run | held out | off | TravelAPI | 1 | 50.0% (0.0..100.0) | 75.0% (50.0..100.0) |" in page


def test_runs_that_were_not_tested_have_no_such_table(tmp_path, capsys):
    assert main(["report", str(write_run(tmp_path / "run")), "--no-pictures", "--json"]) == 0
    assert EVALUATION not in [table["title"] for table in json.loads(capsys.readouterr().out)["tables"]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (_episode(0, True, evaluation=None).model_dump_json(), "does not say which evaluation"),
        ('{"task_id": "x"}', "run: Field required"),
    ],
)
def test_what_is_no_evaluation_is_named(line, said, tmp_path, capsys):
    (write_run(tmp_path / "run") / "evaluations.jsonl").write_text(line + "\n")
    assert main(["report", str(tmp_path / "run"), "--no-pictures"]) == 2
    assert f"evaluations.jsonl, line 1: {said}" in capsys.readouterr().err
