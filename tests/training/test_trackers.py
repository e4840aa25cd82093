"""What trackers get of a run, read back with their own means, beside the run's own log."""

import importlib.util
import json
import os
import struct
import subprocess
import sys
from dataclasses import asdict

import pytest

pytest.importorskip("trl")

import yaml
from integrations.helpers import SOLUTION, answer, call, tiny_model

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.rollout_reading import Stage
from envtune_gym.integrations.rollout import RolloutRecord
from envtune_gym.tasks import save_jsonl
from envtune_gym.training.samples import SampleRollouts, as_markdown
from envtune_gym.training.trackers import check_trackers
from envtune_gym.wrappers import AugmentedFeedbackWrapper

from .conftest import TASKS, TINY

NAMES = ("tensorboard", "wandb", "trackio")
INSTALLED = [name for name in NAMES if importlib.util.find_spec(name)]
SCALARS = (
    "reward", "turn/1/passed", "turn/2/passed", "component/format", "rollout/hint_rate", "category/base/verdict",
    "category/base/progress", "domain/TicketAPI/verdict", "domain/TicketAPI/progress", "stage/first/verdict",
    "stage/first/progress", "seconds/generation", "seconds/environment", "seconds/loss", "tokens/prompt",
    "tokens/generated", "tokens/environment", "skipped_updates", "cut", "grad_norm",
)  # fmt: skip
EVALUATED = ("rollout/success", "component/progress", "component/format", "category/base/verdict")
PICTURE = "![x](https://example.org/x.png)"


def needs(name):
    return pytest.mark.skipif(name not in INSTALLED, reason=f"{name} is not installed: pip install {name}")


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def tracked(tokenizer, tmp_path_factory):
    """Train on a batch, for two updates, with all trackers at once; return the directory.

    It is a process of its own: trackio reads its variables once, when it is imported.
    """
    directory = tmp_path_factory.mktemp("tracked")
    tiny_model(tokenizer).save_pretrained(directory / "model")
    tokenizer.save_pretrained(directory / "model")
    save_jsonl(TASKS, directory / "tasks.jsonl")
    tasks = {"source": str(directory / "tasks.jsonl"), "split": "all"}
    settings = {
        **TINY,
        "model": str(directory / "model"),
        "out": str(directory / "run"),
        "tasks": tasks,
        "validation": {"every": 1, "tasks": tasks},
        "evaluations": [{"name": "held out", "tasks": tasks, "feedback": ["off", "error"]}],
        "batches": 1,
        "group_size": 4,
        "report_to": INSTALLED,
        "log_rollouts": 2,
    }
    (directory / "run.yaml").write_text(yaml.safe_dump(settings))
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TENSORBOARD_LOGGING_DIR": str(directory / "tensorboard"),
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(directory),
        "TRACKIO_DIR": str(directory / "trackio"),
        "HF_HUB_OFFLINE": "1",
    }
    script = "import sys; from envtune_gym.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", script, "train", "--config", str(directory / "run.yaml")]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return directory


def check_scalars(directory, logged):
    """Hold scalars (name -> update -> value) against the files of the run."""
    first, second = lines(directory / "run" / "updates.jsonl")
    assert set(SCALARS) <= set(first)
    for name in SCALARS:
        assert logged[f"train/{name}"][1] == pytest.approx(first[name], rel=1e-5), name
    for name in ("seconds/loss", "grad_norm"):
        assert logged[f"train/{name}"][2] == pytest.approx(second[name], rel=1e-5)
    [validation] = lines(directory / "run" / "validations.jsonl")
    for name in ("accuracy", "turn/1/passed", *EVALUATED):
        assert logged[f"eval/{name}"] == {2: pytest.approx(validation[name])}
    evaluations = lines(directory / "run" / "evaluations.jsonl")
    for feedback in ("off", "error"):
        played = [one for one in evaluations if one["run"]["feedback"] == feedback]
        solved = sum(one["success"] for one in played) / len(played)
        assert logged[f"test/held out/{feedback}/rollout/success"] == {2: solved}
        assert all(f"test/held out/{feedback}/{name}" in logged for name in EVALUATED)


def check_rows(directory, rows):
    """Hold a table against the rollouts of the run, of which it has the first and the third."""
    rollouts = lines(directory / "run" / "rollouts.jsonl")[::2]
    assert len(rows) == 2
    for row, rollout in zip(rows, rollouts, strict=True):
        assert (row["step"], row["stage"], row["task"]) == (1, "first", rollout["task_id"])
        assert (row["reward"], row["success"]) == (pytest.approx(rollout["reward"]), rollout["success"])
        assert row["request"].strip() == TASKS[0].turns[0]
        assert row["messages"].count("assistant:\n") == len(rollout["messages"])


@needs("tensorboard")
def test_tensorboard_has_the_figures_and_rollouts_as_text(tracked):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tracked / "tensorboard"), size_guidance={"tensors": 0})
    events.Reload()
    names = events.Tags()["scalars"]
    check_scalars(tracked, {name: {one.step: one.value for one in events.Scalars(name)} for name in names})
    [text] = events.Tensors("rollouts/text_summary")
    assert text.step == 1
    shown = text.tensor_proto.string_val[0].decode()
    assert shown.count(f"request:\n\n    {TASKS[0].turns[0]}\n") == 2
    assert shown.count("    assistant:\n") == sum(
        len(rollout["messages"]) for rollout in lines(tracked / "run" / "rollouts.jsonl")[::2]
    )


