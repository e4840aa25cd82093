import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("trl")

import torch
from integrations.helpers import tiny_model
from integrations.vllm_stand_in import stand_in
from transformers import AutoModelForCausalLM

from envtune_gym import load_tasks
from envtune_gym.cli import main
from envtune_gym.errors import ConfigurationError, DataError, TrainingError
from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.models import load_model
from envtune_gym.tasks import save_jsonl
from envtune_gym.training import grpo, trainer
from envtune_gym.training.trainer import last_checkpoint

from .conftest import ADAPTIVE, CLUMSY, STAGES, TASKS, read, same, weights


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


def test_an_engine_that_is_not_installed_is_named_with_its_remedy(settings):
    with pytest.raises(ConfigurationError, match="pip install vllm; or use the engine 'auto'"):
        grpo.train(settings(engine="vllm"), TASKS, TASKS)


def test_what_a_run_lacks_is_said_before_its_model_is_loaded(settings, tmp_path):
    lacking = {"name": "held out", "tasks": {"source": str(tmp_path / "none.jsonl"), "split": "all"}}
    endless = {"name": "held out", "tasks": {"source": "generated"}}
    with pytest.raises(DataError, match=r"none\.jsonl"):
        grpo.train(settings(model="nowhere", evaluations=[lacking]), TASKS, TASKS)
    with pytest.raises(ConfigurationError, match="evaluation 'held out': an endless source"):
        grpo.train(settings(model="nowhere", evaluations=[endless]), TASKS, TASKS)
    if find_spec("vllm") is None:
        with pytest.raises(ConfigurationError, match="pip install vllm"):
            grpo.train(settings(model="nowhere", engine="vllm"), TASKS, TASKS)
    assert not (tmp_path / "run").exists()


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


@pytest.fixture
def tested(settings, tmp_path):
    """Make the settings of a run that ends in an evaluation of two passes."""
    save_jsonl(TASKS, tmp_path / "tasks.jsonl")
    tasks = {"source": str(tmp_path / "tasks.jsonl"), "split": "all"}
    evaluations = [{"name": "held out", "tasks": tasks, "feedback": ["off", "error"]}]

    def make(**changes):
        return settings(**{"evaluations": evaluations, "batches": 1, "validation": {"every": 0}, **changes})

    return make


class RoomFor:
    """Makes engines, for so many passes of evaluations; then there is no memory."""

    def __init__(self, passes):
        self.passes, self.played = passes, 0

    def __call__(self, model, end_ids, temperature):
        if not temperature:
            if self.played == self.passes:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            self.played += 1
        return TransformersEngine(model, end_ids, temperature)


def test_a_pass_of_an_evaluation_stands_when_the_next_one_fails_and_is_not_played_again(tested, tmp_path, monkeypatch):
    def run(passes, **how):
        engines = RoomFor(passes)
        monkeypatch.setattr(grpo, "engine_maker", lambda *_: engines)
        return grpo.train(tested(rollout_batch=8 * passes), TASKS, **how), engines.played

    with pytest.raises(TrainingError, match="out of memory in the evaluation 'held out'"):
        run(1)
    file = tmp_path / "run" / "evaluations.jsonl"
    first = file.read_text()
    assert [json.loads(line)["run"]["feedback"] for line in first.splitlines()] == ["off"] * 2
    log, played = run(9, resume=True)
    assert (log.updates, played, len(log.evaluations)) == ([], 1, 4)
    assert file.read_text().startswith(first)
    assert [episode["run"]["feedback"] for episode in read(file)] == ["off"] * 2 + ["error"] * 2

    monkeypatch.undo()
    whole = grpo.train(tested(out=str(tmp_path / "whole")), TASKS)
    assert [one.messages for one in whole.evaluations] == [one.messages for one in log.evaluations]


def test_a_finished_run_with_all_its_evaluations_needs_no_model(tested, tmp_path, capsys):
    grpo.train(tested(), TASKS)
    file = tmp_path / "run" / "evaluations.jsonl"
    before = file.read_text()
    shutil.rmtree(tmp_path / "model")
    capsys.readouterr()
    log = grpo.train(tested(), TASKS, resume=True)
    assert (file.read_text(), len(log.evaluations)) == (before, 4)
    printed = " ".join(capsys.readouterr().out.split())
    assert "is finished: 2 updates; to train on, raise batches (now 1)" in printed
    assert "held out, feedback error: " in printed
    grpo.train(tested(evaluations=[]), TASKS, resume=True)
    assert file.read_text() == before
    with pytest.raises(DataError, match="no model directory"):  # which other limits are to be tested with
        grpo.train(tested(max_new_tokens=5), TASKS, resume=True)


def test_evaluations_are_not_taken_for_those_of_settings_that_a_run_was_only_asked_about(tested):
    grpo.train(tested(), TASKS)
    shutil.rmtree(tested().model)
    grpo.train(tested(evaluations=[], max_new_tokens=5), TASKS, resume=True)  # nothing is to be played
    with pytest.raises(DataError, match="no model directory"):
        grpo.train(tested(max_new_tokens=5), TASKS, resume=True)


def test_another_evaluation_leaves_those_that_stand(tested, tmp_path):
    grpo.train(tested(), TASKS)
    file = tmp_path / "run" / "evaluations.jsonl"
    before = file.read_text()
    other = [one.model_dump() | {"name": "other"} for one in tested().evaluations]
    grpo.train(tested(evaluations=other, report_to=[]), TASKS, resume=True)
    assert file.read_text().startswith(before)
    assert {line["run"]["options"]["evaluation"] for line in read(file)} == {"held out", "other"}


@pytest.mark.parametrize("changes", [{"batches": 2}, {"max_new_tokens": 5}], ids=["trained on", "other limits"])
def test_evaluations_go_when_they_no_longer_hold(tested, changes, tmp_path, monkeypatch):
    grpo.train(tested(), TASKS)
    file = tmp_path / "run" / "evaluations.jsonl"
    assert len(read(file)) == 4
    monkeypatch.setattr(grpo, "engine_maker", lambda *_: RoomFor(0))
    for _ in range(2):  # nor are they taken for this model's when the settings in the directory are the new ones
        with pytest.raises(TrainingError, match="out of memory in the evaluation"):
            grpo.train(tested(**changes), TASKS, resume=True)
        assert not file.exists()
