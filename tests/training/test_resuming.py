"""A run that stops, by a kill, a full disk or want of memory, says how to go on, and goes on as one that did not."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

pytest.importorskip("trl")

import torch
from transformers import TrainerCallback

from envtune_gym.errors import ConfigurationError, DataError, TrainingError
from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.tasks import save_jsonl
from envtune_gym.training import grpo
from envtune_gym.training.trainer import last_checkpoint

from .conftest import ADAPTIVE, STAGES, TASKS, read, same, weights


def timeless(entries):
    """Log entries without what a clock says of them."""
    return [
        {name: value for name, value in entry.items() if not name.startswith("seconds/") and "time" not in name}
        for entry in entries
    ]


@pytest.mark.parametrize("stages", [STAGES, ADAPTIVE], ids=["fixed", "adaptive"])
def test_a_run_that_stopped_in_its_second_stage_goes_on_as_the_whole_one(learnt, stages, tmp_path):
    chosen = learnt(stages=stages, batches=4, groups=2, group_size=4, micro_batch=2, temperature=0.8)
    out = tmp_path / "run"
    grpo.train(chosen, TASKS, TASKS)
    logs = {name: read(out / f"{name}.jsonl") for name in ("rollouts", "updates", "validations")}
    state = json.loads((out / "checkpoint-8" / "envtune.json").read_text())
    whole = weights(out / "checkpoint-8")
    assert len({rollout["reward"] for rollout in logs["rollouts"]}) > 2  # there is something to learn from

    shutil.rmtree(out / "checkpoint-8")  # as if it had been killed in the third batch, which is in the second stage
    shutil.rmtree(out / "checkpoint-6")
    with pytest.raises(ConfigurationError, match="--resume"):
        grpo.train(chosen, TASKS, TASKS)
    grpo.train(chosen, TASKS, TASKS, resume=True)
    for name, entries in logs.items():
        assert timeless(read(out / f"{name}.jsonl")) == timeless(entries)
    assert json.loads((out / "checkpoint-8" / "envtune.json").read_text()) == state
    assert same(weights(out / "checkpoint-8"), whole)
    assert {update["loss"] for update in logs["updates"]} != {0.0}


def test_a_run_killed_in_its_second_stage_ends_as_one_that_was_not(settings, tmp_path):
    save_jsonl(TASKS, tmp_path / "tasks.jsonl")
    source = {"source": str(tmp_path / "tasks.jsonl"), "split": "all"}
    stages = [{"name": "first", "reward": "format", "batches": 1}, {"name": "second"}]
    chosen = settings(tasks=source, stages=stages, validation={"every": 0}, batches=200)
    (tmp_path / "run.yaml").write_text(json.dumps(chosen.model_dump(mode="json")))
    script = "import sys; from envtune_gym.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", script, "train", "--config", str(tmp_path / "run.yaml")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)

    def batches():
        found = last_checkpoint(tmp_path / "run")
        return 0 if found is None else int(found.name.rpartition("-")[2]) // 2

    try:
        deadline = time.monotonic() + 240
        while batches() < 2 and process.poll() is None and time.monotonic() < deadline:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.01)  # which leaves the processor to it
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = batches()
    assert done >= 2
    (tmp_path / "run" / f"checkpoint-{2 * done + 2}").mkdir(exist_ok=True)  # one that the kill cut off
    grpo.train(chosen.model_copy(update={"batches": done + 2}), resume=True)
    grpo.train(chosen.model_copy(update={"batches": done + 2, "out": str(tmp_path / "whole")}))
    killed, whole = (read(tmp_path / name / "updates.jsonl") for name in ("run", "whole"))
    for name in ("step", "stage", "loss", "grad_norm", "reward"):
        assert [update.get(name) for update in killed] == [update.get(name) for update in whole]
    episodes = [read(tmp_path / name / "rollouts.jsonl") for name in ("run", "whole")]
    assert [one["messages"] for one in episodes[0]] == [one["messages"] for one in episodes[1]]


def test_a_run_that_is_finished_says_so_and_how_to_train_on(settings, tmp_path, capsys):
    def shown(**changes):
        capsys.readouterr()
        log = grpo.train(settings(**changes), TASKS, TASKS, resume=True)
        return len(log.updates), " ".join(capsys.readouterr().out.split())

    grpo.train(settings(batches=1), TASKS, TASKS)
    assert "is finished" not in capsys.readouterr().out
    before = (tmp_path / "run" / "updates.jsonl").read_text()
    said = f"the run in {tmp_path / 'run'} is finished: 2 updates; to train on, raise batches (now 1)"
    assert shown(batches=1) == (0, said)
    assert (tmp_path / "run" / "updates.jsonl").read_text() == before
    updates, printed = shown(batches=2)
    assert updates == 2
    assert "is finished" not in printed


def test_what_makes_no_run_is_refused(settings, tmp_path):
    with pytest.raises(ConfigurationError, match="no checkpoint"):
        grpo.train(settings(), TASKS, TASKS, resume=True)
    with pytest.raises(DataError, match="no model directory"):
        grpo.train(settings(model="nowhere"), TASKS, TASKS)
    assert not (tmp_path / "run").exists()
    grpo.train(settings(batches=1), TASKS, TASKS)
    with pytest.raises(ConfigurationError, match=r"groups: the run in .* has 1, and cannot go on with 2"):
        grpo.train(settings(groups=2), TASKS, TASKS, resume=True)


def test_only_the_latest_checkpoints_are_kept(settings, tmp_path):
    grpo.train(settings(batches=4, keep_checkpoints=2, validation={"every": 0}), TASKS)
    assert sorted(path.name for path in (tmp_path / "run").glob("checkpoint-*")) == ["checkpoint-6", "checkpoint-8"]


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_last_checkpoint_as_it_was(settings, tmp_path):
    out = tmp_path / "run"
    grpo.train(settings(batches=1), TASKS, TASKS)
    before = {path.name: path.read_bytes() for path in (out / "checkpoint-2").iterdir()}
    largest = max(map(len, before.values()))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest - 4096, hard))  # what is longer cannot be written
    try:
        with pytest.raises(TrainingError, match=r"update 4 could not be written .*/checkpoint-2 is intact.*--resume"):
            grpo.train(settings(batches=2), TASKS, TASKS, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in (out / "checkpoint-2").iterdir()} == before
    assert not (out / "checkpoint-4").exists()
    grpo.train(settings(batches=2), TASKS, TASKS, resume=True)
    assert (out / "checkpoint-4").exists()


def test_a_disk_that_is_full_before_the_first_checkpoint_says_that_there_is_none(settings, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(grpo.RunLog, "add_rollouts", full_disk)
        with pytest.raises(TrainingError, match=r"the disk is full .* and begin again, as there is no checkpoint yet$"):
            grpo.train(settings(), TASKS, TASKS)
    grpo.train(settings(), TASKS, TASKS)
    with monkeypatch.context() as patch:
        patch.setattr(grpo.RunLog, "add_rollouts", full_disk)
        with pytest.raises(TrainingError, match=r"and go on from .*/checkpoint-4 with --resume$"):
            grpo.train(settings(batches=3), TASKS, TASKS, resume=True)


def out_of_memory(*_, **__):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def test_no_memory_for_the_model_is_said_in_a_line_with_the_remedy(settings, monkeypatch):
    monkeypatch.setattr(grpo.EnvtuneTrainer, "__init__", out_of_memory)
    with pytest.raises(TrainingError, match=r"out of memory for the model; train adapters \(lora\).*begin again"):
        grpo.train(settings(), TASKS, TASKS)


class Greedy:
    """An engine whose second call finds no memory."""

    def __init__(self, *arguments):
        self.inner, self.calls = TransformersEngine(*arguments), 0

    def generate(self, prompts, limits, on_reply=None):
        self.calls += 1
        if self.calls > 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return self.inner.generate(prompts, limits)


def test_no_memory_while_sampling_is_said_in_a_line_with_the_remedy(settings, monkeypatch):
    monkeypatch.setattr(grpo, "engine_maker", lambda *_: Greedy)
    with pytest.raises(TrainingError, match=r"out of memory while sampling.*rollout_batch, now 64") as caught:
        grpo.train(settings(), TASKS, TASKS)
    assert "\n" not in str(caught.value)


class Hungry(TrainerCallback):
    def on_pre_optimizer_step(self, *_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory.")


def test_no_memory_in_an_update_is_said_in_a_line_with_the_remedy(settings, monkeypatch):
    monkeypatch.setattr(grpo, "FiniteGradients", type("Guard", (Hungry,), {"skipped": 0}))
    with pytest.raises(TrainingError, match="lower micro_batch"):
        grpo.train(settings(validation={"every": 0}), TASKS)


class WithoutMemoryToTest(TransformersEngine):
    """An engine that finds no memory where the most likely tokens are wanted, as in an evaluation."""

    def __init__(self, model, end_ids, temperature):
        super().__init__(model, end_ids, temperature)
        self.generate = self.generate if temperature else out_of_memory


def test_an_evaluation_without_memory_can_be_played_alone_later(settings, monkeypatch, tmp_path):
    save_jsonl(TASKS, tmp_path / "tasks.jsonl")
    tasks = {"source": str(tmp_path / "tasks.jsonl"), "split": "all"}
    chosen = settings(tasks=tasks, evaluations=[{"name": "held out", "tasks": tasks}], batches=1)
    with monkeypatch.context() as patch:
        patch.setattr(grpo, "engine_maker", lambda *_: WithoutMemoryToTest)
        with pytest.raises(
            TrainingError, match=r"in the evaluation 'held out'.*rollout_batch, now 64.*--resume"
        ) as caught:
            grpo.train(chosen, validation=TASKS)
    assert "\n" not in str(caught.value)
    out = tmp_path / "run"
    assert not (out / "evaluations.jsonl").exists()
    before = {name: (out / f"{name}.jsonl").read_text() for name in ("rollouts", "updates", "validations")}

    log = grpo.train(chosen, validation=TASKS, resume=True)
    assert log.updates == []
    assert {name: (out / f"{name}.jsonl").read_text() for name in before} == before
    tested = [(episode["task_id"], episode["run"]["feedback"]) for episode in read(out / "evaluations.jsonl")]
    assert tested == [(task.id, feedback) for feedback in ("off", "actionable") for task in TASKS]
    grpo.train(chosen, validation=TASKS, resume=True)
    assert len(read(out / "evaluations.jsonl")) == 4