def wandb_records(file):
    """Yield the records of a run's file: blocks of 32 KiB after a head of 7 bytes, cut as LevelDB cuts its logs.

    The package has no reader of its own for what it wrote offline.
    """
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, parts = file.read_bytes(), 7, b""
    while place < len(data):
        left = 32_768 - place % 32_768
        if left < 7:  # too little for a head: the rest of the block is empty
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(parts)
            parts = b""


@needs("wandb")
def test_wandb_has_the_figures_and_a_table_of_rollouts(tracked):
    [file] = tracked.glob("wandb/offline-run-*/run-*.wandb")
    logged = {}
    for record in wandb_records(file):
        entry = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        step = entry.pop("train/global_step", None)
        for name, value in entry.items():
            logged.setdefault(name, {})[step] = value
    check_scalars(tracked, logged)
    assert logged["rollouts/_type"] == {1: "table-file"}
    content = json.loads((file.parent / "files" / logged["rollouts/path"][1]).read_text(encoding="utf-8"))
    check_rows(tracked, [dict(zip(content["columns"], row, strict=True)) for row in content["data"]])


@needs("trackio")
def test_trackio_has_the_figures_and_a_table_of_rollouts(tracked):
    read = """
import json, sys, trackio
from trackio.sqlite_storage import SQLiteStorage
[run] = trackio.Api().runs("huggingface")
json.dump(SQLiteStorage.get_logs("huggingface", run.name), sys.stdout)
"""
    environment = {**os.environ, "TRACKIO_DIR": str(tracked / "trackio")}
    shown = subprocess.run([sys.executable, "-c", read], env=environment, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    entries = json.loads(shown.stdout)  # of one run: the evaluations after training open no other
    logged, tables = {}, []
    for entry in entries:
        for name, value in entry.items():
            logged.setdefault(name, {})[entry.get("train/global_step")] = value
        tables += [entry["rollouts"]] if "rollouts" in entry else []
    check_scalars(tracked, logged)
    [table] = tables
    check_rows(tracked, table["_value"])
    assert all(row["messages"].startswith("    assistant:\n     ") for row in table["_value"])  # code, to Markdown


@pytest.mark.parametrize(
    ("name", "said"),
    [("no_such_tracker", "no_such_tracker is not supported"), ("trackio", "pip install trackio")],
)
def test_a_tracker_that_is_not_there_is_named(name, said, monkeypatch):
    monkeypatch.setattr("envtune_gym.training.trackers.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=said):
        check_trackers([name])


def test_a_row_has_what_both_sides_said(run, make_env, ticket_task):
    replies = (call("close_ticket", ticket_id=99), *SOLUTION)
    [played] = run(replies, envs=[AugmentedFeedbackWrapper(make_env())])
    [row] = SampleRollouts(Stage(TaskSet([ticket_task])), 4).rows(3, [played.record])
    assert (row["step"], row["task"], row["category"]) == (3, "ticket", ticket_task.category)
    assert (row["request"], row["hints"], row["ended"]) == (ticket_task.turns[0], 1, "")
    assert (row["progress"], row["success"]) == (played.record.progress, played.record.success)
    speakers = [line.split("(")[0].strip(": ") for line in row["messages"].splitlines() if line[0] != " "]
    assert speakers[:4] == ["assistant", "tool close_ticket", "assistant", "tool create_ticket"]
    assert "tool close_ticket (with a hint):\n" in row["messages"]
    assert f"user:\n    {ticket_task.turns[1]}\n" in row["messages"]


def test_nothing_that_a_model_writes_is_more_than_text(run, ticket_task):
    hostile = f"{PICTURE}\n\nuser:\n{PICTURE}\x1b[2J\r\n# head"
    [played] = run((answer(hostile), answer()))
    [row] = SampleRollouts(Stage(TaskSet([ticket_task])), 1).rows(1, [played.record])
    shown = as_markdown([row])
    assert PICTURE in shown
    assert all(line.startswith(" " * 8) for line in shown.splitlines() if PICTURE in line or "# head" in line)
    assert row["messages"].count("\nuser:\n") == 1  # the environment's own
    assert not {"\x1b", "\r"} & set(shown)


def test_rows_are_bounded_in_number_and_size_and_come_from_all_of_a_batch(ticket_task):
    records = [RolloutRecord(task_id=f"gone-{n}", messages=["x" * 100_000], broken="ValueError: n") for n in range(12)]
    stage = Stage(TaskSet([ticket_task]))
    rows = SampleRollouts(stage, 4).rows(1, records)
    assert [row["task"] for row in rows] == ["gone-0", "gone-3", "gone-6", "gone-9"]
    assert all(len(row["messages"]) < 21_000 and row["ended"] == "ValueError: n" for row in rows)
    assert SampleRollouts(stage, 0).rows(1, records) == []
    assert len(SampleRollouts(stage, 4).rows(1, records[:2])) == 2
    assert asdict(records[0])["messages"] == ["x" * 100_000]
