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
from pathlib import Path

import pytest

pytest.importorskip("trl")

import gymnasium as gym
import torch
from integrations.helpers import Script, answer, call, tiny_model
from integrations.vllm_stand_in import stand_in
from transformers import AutoModelForCausalLM, TrainerCallback

from envtune_gym import load_tasks
from envtune_gym.cli import main
from envtune_gym.errors import ConfigurationError, DataError, TrainingError
from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.models import load_model
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import save_jsonl
from envtune_gym.training import grpo, trainer
from envtune_gym.training.trainer import last_checkpoint
from envtune_gym.wrappers import AugmentedFeedbackWrapper

from .conftest import STAGES, TASKS, teach

CLUMSY = (
    call("get_ticket", ticket_id=99),
    call("create_ticket", title="Lamp"),
    answer(),
    call("close_ticket", ticket_id=7),
    answer(),
)
ADAPTIVE = [
    {"name": "first", "reward": "format", "feedback": "error", "batches": 1},
    {"name": "drawn", "feedback": "error", "sampling": "adaptive"},
]


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def timeless(entries):
    """Log entries without what a clock says of them."""
    return [
        {name: value for name, value in entry.items() if not name.startswith("seconds/") and "time" not in name}
        for entry in entries
    ]


def weights(directory):
    return AutoModelForCausalLM.from_pretrained(directory).state_dict()


def same(left, right):
    return all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(scope="module")
def clumsy_model(tokenizer):
    """A model that has learnt a clumsy solution of the tasks."""
    hinting = AugmentedFeedbackWrapper(gym.make(MULTI_DOMAIN_ID, tasks=TASKS, tool_docs="compact"), level="error")
    shown = Rollout(hinting, ChatTemplate(tokenizer), RolloutConfig(16_000, 10_000), EpisodeRequest(0, "small"))
    play([shown], Script(tokenizer, CLUMSY))
    return teach(tiny_model(tokenizer), shown.conversation)


@pytest.fixture
def learnt(settings, clumsy_model):
    """Make settings for it, and room to play the solution."""
    limits = {"max_completion_tokens": 800, "max_new_tokens": 60, "max_steps": 8}

    def make(**changes):
        chosen = settings(**limits, **changes)
        clumsy_model.save_pretrained(chosen.model)
        return chosen

    return make


def test_a_run_goes_through_its_stages(settings, tmp_path, capsys):
    grpo.train(settings(), TASKS, TASKS)
    out = tmp_path / "run"
    printed = capsys.readouterr().out
    assert "stage 'first' is done, 'second' begins" in printed
    assert "validation tasks solved, hints off" in printed
    assert "reward spread" in " ".join(printed.split())
    rollouts, updates, validations = (read(out / f"{name}.jsonl") for name in ("rollouts", "updates", "validations"))
    assert [(r["step"], r["stage"], r["feedback"]) for r in rollouts] == (
        [(1, "first", "off")] * 2 + [(3, "second", "error")] * 2
    )
    assert [(update["step"], update["stage"]) for update in updates] == list(
        zip([1, 2, 3, 4], ["first", "first", "second", "second"], strict=True)
    )
    assert ["reward" in update for update in updates] == [True, False] * 2
    assert all("clip_ratio/region_mean" in update for update in updates)
    assert [(v["step"], v["stage"]) for v in validations] == [(2, "first"), (4, "second")]


def test_the_loss_has_the_attention_for_changing_shapes(settings, monkeypatch):
    seen = []
    score = trainer.EnvtuneTrainer._score

    def looked_at(*args):
        seen.append(torch.backends.cuda.cudnn_sdp_enabled())
        return score(*args)

    monkeypatch.setattr(trainer.EnvtuneTrainer, "_score", looked_at)
    grpo.train(settings(batches=1), TASKS, TASKS)
    assert seen
    assert not any(seen)


@pytest.mark.skipif(torch.cuda.is_available(), reason="about machines without a GPU")
def test_settings_for_a_gpu_say_so_where_there_is_none(settings, capsys):
    grpo.train(settings(bf16=True, batches=1), TASKS, TASKS)
    assert "no GPU was found" in capsys.readouterr().out


def test_the_log_tells_components_and_costs_apart(settings, tmp_path):
    grpo.train(settings(), TASKS, TASKS)
    first = read(tmp_path / "run" / "updates.jsonl")[0]
    names = {"component/progress", "component/format", "component/verdict", "rollout/hint_rate", "frac_reward_zero_std"}
    names |= {"category/base/reward", "domain/TicketAPI/progress", "stage/first/format", "skipped_updates", "cut"}
    names |= {"seconds/generation", "seconds/environment", "seconds/loss"}
    assert names <= set(first)
    assert all(first[f"seconds/{phase}"] > 0 for phase in ("generation", "environment", "loss"))
    rollouts = read(tmp_path / "run" / "rollouts.jsonl")[:2]
    steps = sum(rollout["num_steps"] for rollout in rollouts)
    assert steps <= first["tokens/generated"] <= 10 * steps
    assert first["tokens/prompt"] > 100


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


