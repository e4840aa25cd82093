"""What tests/training/test_processes.py runs in each of several processes; it writes what each of them saw.

Called with the directory of the model and a directory to write to, and with `sharded` for one run alone, under FSDP.
"""

import copy
import json
import shutil
import sys
import zlib
from array import array
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import torch
from integrations.helpers import SMALL_TASK, answer, call
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM, AutoTokenizer

from envtune_gym import TaskSet
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.engine import Generated
from envtune_gym.integrations.sharding import whole_parameters
from envtune_gym.training import grpo
from envtune_gym.training.layers import make_settings
from envtune_gym.training.log import RunLog
from envtune_gym.training.processes import Processes
from envtune_gym.training.stages import Stages
from envtune_gym.training.trainer import EnvtuneTrainer

TASKS = TaskSet(
    [
        SMALL_TASK.model_copy(update={"id": room, "turns": (f"Open a ticket 'Lamp' for the {room}.", "Close it.")})
        for room in ("kitchen", "hall", "attic", "garage", "cellar")
    ]
)
ALIKE = TaskSet([TASKS[0], TASKS[0].model_copy(update={"id": "pantry"})])
"""Those of which the model has learnt a clumsy solution."""

RIGHT = (call("create_ticket", title="Lamp"), answer(), call("close_ticket", ticket_id=7), answer())
WRONG = (call("get_ticket", ticket_id=99), "<tool_call>[oops", answer("No."), call("close_ticket", ticket_id=1))

TINY = {
    "validation": {"every": 1},
    "group_size": 4,
    "micro_batch": 1,
    "learning_rate": 1e-3,
    "beta": 0.0,
    "entropy_bonus": 0.0,
    "gradient_checkpointing": False,
    "max_prompt_tokens": 2_000,
    "max_steps": 6,
    "checkpoint_every": 1,
}

SCRIPTED = {
    **TINY,
    "stages": [
        {"name": "first", "reward": "format", "feedback": "off", "batches": 1},
        {"name": "second", "reward": "direct", "feedback": "error", "sampling": "adaptive"},
        {"name": "third", "reward": "toolrl", "feedback": "error"},
    ],
    "rule": {"patience": 1, "window": 1, "max_ratio": 1000.0},
    "seed": 5,
    "batches": 4,
    "groups": 2,
    "updates_per_batch": 1,
    "beta": 0.1,
    "max_completion_tokens": 600,
    "max_new_tokens": 60,
}
"""Replies are written by `Replies`. Each of two processes has a whole group."""

UNEVEN = {
    **SCRIPTED,
    "stages": [{"name": "only", "reward": "progress", "feedback": "error"}],
    "validation": {"every": 0},
    "seed": 16,  # either process, both, or one alone has a group without spread
    "micro_batch": 2,
    "pass_tokens": 4_000,
    "beta": 0.0,
}
"""Replies are written by `Uneven`: groups without spread, of which one process has more, are not scored."""

SAMPLED = {
    **TINY,
    "stages": [
        {"name": "first", "reward": "toolrl", "feedback": "error", "batches": 1},
        {"name": "second", "reward": "direct", "feedback": "error", "sampling": "adaptive"},
    ],
    "batches": 3,
    "groups": 1,
    "updates_per_batch": 2,
    "temperature": 0.8,
    "max_completion_tokens": 500,
    "max_new_tokens": 60,
}
"""Replies are sampled. Two processes share the one group."""


class Replies:
    """An engine that picks replies by the conversation, and by how many have asked with the same one before."""

    def __init__(self, model, *_):
        self.tokenizer = AutoTokenizer.from_pretrained(model.name_or_path)

    def generate(self, prompts, limits, on_reply=None):
        asked = {}
        return [self._reply(prompt, limit, asked) for prompt, limit in zip(prompts, limits, strict=True)]

    def _reply(self, prompt, limit, asked):
        key = zlib.crc32(array("q", prompt).tobytes())
        asked[key] = asked.get(key, -1) + 1
        choice = key + asked[key]
        said = self.tokenizer.decode(prompt)
        turn = said.count("<|im_start|>assistant")
        text = WRONG[choice // 4 % len(WRONG)] if self._is_wrong(said, choice) else RIGHT[(turn - 1) % len(RIGHT)]
        ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id][:limit]
        return Generated(ids, [0.0] * len(ids))

    def _is_wrong(self, said, choice):
        return choice % 4 == 0


class Uneven(Replies):
    """Makes no mistake in some of the rooms."""

    def _is_wrong(self, said, choice):
        return super()._is_wrong(said, choice) and not any(room in said for room in ("kitchen", "attic", "cellar"))


