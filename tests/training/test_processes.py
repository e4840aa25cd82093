"""Two processes train as one does; each test looks at what a single launch of `play_in_processes.py` has left."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

import gymnasium as gym
import torch
from accelerate.commands.config.config_args import load_config_from_file
from integrations.helpers import Script, tiny_model
from transformers import AutoModelForCausalLM, TrainingArguments

from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.run_logs import group_runs, read_run
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
from envtune_gym.integrations.sharding import check_sharding
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.training import grpo
from envtune_gym.training.processes import Processes, on_one_gpu
from envtune_gym.training.trainer import STATE_FILE

from .conftest import TASKS, teach
from .play_in_processes import ALIKE, RIGHT, SCRIPTED, UNEVEN, WRONG, Replies, Uneven, train
from .play_in_processes import TASKS as ROOMS

ROOT = Path(__file__).parents[2]
CONFIGURATIONS = ROOT / "baselines" / "accelerate"


@pytest.fixture(scope="module")
def model(tokenizer, tmp_path_factory):
    """Make a directory with a tiny model that has learnt to look for a ticket in vain, then to open and close one."""
    env = gym.make(MULTI_DOMAIN_ID, tasks=ALIKE, tool_docs="compact")
    shown = Rollout(env, ChatTemplate(tokenizer), RolloutConfig(16_000, 10_000), EpisodeRequest(0, "kitchen"))
    play([shown], Script(tokenizer, [WRONG[0], *RIGHT]))
    directory = tmp_path_factory.mktemp("model")
    teach(tiny_model(tokenizer), shown.conversation).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def launch(configuration, *words, **variables):
    """Launch two processes as the documentation says, with further variables of the environment."""
    start = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    environment = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        **variables,
    }
    script = Path(__file__).with_name("play_in_processes.py")
    command = [*start, "--config_file", str(CONFIGURATIONS / configuration), str(script), *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=["ddp", "zero2"])
def out(request, model, tmp_path_factory):
    """Return the directory that two processes wrote to."""
    out = tmp_path_factory.mktemp(request.param)
    if request.param == "ddp":
        launch("ddp.yaml", model, out)
    else:
        pytest.importorskip("deepspeed")
        # DeepSpeed compiles what processes on a CPU talk through, with the ninja that was installed with it.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        launch("zero2.yaml", model, out, ACCELERATE_USE_CPU="false", DS_ACCELERATOR="cpu", PATH=path)
    return out


@pytest.fixture(scope="module")
def seen(out):
    """What each process saw."""
    return [json.loads((out / f"process-{index}.json").read_text()) for index in (0, 1)]


@pytest.fixture(scope="module")
def alone(model, tmp_path_factory):
    """What one process sees of the same batches with scripted replies."""
    return train(model, tmp_path_factory.mktemp("one") / "scripted", SCRIPTED, ROOMS, engine=Replies)


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def timeless(entries):
    """Log entries without what a clock says of them."""
    return [
        {name: value for name, value in entry.items() if not name.startswith("seconds/") and "time" not in name}
        for entry in entries
    ]


def figures(updates):
    """Numbers of logged updates, less those that TRL weights by micro-batch; two processes share each of these."""
    left_out = {"stage", "entropy", "kl", "processes"}
    return [{name: value for name, value in update.items() if name not in left_out} for update in timeless(updates)]


def test_two_processes_play_the_episodes_of_one_and_hear_of_all(seen, alone):
    drawn = [record["task_id"] for record in alone["rollouts"]]
    assert len(drawn) == 4 * 2 * 4
    assert all(drawn[start] != drawn[start + 4] for start in range(0, 32, 8))  # what `Replies` tells groups apart by
    for process in seen:
        assert process["scripted"]["rollouts"] == alone["rollouts"]
    for number, whole in enumerate(alone["batches"]):
        shares = [process["scripted"]["batches"][number] for process in seen]
        assert [len(share["tasks"]) for share in shares] == [4, 4]
        for name in ("tasks", "messages"):
            assert [*shares[0][name], *shares[1][name]] == whole[name]


def test_two_processes_learn_and_log_what_one_does(seen, alone):
    whole = figures(alone["updates"])
    for process in seen:
        for update, expected in zip(figures(process["scripted"]["updates"]), whole, strict=True):
            assert update == pytest.approx(expected, rel=1e-3, abs=1e-5)
        assert timeless(process["scripted"]["validations"]) == timeless(alone["validations"])
        torch.testing.assert_close(
            torch.tensor(process["scripted"]["weights"]), torch.tensor(alone["weights"]), atol=1e-4, rtol=0
        )
    assert all(update["grad_norm"] > 0.01 and update["rollout/errors"] for update in whole)
    assert all(0 < validation["accuracy"] < 1 for validation in alone["validations"])


@pytest.fixture(scope="module")
def uneven(model, tmp_path_factory):
    """What one process sees where groups without spread are not scored."""
    return train(model, tmp_path_factory.mktemp("one") / "uneven", UNEVEN, ROOMS, engine=Uneven)


def assert_same_updates(updates, expected):
    for update, same in zip(updates, expected, strict=True):
        for name in ("loss", "grad_norm", "reward", "frac_reward_zero_std"):
            assert update[name] == pytest.approx(same[name], rel=1e-3, abs=1e-5)


def test_processes_with_unequal_numbers_of_rollouts_that_teach_learn_what_one_does(seen, uneven):
    assert 0.5 in [update["frac_reward_zero_std"] for update in uneven["updates"]]
    for process in seen:
        assert_same_updates(process["uneven"]["updates"], uneven["updates"])
        weights = (torch.tensor(one["weights"]) for one in (process["uneven"], uneven))
        torch.testing.assert_close(*weights, atol=1e-4, rtol=0)


def test_a_sharded_model_learns_what_a_whole_one_does_and_goes_on_from_its_checkpoint(model, uneven, tmp_path):
    launch("fsdp.yaml", model, tmp_path, "sharded")
    for index in (0, 1):
        seen = json.loads((tmp_path / f"process-{index}.json").read_text())
        assert_same_updates(seen["updates"], uneven["updates"])
        assert_same_updates(seen["resumed"], uneven["updates"][2:])
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "whole" / "checkpoint-4")
    weights = torch.cat([parameter.detach().flatten() for parameter in saved.parameters()])
    torch.testing.assert_close(weights, torch.tensor(uneven["weights"]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("run", ["scripted", "uneven", "whole", "resumed"])
def test_processes_agree_to_the_last_bit(seen, run):
    first, second = (process[run] for process in seen)
    for name in ("weights", "state", "rollouts"):
        assert first[name] == second[name]
    assert timeless(first["validations"]) == timeless(second["validations"])


def test_stages_change_for_all_at_once(seen, alone):
    for process in (seen[0]["scripted"], seen[1]["scripted"], alone):
        assert [update["stage"] for update in process["updates"]] == ["first", "second", "second", "third"]
        assert process["state"]["curriculum"]["stage"] == 2
        assert process["state"]["batches_in_stage"] == 1


def test_a_group_that_two_processes_share_is_one_group(seen):
    for number in range(3):
        shares = [process["whole"]["batches"][number] for process in seen]
        assert [len(share["tasks"]) for share in shares] == [2, 2]
        assert len({task for share in shares for task in share["tasks"]}) == 1
        assert shares[0]["texts"] != shares[1]["texts"]  # each draws for itself
        records = seen[0]["whole"]["rollouts"][4 * number : 4 * number + 4]
        rewards = torch.tensor([record["reward"] for record in records])
        update = seen[0]["whole"]["updates"][2 * number]
        assert update["reward"] == pytest.approx(rewards.mean().item(), abs=1e-6)
        assert update["reward_std"] == pytest.approx(rewards.std().item(), abs=1e-6)
        assert update["frac_reward_zero_std"] == float(rewards.std() < 1e-8)
    assert any(update.get("reward_std") for update in seen[0]["whole"]["updates"])
    solved = [float(record["success"]) for record in seen[0]["whole"]["rollouts"] if record["stage"] == "second"]
    [told] = seen[0]["whole"]["state"]["curriculum"]["sampler"].values()
    assert told == solved


def test_tokens_are_kept_book_of_in_each_process(seen):
    for number in range(3):
        shares = [process["whole"]["batches"][number] for process in seen]
        own = sum(share["own"] for share in shares)
        assert [share["items"] for share in shares] == [own, own]
        assert seen[0]["whole"]["updates"][2 * number]["tokens/generated"] == own
        for share in shares:
            assert share["gap"] < 1e-3  # the loss finds the log-probabilities of what was sampled
            for text, messages in zip(share["texts"], share["messages"], strict=True):
                assert text.replace("<|im_end|>", "").startswith("".join(messages))


def test_a_run_goes_on_as_the_whole_one(seen, out):
    for process in seen:
        whole, resumed = process["whole"], process["resumed"]
        assert resumed["weights"] == whole["weights"]
        assert resumed["state"] == whole["state"]
        assert resumed["batches"] == whole["batches"][1:]
        assert timeless(resumed["updates"]) == timeless(whole["updates"])[2:]
    for name in ("rollouts", "updates", "validations"):
        assert timeless(lines(out / "sampled" / f"{name}.jsonl")) == timeless(lines(out / "whole" / f"{name}.jsonl"))


def test_one_process_writes(seen, out):
    assert [len(lines(out / "whole" / f"{name}.jsonl")) for name in ("rollouts", "updates", "validations")] == [
        12,
        6,
        3,
    ]
    saved = out / "whole" / "checkpoint-6"
    assert {"rng_state_0.pth", "rng_state_1.pth", STATE_FILE} <= {path.name for path in saved.iterdir()}
    weights = [p.detach().flatten() for p in AutoModelForCausalLM.from_pretrained(saved).parameters()]
    assert torch.cat(weights).tolist() == seen[1]["whole"]["weights"]


@pytest.mark.parametrize("out", ["zero2"], indirect=True)
def test_deepspeed_takes_part_with_a_share_of_the_optimiser_in_each_process(out):
    found = {path.name for path in (out / "whole").glob("checkpoint-6/global_step6/*_optim_states.pt")}
    assert found == {f"zero_pp_rank_{index}_mp_rank_00_optim_states.pt" for index in (0, 1)}


def test_a_sharded_model_is_whole_while_episodes_are_played(seen):
    assert [process["sharded"]["passes"] for process in seen] == [[True], [True] * 4]
    assert all(process["sharded"]["again"] for process in seen)
    with pytest.raises(ConfigurationError, match="ZeRO-2 or FSDP 2"):
        check_sharding(zero_stage=3, fsdp_version=None)
    with pytest.raises(ConfigurationError, match="fsdp_version: 2"):
        check_sharding(zero_stage=0, fsdp_version=1)


def test_an_update_is_skipped_by_all_or_none(seen):
    assert [process["sharded"]["skipped"] for process in seen] == [[0, 1], [0, 1]]  # only the second saw infinity


@pytest.mark.parametrize("file", sorted(CONFIGURATIONS.glob("*.yaml")), ids=lambda file: file.stem)
def test_accelerate_can_read_our_configurations(file):
    config = load_config_from_file(str(file))
    assert config.num_processes == 2
    assert config.mixed_precision == "no"


def test_shares_are_dealt_out_and_put_back_in_order(seen):
    assert [process["joined"] for process in seen] == [list("ABCDE")] * 2
    assert [process["said"] for process in seen] == ["by process 0"] * 2
    alone = Processes()
    assert alone.joined(alone.share("abc")) == ["a", "b", "c"]
    assert alone.from_main("here") == "here"


def test_what_cannot_be_shared_is_refused(settings, monkeypatch):
    processes = Processes()
    processes.count = 3
    monkeypatch.setattr(grpo, "Processes", lambda: processes)
    with pytest.raises(ConfigurationError, match=r"in 3 processes.* \(now 2\) must be a multiple of .* which is 6"):
        grpo.train(settings(), TASKS, TASKS)
    with pytest.raises(ConfigurationError, match="'vllm' is for a single process"):
        grpo.train(settings(group_size=6, engine="vllm"), TASKS, TASKS)
    with pytest.raises(ConfigurationError, match="'vllm-server' is for a single process"):
        grpo.train(settings(group_size=6, engine="vllm-server", vllm_server={"weights": "w"}), TASKS, TASKS)
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(ConfigurationError, match="under FSDP all weights are trained"):
        grpo.train(settings(group_size=6, engine="graph"), TASKS, TASKS)
    with pytest.raises(ConfigurationError, match="with the engine 'transformers'; use DDP instead"):
        grpo.train(settings(group_size=6, engine="static"), TASKS, TASKS)
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    with pytest.raises(ConfigurationError, match="leaves DeepSpeed out where ACCELERATE_USE_CPU is set"):
        grpo.train(settings(group_size=6), TASKS, TASKS)


def test_runs_in_one_and_in_two_processes_are_no_seeds_of_one_kind(out, alone, tmp_path):
    assert {update["processes"] for update in alone["updates"]} == {1}
    two = read_run(out / "scripted")
    assert list(two.processes) == [2]
    again = tmp_path / "again"
    shutil.copytree(out / "scripted", again)
    single = tmp_path / "single"
    shutil.copytree(out / "scripted", single, ignore=shutil.ignore_patterns("checkpoint-*"))
    (single / "updates.jsonl").write_text("".join(json.dumps(update) + "\n" for update in alone["updates"]))
    groups = group_runs([two, read_run(single), read_run(again)])
    assert [[run.path.name for run in group.runs] for group in groups] == [["scripted", "again"], ["single"]]


def test_a_process_takes_one_gpu_of_several(tmp_path):
    arguments = TrainingArguments(str(tmp_path), use_cpu=True)
    arguments._n_gpu = 4  # as transformers finds them
    assert on_one_gpu(arguments).n_gpu == 1
    assert on_one_gpu(TrainingArguments(str(tmp_path), use_cpu=True)).n_gpu == 0