def test_adaptive_sampling_hears_of_every_rollout(settings, tmp_path):
    grpo.train(settings(stages=ADAPTIVE, batches=3), TASKS, TASKS)
    state = json.loads((tmp_path / "run" / "checkpoint-6" / "envtune.json").read_text())["curriculum"]
    assert state["stage"] == 1
    assert sum(map(len, state["sampler"].values())) == 4  # two batches of two rollouts in that stage


def test_the_rule_ends_a_stage_after_validations_without_gain(settings, tmp_path):
    chosen = settings(
        stages=[{"name": "first"}, {"name": "second"}],
        rule={"patience": 1, "window": 1, "max_ratio": 1000.0},
        batches=3,
    )
    grpo.train(chosen, TASKS, TASKS)
    stages = [rollout["stage"] for rollout in read(tmp_path / "run" / "rollouts.jsonl")]
    assert stages == ["first"] * 4 + ["second"] * 2


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


def test_only_the_latest_checkpoints_are_kept(settings, tmp_path):
    grpo.train(settings(batches=4, keep_checkpoints=2, validation={"every": 0}), TASKS)
    assert sorted(path.name for path in (tmp_path / "run").glob("checkpoint-*")) == ["checkpoint-6", "checkpoint-8"]


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


def test_an_engine_that_is_not_installed_is_named_with_its_remedy(settings):
    with pytest.raises(ConfigurationError, match="pip install vllm; or use the engine 'auto'"):
        grpo.train(settings(engine="vllm"), TASKS, TASKS)


def test_a_run_that_samples_from_a_server_hands_it_the_weights_of_each_update(settings, tmp_path, tokenizer):
    with stand_in(tiny_model(tokenizer, seed=9)) as server:
        at = {"url": server.url, "weights": str(tmp_path / "weights")}
        chosen = settings(engine="vllm-server", vllm_server=at, max_completion_tokens=60)
        grpo.train(chosen, TASKS, TASKS)
    assert len(read(tmp_path / "run" / "updates.jsonl")) == 4
    assert server.loads == 3  # at the start, for the validation after each batch; the next batch samples from the same
    assert same(server.model.state_dict(), weights(last_checkpoint(tmp_path / "run")))


@pytest.mark.parametrize("engine", ["graph", "static"])
def test_the_other_engines_train_too(settings, engine, tmp_path):
    grpo.train(settings(engine=engine, max_completion_tokens=60), TASKS, TASKS)
    assert len(read(tmp_path / "run" / "updates.jsonl")) == 4


@pytest.mark.parametrize("engine", ["transformers", "graph", "static"])
def test_adapters_are_trained_alone_and_can_be_loaded(settings, engine, tmp_path):
    pytest.importorskip("peft")
    chosen = settings(lora={"rank": 2, "alpha": 4}, learning_rate=0.1, engine=engine, beta=0.1)
    log = grpo.train(chosen, TASKS, TASKS)
    assert log.updates[-1]["kl"] >= 0
    saved = tmp_path / "run" / "checkpoint-4"
    assert (saved / "adapter_config.json").exists()
    merged, _ = load_model(str(saved))
    assert not same(merged.state_dict(), weights(tmp_path / "model"))
    assert not any("lora" in name for name in merged.state_dict())
    again = settings(model=str(saved), out=str(tmp_path / "whole"), beta=0.1, learning_rate=1e-2)
    first, *later = (update["kl"] for update in grpo.train(again, TASKS, TASKS).updates)
    assert first == pytest.approx(0.0, abs=1e-6)  # the reference has the adapters too
    assert max(later) > 1e-6


def test_hints_and_the_graph_are_made_of_a_training_run(learnt, tmp_path, capsys):
    chosen = learnt(batches=1, stages=STAGES[1:], validation={"every": 0}, temperature=0.1)
    grpo.train(chosen, TASKS)
    out, tasks = tmp_path / "run" / "rollouts.jsonl", tmp_path / "tasks.jsonl"
    assert all(rollout["messages"] == list(CLUMSY) and rollout["hints"] for rollout in read(out))
    assert {rollout["progress"] for rollout in read(out)} == {1.0}
    save_jsonl(TASKS, tasks)
    capsys.readouterr()

    def hints(command, *words):
        words = ["hints", command, "--from", out, "--tasks", tasks, "--json", *words]
        assert main([str(word) for word in words]) == 0
        return json.loads(capsys.readouterr().out)

    server = ("--model", "m", "--base-url", "http://localhost:9", "--out", tmp_path / "book.yaml", "--dry-run")
    [cause] = hints("propose", *server)
    assert (cause["code"], cause["failures"]) == ("ticket_not_found", 2)
    assert hints("graph")["feeds"]["close_ticket.ticket_id"] == {"create_ticket.id": 1}


