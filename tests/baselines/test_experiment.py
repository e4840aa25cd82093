import gzip
import json
import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

import yaml
from integrations.conftest import tokenizer  # noqa: F401 (a fixture)
from integrations.helpers import tiny_model
from rich.console import Console
from training_logs import write_run

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings, write_episodes

BASELINES = Path(__file__).parents[2] / "baselines"
EXPERIMENTS = sorted((BASELINES / "experiments").glob("*.yaml"))

TASKS = [(category, number) for number in (0, 1) for category in ("base", "miss_func")]
"""Two scenarios, each in two categories."""

EXPERIMENT = {
    "tasks": {"few": {"split": "train", "number": 2}},
    "warm_start": {"tasks": "few", "steps": 1},
    "settings": {"tasks": "few"},
    "methods": {
        "supervised": {"supervised": {"tasks": "few"}},
        "direct": {"stages": [{"name": "direct"}]},
        "stages 1-2": {"stages": [{"name": "one", "batches": 1}, {"name": "two"}]},
    },
    "baseline": "direct",
}


@pytest.fixture(autouse=True)
def baselines(monkeypatch):
    monkeypatch.syspath_prepend(str(BASELINES))


@pytest.fixture
def plan():
    import experiment_plan

    return experiment_plan


@pytest.fixture
def read(plan, tmp_path):
    """Read an experiment, with changes."""

    def read(**changes):
        (tmp_path / "experiment.yaml").write_text(yaml.safe_dump({**EXPERIMENT, **changes}, sort_keys=False))
        return plan.read_experiment(tmp_path / "experiment.yaml")

    return read


@pytest.fixture
def report(read, tmp_path):
    """Report the cells in `out`; return the tables and the numbers."""
    from experiment_report import write_report

    def report(against="", **changes):
        tables = write_report(read(**changes), tmp_path / "out", tmp_path / "report", against)
        assert tables == (tmp_path / "report" / "table.md").read_text()
        return tables, json.loads((tmp_path / "report" / "results.json").read_text())

    return report


@pytest.fixture
def write_cell(tmp_path):
    """Write a cell that solved some of the tasks with feedback off, and all with hints."""

    def write_cell(method, seed, solved, tasks=TASKS, **more):
        directory = tmp_path / "out" / f"{method.replace(' ', '-')}-seed{seed}"
        directory.mkdir(parents=True, exist_ok=True)
        episodes = [
            EvaluatedEpisode(
                task_id=f"gen-TravelAPI-{category}-t2g1d1-test-{number}",
                category=category,
                domains=["TravelAPI", "MathAPI"] if number else ["TravelAPI"],
                source="generated 2",
                num_turns=2,
                success=(category, number) in solved or feedback == "actionable",
                progress=1.0 if (category, number) in solved else 0.5,
                run=RunSettings(policy="x", feedback=feedback, options={"evaluation": "held out"}),
                messages=[],
            )
            for feedback in ("off", "actionable")
            for category, number in tasks
        ]
        write_episodes(episodes, directory / "evaluations.jsonl")
        summary = {"method": method, "seed": seed, "device": "a GPU", "seconds": 9.0, "training_seconds": 6.0, **more}
        (directory / "cell.json").write_text(json.dumps(summary))
        return directory

    return write_cell


@pytest.fixture
def cells(write_cell):
    """Two methods that have seed 1 in common."""
    costs = {"rollouts": 24, "tokens": {"generated": 4000}}
    direct = [
        write_cell("direct", 1, [("base", 0)], **costs),
        write_cell("direct", 2, [("base", 0), ("miss_func", 0)], **costs | {"rollouts": 26}),
    ]
    tuned = [
        write_cell("stages 1-2", 1, [("base", 0), ("base", 1), ("miss_func", 1)], **costs),
        write_cell("stages 1-2", 3, TASKS, **costs),
    ]
    for number, directory in enumerate([*direct, *tuned]):
        write_run(directory, seed=number, accuracies=[0.25, 0.5])
    write_cell("warm start", 1, [], tokens={"read": 7})


