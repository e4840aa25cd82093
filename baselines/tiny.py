"""A transformer of 0.8 million parameters, made on the spot: its tokenizer, its weights and a short warm start.

It is what the demo trains where there is no GPU. All that it is made from are generated tasks of one family: the
tokenizer from the oracle's conversations, the warm start from the oracle's trajectories, by `sft.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from rich.console import Console
from sft import Args, fine_tune, progress_bars
from sft_trajectories import demonstrations, tokenised
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

from envtune_gym import Task, TaskSet, load_tasks
from envtune_gym.evaluation.chat_data import converse
from envtune_gym.registration import MULTI_DOMAIN_ID

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DOMAIN = "VehicleControlAPI"
TOOLS = frozenset(
    {
        "activateParkingBrake",
        "check_tire_pressure",
        "displayCarStatus",
        "find_nearest_tire_shop",
        "get_current_speed",
        "get_outside_temperature_from_google",
        "setHeadlights",
    }
)
"""What the family's requests are about. All 22 tools of the domain are on offer, but these need no value that is longer
than a word: copying numbers and names is what a model of this size does not learn in minutes."""

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|pad|>"
CHATML = (
    "{# renders any role, tool too #}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HEADS = [f"{START}{role}\n" for role in ("system", "user", "assistant", "tool")]
FORMAT = ['<tool_call>[{"name": "', '", "arguments": {', "}}]</tool_call>", "<answer>Done.</answer>"]
"""What the action format repeats in each message of the oracle."""
PIECES = r" ?[A-Za-z_]+|[0-9]{1,3}|[^A-Za-z0-9]+?(?= ?[A-Za-z0-9_]|$)|[^A-Za-z0-9]+"
"""What the tokenizer never joins: words, groups of digits, and what stands between them."""
VOCABULARY = 2_048


def family(split: str, number: int) -> TaskSet:
    """Return those of the first tasks of a split that belong to the family: one request, one call."""
    tasks = load_tasks("generated", domains=(DOMAIN,), difficulty=1, categories=("base",), split=split)
    return tasks[:number].filter(belongs)


def belongs(task: Task) -> bool:
    """Tell whether the ground truth of a task is one call, of one of the family's tools."""
    calls = [call.partition("(")[0] for turn in task.ground_truth for call in turn]
    return len(calls) == 1 and calls[0] in TOOLS


def make_tokenizer(tasks: TaskSet) -> PreTrainedTokenizerBase:
    """Return a byte-level BPE tokenizer learnt from the oracle's conversations on some tasks, with ChatML.

    What stands in every conversation is one token each: the system prompt, the heads of messages, the action format.
    The tasks of a family have the same prompt, so it tells the model nothing; it makes conversations ten times as long.
    """
    prompts, texts = set(), []
    for message in oracle_messages(tasks):
        (prompts.add if message["role"] == "system" else texts.append)(message["content"])
    backend = Tokenizer(models.BPE())
    pieces = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pieces, to_bytes])
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        special_tokens=[PAD, START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.add_tokens([AddedToken(text, normalized=False) for text in [*HEADS, *FORMAT, *sorted(prompts)]])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=END, pad_token=PAD, padding_side="left", clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = CHATML
    return tokenizer


def oracle_messages(tasks: TaskSet) -> Iterator[dict[str, Any]]:
    """Yield the messages of the oracle's conversations."""
    env = gym.make(MULTI_DOMAIN_ID, tasks=tasks, tool_docs="compact", disable_env_checker=True)
    for task in tasks:
        yield from converse(env, task, "tool_call").messages
    env.close()


def make_model(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Return an untrained model of the Llama architecture."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=336,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1_024,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config)


def make_tiny(tasks: TaskSet, args: Args, console: Console) -> None:
    """Make tokenizer and model, warm them up, and save them in `args.out`."""
    set_seed(args.seed)
    tokenizer = make_tokenizer(tasks)
    model = make_model(tokenizer)
    console.print(f"a model of {model.num_parameters() / 1e6:.1f} M parameters, {len(tokenizer):,} kinds of token")
    warm_up(model, tokenizer, tasks, args, console)


def warm_up(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tasks: TaskSet, args: Args, console: Console
) -> None:
    """Fine-tune a model on the oracle's trajectories, as `sft.py` does, and save it in `args.out`."""
    with progress_bars(console) as bars:
        rows = tokenised(demonstrations(tasks, args), tokenizer, args, bars)
        losses = fine_tune(model, tokenizer, rows, args, bars)["losses"]
    model.save_pretrained(Path(args.out))
    tokenizer.save_pretrained(Path(args.out))
    console.print(f"warm start: {len(rows.rows):,} trajectories, loss {losses[0]:.2f} -> {losses[-1]:.2f}")
