"""A tiny model, an engine that says what a test tells it to say, and the replies that solve the test's task."""

import json

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from envtune_gym import Task
from envtune_gym.integrations.engine import Generated

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_WITH_TOOLS = "{# renders the role tool too #}" + CHATML


def call(name, **arguments):
    return f"<tool_call>{json.dumps([{'name': name, 'arguments': arguments}])}</tool_call>"


def answer(text="Done."):
    return f"<answer>{text}</answer>"


SMALL_TASK = Task(
    id="small",
    category="base",
    domains=("TicketAPI",),
    initial_config={"TicketAPI": {"ticket_queue": [], "ticket_counter": 7, "current_user": "ann"}},
    turns=("Open a ticket 'Lamp'.", "Close it."),
    ground_truth=(("create_ticket(title='Lamp')",), ("close_ticket(ticket_id=7)",)),
)

SOLUTION = (
    call("create_ticket", title="Lamp", description="The lamp is broken."),
    answer(),
    call("close_ticket", ticket_id=7),
    call("mean", numbers=[1, 2, 6]),
    answer(),
)


def tiny_model(tokenizer, seed=0):
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16_384,
        initializer_range=0.5,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config).eval()


class Script:
    """An engine that writes given replies, one list a conversation; each log-probability names its place."""

    def __init__(self, tokenizer, *scripts):
        self.tokenizer = tokenizer
        self.scripts = [list(script) for script in scripts]
        self.histories = []
        self.prompts = []

    def generate(self, prompts, limits, on_reply=None):
        self.prompts.append(prompts)
        self.histories = self.histories or [list(prompt) for prompt in prompts]
        numbers = iter(range(len(self.scripts)))
        return [self._reply(prompt, limit, numbers) for prompt, limit in zip(prompts, limits, strict=True)]

    def _reply(self, prompt, limit, numbers):
        """Continue the next conversation that this prompt extends; those that ended are passed over."""
        number = next(n for n in numbers if self.scripts[n] and prompt[: len(self.histories[n])] == self.histories[n])
        text = self.scripts[number].pop(0)
        ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id][:limit]
        self.histories[number] = [*prompt, *ids]
        return Generated(ids, [-(place + 1) / 8 for place in range(len(ids))])


def own_text(rollout, tokenizer):
    """What the model wrote, by the mask."""
    conversation = rollout.conversation
    return tokenizer.decode([i for i, own in zip(conversation.completion_ids, conversation.mask, strict=True) if own])


def other_text(rollout, tokenizer):
    """What the environment and the template added, by the mask."""
    conversation = rollout.conversation
    ids = [i for i, own in zip(conversation.completion_ids, conversation.mask, strict=True) if not own]
    return tokenizer.decode(ids)