def row(tables, heading, method):
    """Return the cells of a method in the table under a heading."""
    [section] = [part for part in tables.split("\n## ") if part.startswith(heading)]
    head, found = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith(("| method ", f"| {method} "))
    )
    return list(zip(head, found, strict=True))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_can_be_begun(plan, path, tmp_path):
    experiment = plan.read_experiment(path)
    assert experiment.baseline in experiment.methods
    files = {str(tmp_path / "tasks" / f"{name}.jsonl") for name in experiment.tasks}
    for name, method in experiment.methods.items():
        settings = experiment.train_settings(name, tmp_path, tmp_path / name, "model", 2)
        assert (settings.model, settings.out, settings.seed) == ("model", str(tmp_path / name), 2)
        used = [*settings.tasks, settings.validation.tasks, *(one.tasks for one in settings.evaluations)]
        assert {tasks.source for tasks in used} <= files
        for arguments in (experiment.warm_start, method.supervised or experiment.warm_start):
            assert experiment.sft_args(arguments, tmp_path, tmp_path, 2).tasks in files


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"methods": {"both": {"stages": [{"name": "x"}], "supervised": {}}}}, "either stages or supervised"),
        ({"tasks": {"few": {"split": "train"}}}, "tasks.few.0.number"),
        ({"speed": 1}, "speed"),
    ],
)
def test_what_makes_no_experiment_is_named(changes, said, read):
    with pytest.raises(ConfigurationError, match=said):
        read(**changes)


def test_methods_may_be_added_to_what_has_begun(read, tmp_path):
    read().keep(tmp_path)
    more = {**EXPERIMENT["methods"], "other": {"stages": [{"name": "x"}]}}
    read(methods=more).keep(tmp_path)
    read().keep(tmp_path)  # with fewer again
    read(methods=more).keep(tmp_path)


@pytest.mark.parametrize("part", ["settings", "tasks", "methods.direct", "methods.other"])
def test_a_directory_is_of_one_experiment(read, tmp_path, part):
    other = {**EXPERIMENT["methods"], "other": {"stages": [{"name": "x"}]}}
    read(methods=other).keep(tmp_path)
    changes = {
        "settings": {"settings": {**EXPERIMENT["settings"], "batches": 77}, "methods": other},
        "tasks": {"tasks": {**EXPERIMENT["tasks"], "more": {"split": "train", "number": 3}}, "methods": other},
        "methods.direct": {"methods": {**other, "direct": {"stages": [{"name": "y"}]}}},
        "methods.other": {"methods": {**other, "other": {"stages": [{"name": "y"}]}}},
    }
    read().keep(tmp_path)
    with pytest.raises(ConfigurationError, match=f"other {part}; give another --out"):
        read(**changes[part]).keep(tmp_path)


def test_the_outcome_of_a_task_is_its_mean_over_seeds(cells, report):
    """With direct, the two tasks of scenario 0 come to 1 and 0.5, those of scenario 1 to 0."""
    tables, results = report()
    [_, off, against, by_seed, *_] = row(tables, "Success", "direct")
    assert off == ("held out, feedback off", "37.5 [0.0, 75.0]")
    assert against == ("against direct", "")
    assert by_seed[1] == "1: 25.0 2: 50.0"
    direct = results["results"][0]["methods"][1]
    assert direct["by_category"] == {
        "base": {"value": 0.5, "low": 0, "high": 1},
        "miss_func": {"value": 0.25, "low": 0, "high": 0.5},
    }
    assert dict(row(tables, "held out: success", "direct | off"))["TravelAPI (4)"] == "37.5"
    assert dict(row(tables, "held out: success", "direct | off"))["MathAPI (2)"] == "0.0"


def test_differences_are_over_the_seeds_that_both_have(cells, report):
    """With seed 1, the methods differ by nothing in scenario 0, and by everything in scenario 1."""
    tables, results = report()
    [_, off, against, by_seed, hinted, alike, *_] = row(tables, "Success", "stages 1-2")
    assert off[1] == "87.5 [75.0, 100.0]"
    assert against[1] == "+50.0 [+0.0, +100.0] (seed 1)"
    assert by_seed[1] == "1: 75.0 3: 100.0"
    assert (hinted[1], alike[1]) == ("100.0 [100.0, 100.0]", "+0.0 [+0.0, +0.0] (seed 1)")
    assert row(tables, "Progress", "stages 1-2")[2][1] == "+25.0 [+0.0, +50.0] (seed 1)"
    assert row(tables, "Success", "warm start")[2][1] == "-25.0 [-50.0, +0.0]"
    for one in results["results"]:
        for method in one["methods"]:
            for score in (method["success"], method["progress"]):
                for interval in filter(None, (score["value"], score["difference"])):
                    assert interval["low"] <= interval["value"] <= interval["high"]