class Watched(EnvtuneTrainer):
    """Notes what the tests want to know of each batch; `latest` is the one made last."""

    latest = None

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.batches = []
        Watched.latest = self

    def _generate_and_score_completions(self, inputs):
        batch = super()._generate_and_score_completions(inputs)
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        own = (batch["tool_mask"] * batch["completion_mask"]).bool()
        with torch.no_grad():
            logps, _, _ = self._get_per_token_logps_and_entropies(self.model, ids, mask, own.shape[1], 1)
        rows = zip(batch["completion_ids"], own, strict=True)
        self.batches.append(
            {
                "messages": [row["rollout"]["messages"] for row in inputs],
                "tasks": [row["rollout"]["task_id"] for row in inputs],
                "texts": [self.processing_class.decode(ids[present]) for ids, present in rows],
                "own": int(own.sum()),
                "items": int(batch["num_items_in_batch"]),
                "gap": float((logps - batch["sampling_per_token_logps"])[own].abs().max()),
            }
        )
        return batch


class Kept(RunLog):
    """Keeps all rollouts; `latest` is the one made last."""

    latest = None

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.rollouts = []
        Kept.latest = self

    def add_rollouts(self, records):
        self.rollouts += records
        super().add_rollouts(records)


def train(model, out, settings, tasks, *, resume=False, engine=None):
    """Train, with an engine that writes replies, or one that samples them; return what this process saw."""
    chosen = make_settings([{**settings, "model": str(model), "out": str(out)}])
    kept, grpo.engine_maker = grpo.engine_maker, (lambda *_: engine) if engine else grpo.engine_maker
    grpo.EnvtuneTrainer, grpo.RunLog = Watched, Kept
    try:
        log = grpo.train(chosen, tasks, tasks, resume=resume)
    finally:
        grpo.engine_maker, grpo.EnvtuneTrainer, grpo.RunLog = kept, EnvtuneTrainer, RunLog
    trainer = Watched.latest
    [stages] = [found for found in trainer.callback_handler.callbacks if isinstance(found, Stages)]
    return {
        "batches": trainer.batches,
        "state": stages.state_dict(),
        "weights": torch.cat([whole(p.detach()).flatten() for p in trainer.model.parameters()]).tolist(),
        "rollouts": [asdict(record) for record in Kept.latest.rollouts],
        "updates": log.updates,
        "validations": log.validations,
    }


def whole(parameter):
    """Return a parameter that may be sharded."""
    return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter


def shard(directory, index):
    """Shard a model over two processes, and see how many passes each can make by itself, and who skips an update."""
    model = AutoModelForCausalLM.from_pretrained(directory)
    plain = copy.deepcopy(model)
    mesh = init_device_mesh("cpu", (2,))
    for part in (*model.model.layers, model):
        fully_shard(part, mesh=mesh)
    ids = torch.arange(20)[None]
    expected = plain(ids).logits
    with whole_parameters(model), torch.no_grad():
        passes = [torch.allclose(model(ids).logits, expected, atol=1e-5) for _ in range(1 + 3 * index)]
    again = torch.allclose(model(ids).logits, expected, atol=1e-5)
    model(ids, labels=ids).loss.backward()
    guard, state = FiniteGradients(), SimpleNamespace(global_step=0)
    guard.on_pre_optimizer_step(None, state, None, model=model)
    before = guard.skipped
    if index:
        model.lm_head.weight.grad.to_local()[0, 0] = torch.inf
    guard.on_pre_optimizer_step(None, state, None, model=model)
    return {"passes": passes, "again": again, "skipped": [before, guard.skipped]}


def main(model, out):
    """Train with scripted replies, then with sampled ones, then on from the first checkpoint of the latter; shard."""
    torch.set_num_threads(1)
    processes = Processes()
    seen = {
        "scripted": train(model, out / "scripted", SCRIPTED, TASKS, engine=Replies),
        "uneven": train(model, out / "uneven", UNEVEN, TASKS, engine=Uneven),
        "whole": train(model, out / "sampled", SAMPLED, ALIKE),
    }
    processes.wait()
    if processes.is_main:
        shutil.copytree(out / "sampled", out / "whole")
        for step in (4, 6):
            shutil.rmtree(out / "sampled" / f"checkpoint-{step}")
    processes.wait()
    seen["resumed"] = train(model, out / "sampled", SAMPLED, ALIKE, resume=True)
    seen["joined"] = processes.joined([item.upper() for item in processes.share("abcde")])
    seen["said"] = processes.from_main(f"by process {processes.index}")
    seen["sharded"] = shard(model, processes.index)
    (out / f"process-{processes.index}.json").write_text(json.dumps(seen))


def main_sharded(model, out):
    """Train a model that FSDP shards, and go on from an earlier checkpoint."""
    torch.set_num_threads(1)
    processes = Processes()
    settings = {**UNEVEN, "engine": "transformers"}
    seen = {"updates": train(model, out / "sharded", settings, TASKS, engine=Uneven)["updates"]}
    processes.wait()
    if processes.is_main:
        shutil.copytree(out / "sharded", out / "whole")
        for step in (3, 4):
            shutil.rmtree(out / "sharded" / f"checkpoint-{step}")
    processes.wait()
    seen["resumed"] = train(model, out / "sharded", settings, TASKS, resume=True, engine=Uneven)["updates"]
    (out / f"process-{processes.index}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    (main_sharded if "sharded" in sys.argv else main)(Path(sys.argv[1]), Path(sys.argv[2]))
