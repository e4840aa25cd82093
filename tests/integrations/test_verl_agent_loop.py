"""The tasks under `verl`'s own agent loop worker, from its dataset to the batch that its trainer reads."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("verl", reason='needs verl, in an environment of its own: pip install ".[verl]"')

import numpy as np
import pandas
import verl
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from torch.utils.data import DataLoader
from transformers import LlamaConfig
from verl import DataProto
from verl.experimental.agent_loop import AgentLoopWorker
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.rollout.replica import TokenOutput

from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.integrations.verl_agent_loop import episode_rows
from envtune_gym.tasks import save_jsonl

from .page_example import run_example

LOGPROB = -0.25


class ScriptedServers:
    """Stands in for the servers of a model: writes the next message of the script of a conversation's task."""

    def __init__(self, tokenizer, scripts):
        self.tokenizer = tokenizer
        self.scripts = scripts
        self.written = {}

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        assert sampling_params["logprobs"]
        if request_id not in self.written:
            prompt = self.tokenizer.decode(prompt_ids)
            [script] = [script for opening, script in self.scripts.items() if f"user\n{opening}<" in prompt]
            self.written[request_id] = iter(script)
        text = next(self.written[request_id])
        ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id]
        return TokenOutput(token_ids=ids, log_probs=[LOGPROB] * len(ids))


@pytest.fixture
def rollout(tmp_path, tokenizer, ticket_task, withheld_task):
    """Play each task twice as `verl` does in training; return its batch."""
    opening = f"Hello. {withheld_task.turns[0]}"
    tasks = [ticket_task, withheld_task.model_copy(update={"turns": (opening, *withheld_task.turns[1:])})]
    save_jsonl(tasks, tmp_path / "tasks.jsonl")
    tokenizer.save_pretrained(tmp_path / "model")
    LlamaConfig(architectures=["LlamaForCausalLM"]).save_pretrained(tmp_path / "model")
    pandas.DataFrame(episode_rows(task.id for task in tasks)).to_parquet(tmp_path / "rows.parquet")

    def rollout(scripts=None, prompt_length=8_000, response_length=2_000, **options):
        loop = {"name": "envtune", "_target_": "envtune_gym.integrations.verl_agent_loop.EnvtuneAgentLoop"}
        OmegaConf.save([{**loop, "tasks": str(tmp_path / "tasks.jsonl"), **options}], tmp_path / "loops.yaml")
        with initialize_config_dir(str(Path(verl.__file__).parent / "trainer/config"), version_base=None):
            config = compose(
                "ppo_trainer",
                overrides=[
                    f"actor_rollout_ref.model.path={tmp_path / 'model'}",
                    f"actor_rollout_ref.rollout.agent.agent_loop_config_path={tmp_path / 'loops.yaml'}",
                    f"actor_rollout_ref.rollout.prompt_length={prompt_length}",
                    f"actor_rollout_ref.rollout.response_length={response_length}",
                    "actor_rollout_ref.rollout.calculate_log_probs=true",
                    "actor_rollout_ref.rollout.name=vllm",
                    "data.return_raw_chat=true",
                ],
            )
        rows = RLHFDataset(str(tmp_path / "rows.parquet"), tokenizer, config.data)
        [batch] = DataLoader(rows, batch_size=len(tasks), collate_fn=collate_fn)
        prompts = DataProto.from_single_dict(batch).repeat(2, interleave=True)
        written = {task.turns[0]: (scripts or {}).get(task.id) or Oracle().messages(task) for task in tasks}

        async def play():
            worker = AgentLoopWorker(config, ScriptedServers(tokenizer, written))
            return await worker.generate_sequences(prompts)

        return asyncio.run(play()), {task.id: written[task.turns[0]] for task in tasks}

    return rollout


def own_text(batch, row, tokenizer):
    """What the mask says that the model wrote."""
    mask = batch.batch["response_mask"][row].bool()
    return tokenizer.decode(batch.batch["responses"][row][mask], skip_special_tokens=True)


def test_the_oracle_is_paid_in_full(rollout, tokenizer):
    batch, written = rollout()
    assert batch.batch["rm_scores"].sum(1).tolist() == [1.0] * 4
    assert list(batch.non_tensor_batch["success"]) == list(batch.non_tensor_batch["progress"]) == [1.0] * 4
    assert list(batch.non_tensor_batch["task_id"]) == ["ticket", "ticket", "withheld", "withheld"]
    for row, task_id in enumerate(batch.non_tensor_batch["task_id"]):
        assert own_text(batch, row, tokenizer) == "".join(written[task_id])
        mask, logprobs = batch.batch["response_mask"][row], batch.batch["rollout_log_probs"][row]
        assert logprobs.tolist() == (mask * LOGPROB).tolist()


def test_results_and_requests_stand_between_the_replies(rollout, tokenizer, ticket_task):
    batch, _ = rollout()
    prompt = tokenizer.decode(batch.batch["prompts"][0], skip_special_tokens=True)
    assert "create_ticket" in prompt
    assert ticket_task.turns[0] in prompt
    others = (batch.batch["attention_mask"][0][-2_000:] - batch.batch["response_mask"][0]).bool()
    shown = tokenizer.decode(batch.batch["responses"][0][others], skip_special_tokens=True)
    assert '"id\\": 7' in shown
    assert ticket_task.turns[1] in shown


def test_options_of_the_file_hold(rollout):
    wrong = '<tool_call>[{"name": "create_ticket", "arguments": {"titel": "Lamp"}}]</tool_call>'
    scripts = {"ticket": [wrong, "<answer>No.</answer>", "<answer>No.</answer>"]}
    batch, _ = rollout(scripts, reward="verdict", feedback="actionable", domains=["TicketAPI"])
    assert batch.batch["rm_scores"].sum(1).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_a_prompt_that_does_not_fit_is_worth_nothing_and_trains_nothing(rollout):
    batch, _ = rollout(prompt_length=100)
    assert batch.batch["rm_scores"].sum(1).tolist() == [0.0] * 4
    assert not batch.batch["response_mask"].any()


def test_a_reply_that_fills_the_response_is_not_played(rollout):
    batch, _ = rollout()
    length = int(batch.batch["attention_mask"][0][-2_000:].sum())
    roomy, _ = rollout(response_length=length + 1)
    full, _ = rollout(response_length=length)
    assert roomy.batch["rm_scores"].sum(1)[0] == 1.0
    assert full.batch["rm_scores"].sum(1)[0] == 0.5
    assert full.batch["attention_mask"][0][-length:].all()


@pytest.mark.parametrize("hostile", ["", "<tool_call>" + "[" * 500, r"<tool_call>[{\"name\": \"\ud800\"}]</tool_call>"])
def test_whatever_a_model_writes_the_batch_is_made(rollout, hostile):
    scripts = {"ticket": [hostile, *["<answer>No.</answer>"] * 2]}
    batch, _ = rollout(scripts, response_length=4_000)
    assert batch.batch["rm_scores"].sum(1).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert np.isfinite(batch.batch["rollout_log_probs"].numpy()).all()


def test_the_example_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_example("verl")
    rows = pandas.read_parquet("val.parquet")
    assert len(rows) == len(set(rows["task_id"])) == 64