def test_what_feedback_at_test_adds_is_over_the_same_tasks(cells, report):
    """With hints all is solved: direct gains in scenario 0 a quarter, in scenario 1 everything."""
    tables, results = report()
    heading = "What feedback at test adds"
    assert row(tables, heading, "direct")[1:] == [
        ("feedback", "held out, actionable"),
        ("success", "+62.5 [+25.0, +100.0]"),
        ("by seed", "1: +75.0 2: +50.0"),
        ("progress", "+0.0 [+0.0, +0.0]"),
    ]
    assert row(tables, heading, "stages 1-2")[2][1] == "+12.5 [+0.0, +25.0]"
    assert [gain["method"] for gain in results["feedback_at_test"]] == ["warm start", "direct", "stages 1-2"]


def test_without_the_baseline_there_are_no_differences(write_cell, report):
    write_cell("stages 1-2", 1, TASKS)
    assert row(report()[0], "Success", "stages 1-2")[1:3] == [
        ("held out, feedback off", "100.0 [100.0, 100.0]"),
        ("against direct", ""),
    ]


def test_methods_may_be_compared_with_another_one(cells, report):
    tables, _ = report(against="stages 1-2")
    assert row(tables, "Success", "direct")[2] == ("against stages 1-2", "-50.0 [-100.0, +0.0] (seed 1)")


def test_what_a_batch_took_is_without_the_first(cells, report, tmp_path):
    log = tmp_path / "out" / "direct-seed1" / "updates.jsonl"
    first, *others = log.read_text().splitlines()
    log.write_text("\n".join([json.dumps({**json.loads(first), "seconds/environment": 99.0}), *others]) + "\n")
    tables, _ = report()
    assert row(tables, "A batch of rollouts", "direct | 0")[2:] == [
        ("generation, s", "4.00"),
        ("environment, s", "1.00"),
        ("loss, s", "5.00"),
        ("all, s", "10.00"),
        ("environment, %", "10.0"),
        ("spread, %", "50"),
    ]


def test_without_the_baseline_methods_are_compared_with_the_warm_start(write_cell, report):
    write_cell("stages 1-2", 1, TASKS)
    write_cell("warm start", 1, TASKS[:3])
    tables, _ = report()
    assert row(tables, "Success", "stages 1-2")[2] == ("against warm start", "+25.0 [+0.0, +50.0]")
    assert "differences from warm start in points" in tables


def test_what_did_not_run_is_named(cells, report):
    tables, results = report()
    assert results["not_run"] == {
        "warm start": [2, 3],
        "supervised": [1, 2, 3],
        "direct": [3],
        "stages 1-2": [2],
    }
    assert "warm start (seeds 2, 3); supervised (seeds 1, 2, 3); direct (seed 3); stages 1-2 (seed 2)" in tables
    assert "| supervised |" not in tables


def test_what_training_took_is_a_mean_over_seeds(cells, report):
    tables, results = report()
    assert row(tables, "Success", "direct")[-3:] == [
        ("training seconds", "6"),
        ("tokens generated", "4,000"),
        ("rollouts", "25"),
    ]
    assert row(tables, "Success", "warm start")[-2:] == [("tokens generated", ""), ("rollouts", "")]
    assert [cell["rollouts"] for cell in results["cells"]] == [24, 26, 24, 24, None]


def test_curves_are_drawn_and_logs_kept(cells, report, tmp_path):
    pytest.importorskip("matplotlib")
    tables, _ = report()
    assert "curves.png" in tables
    assert (tmp_path / "report" / "curves.png").read_bytes().startswith(b"\x89PNG")
    logs = {path.name for path in (tmp_path / "report" / "logs").iterdir()}
    assert len(logs) == 8  # two for each of the runs, none for the warm start
    kept = gzip.decompress((tmp_path / "report" / "logs" / "stages-1-2-seed3-updates.jsonl.gz").read_bytes())
    assert kept == (tmp_path / "out" / "stages-1-2-seed3" / "updates.jsonl").read_bytes()


def test_long_logs_are_thinned(cells, report, tmp_path):
    noise = random.Random(0)
    lines = [json.dumps({"step": step, "reward": 0.5, "noise": noise.randbytes(4000).hex()}) for step in range(600)]
    (tmp_path / "out" / "direct-seed1" / "updates.jsonl").write_text("\n".join(lines) + "\n")
    tables, _ = report()
    assert "every 4th line" in tables
    kept = list((tmp_path / "report" / "logs").iterdir())
    assert sum(path.stat().st_size for path in kept) < 1_000_000
    [long] = [path for path in kept if path.name == "direct-seed1-updates.jsonl.gz"]
    assert gzip.decompress(long.read_bytes()).decode().splitlines() == lines[::4]