def test_what_makes_no_run_is_refused(settings, tmp_path):
    with pytest.raises(ConfigurationError, match="no checkpoint"):
        grpo.train(settings(), TASKS, TASKS, resume=True)
    with pytest.raises(DataError, match="no model directory"):
        grpo.train(settings(model="nowhere"), TASKS, TASKS)
    assert not (tmp_path / "run").exists()
    grpo.train(settings(batches=1), TASKS, TASKS)
    with pytest.raises(ConfigurationError, match=r"groups: the run in .* has 1, and cannot go on with 2"):
        grpo.train(settings(groups=2), TASKS, TASKS, resume=True)


def test_a_stage_may_allow_longer_episodes(settings, tmp_path):
    stages = [STAGES[0], {**STAGES[1], "max_completion_tokens": 400}]
    grpo.train(settings(stages=stages, max_completion_tokens=20, max_steps=6, validation={"every": 0}), TASKS)
    cut = [rollout["truncated_by"] for rollout in read(tmp_path / "run" / "rollouts.jsonl")]
    assert cut[:2] == ["tokens"] * 2
    assert "tokens" not in cut[2:]


def test_the_validation_split_is_that_of_the_tasks(settings):
    chosen = settings(tasks="generated", validation={"every": 1, "limit": 3})
    assert [task.id for task in chosen.load_validation()] == load_tasks("generated", split="val")[:3].ids


def test_the_script_is_the_command(capsys):
    script = Path(__file__).parents[2] / "baselines" / "grpo.py"
    shown = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, timeout=120)
    assert "--preset" in shown.stdout


def test_a_group_of_equal_rewards_counts_as_one_without_spread(learnt, capsys):
    stages = [{"name": "only", "reward": "format", "feedback": "error"}]
    chosen = learnt(
        stages=stages, batches=1, group_size=7, updates_per_batch=1, validation={"every": 0}, temperature=0.1
    )
    log = grpo.train(chosen, TASKS)
    assert {rollout["reward"] for rollout in read(Path(chosen.out, "rollouts.jsonl"))} == {1 + 2 / 3}
    assert [update.get("frac_reward_zero_std") for update in log.updates] == [1.0]  # TRL's own says 0
    assert "100% of the groups had no spread" in " ".join(capsys.readouterr().out.split())


def out_of_memory(*_, **__):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_no_memory_for_the_model_is_said_in_a_line_with_the_remedy(settings, monkeypatch):
    monkeypatch.setattr(grpo.EnvtuneTrainer, "__init__", out_of_memory)
    with pytest.raises(TrainingError, match=r"out of memory for the model; train adapters \(lora\).*begin again"):
        grpo.train(settings(), TASKS, TASKS)


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


def test_replies_end_alike_in_training_and_evaluation(settings, tokenizer, monkeypatch, tmp_path):
    save_jsonl(TASKS, tmp_path / "tasks.jsonl")
    tasks = {"source": str(tmp_path / "tasks.jsonl"), "split": "all"}
    chosen = settings(tasks=tasks, evaluations=[{"name": "held out", "tasks": tasks}], batches=1)
    ends = {tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|im_start|>")}
    model = AutoModelForCausalLM.from_pretrained(chosen.model)
    model.generation_config.eos_token_id = sorted(ends)
    model.save_pretrained(chosen.model)
    seen = []

    def make_engine(model, end_ids, temperature):
        seen.append((temperature, set(end_ids)))
        return TransformersEngine(model, end_ids, temperature)

    monkeypatch.setattr(grpo, "engine_maker", lambda *_: make_engine)
    grpo.train(chosen, validation=TASKS)
    assert {temperature for temperature, _ in seen} == {1.0, 0.0}
    assert all(end_ids == ends for _, end_ids in seen)


def test_what_only_one_reward_is_made_of_is_logged_where_it_is_paid(learnt):
    stages = [ADAPTIVE[0], {"name": "second", "reward": "toolrl", "feedback": "error"}]
    log = grpo.train(learnt(stages=stages, updates_per_batch=1, temperature=0.1, validation={"every": 0}), TASKS)
    first, second = log.updates
    assert first["component/tool"] == first["category/base/tool"] == pytest.approx(2 / 3)  # one call of three fails
    assert "component/correct" not in first
    assert second["component/correct"] == second["stage/second/correct"] == pytest.approx(second["reward"] - 4)
    assert "component/tool" not in second