def test_cells_of_other_experiments_are_passed_over(cells, write_cell, report):
    write_cell("retired", 4, [], tasks=[("base", 7)])
    tables, results = report()
    assert "retired" not in tables
    assert "Seeds 1, 2, 3;" in tables
    assert len(results["cells"]) == 5


def test_broken_cells_are_named(cells, write_cell, report, tmp_path):
    directory = write_cell("supervised", 1, [], tasks=[("base", 7)])
    with pytest.raises(DataError, match=r"supervised-seed1 and .*direct-seed1 were tested on different tasks"):
        report()
    (directory / "cell.json").write_text('{"method": "supervised"}')
    with pytest.raises(DataError, match=r"cell\.json: seed: Field required"):
        report()
    write_cell("supervised", 1, [])
    (tmp_path / "out" / "copy").mkdir()
    (tmp_path / "out" / "copy" / "cell.json").write_text((directory / "cell.json").read_text())
    with pytest.raises(DataError, match="the same cell"):
        report()


def test_without_any_cell_there_is_nothing_to_report(report):
    with pytest.raises(ConfigurationError, match="no cell"):
        report()


def test_a_job_that_fails_does_not_stop_the_others(tmp_path):
    from experiment_jobs import Job, run_jobs

    def job(name, program):
        return Job(name, [sys.executable, "-c", program], tmp_path / name)

    failed = run_jobs(
        [
            job("first", "print('begun'); raise SystemExit('no [room] left')"),
            job("second", "print('fine')"),
            job("third", "import os; os.abort()"),
        ],
        2,
        Console(quiet=True),
    )
    assert [line.partition(" (")[0] for line in sorted(failed)] == ["first", "third"]
    assert "no [room] left" in sorted(failed)[0]
    assert str(tmp_path / "first" / "log.txt") in sorted(failed)[0]
    assert (tmp_path / "second" / "log.txt").read_text() == "fine\n"


@pytest.mark.slow
def test_an_experiment_from_its_file_to_its_tables(tokenizer, tmp_path, monkeypatch, capsys):  # noqa: F811
    tiny_model(tokenizer).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    simple = {"domains": ["TicketAPI"], "categories": ["base"], "levels": [1]}
    content = {
        "tasks": {
            "train": {"split": "train", "number": 4, **simple},
            "test": {"split": "test", "number": 2, **simple},
        },
        "warm_start": {
            **{"model": str(tmp_path / "tiny"), "tasks": "train", "steps": 1, "batch": 2, "micro_batch": 2},
            "max_tokens": 10_000,
        },
        "settings": {
            "tasks": "train",
            "validation": {"every": 1, "tasks": "test", "limit": 1},
            "evaluations": [{"name": "held out", "tasks": "test", "feedback": ["off"]}],
            **{"batches": 1, "groups": 1, "group_size": 2, "updates_per_batch": 1, "micro_batch": 2, "beta": 0.0},
            **{"max_prompt_tokens": 4_000, "max_completion_tokens": 100, "max_new_tokens": 5, "max_steps": 2},
            "gradient_checkpointing": False,
        },
        "methods": {"direct": {"stages": [{"name": "direct", "reward": "direct", "feedback": "off"}]}},
        "baseline": "direct",
    }
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(content))
    words = ["--config", str(tmp_path / "experiment.yaml"), "--seeds", "1", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["experiment.py", *words])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    import experiment

    def begin():
        experiment.main()
        return capsys.readouterr().out.strip()

    shown = begin()
    assert shown == (tmp_path / "out" / "report" / "table.md").read_text().strip()
    results = json.loads((tmp_path / "out" / "report" / "results.json").read_text())
    assert results["not_run"] == {}
    assert [cell["method"] for cell in results["cells"]] == ["direct", "warm start"]
    assert results["cells"][0]["rollouts"] == 2
    assert [(one["evaluation"], one["feedback"], one["tasks"]) for one in results["results"]] == [
        ("held out", "off", 2)
    ]

    played = (tmp_path / "out" / "direct-seed1" / "rollouts.jsonl").stat().st_mtime_ns
    assert begin() == shown
    assert (tmp_path / "out" / "direct-seed1" / "rollouts.jsonl").stat().st_mtime_ns == played, "done cells are kept"
