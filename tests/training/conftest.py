import json

import pytest
from integrations.conftest import make_env, model, one_thread, run, tokenizer  # noqa: F401 (fixtures)
from integrations.helpers import SMALL_TASK, Script, answer, call, tiny_model

from envtune_gym import TaskSet

TASKS = TaskSet([SMALL_TASK, SMALL_TASK.model_copy(update={"id": "other"})])

STAGES = [
    {"name": "first", "reward": "format", "feedback": "off", "batches": 1},
    {"name": "second", "feedback": "error"},
]

ADAPTIVE = [
    {"name": "first", "reward": "format", "feedback": "error", "batches": 1},
    {"name": "drawn", "feedback": "error", "sampling": "adaptive"},
]

CLUMSY = (
    call("get_ticket", ticket_id=99),
    call("create_ticket", title="Lamp"),
    answer(),
    call("close_ticket", ticket_id=7),
    answer(),
)
"""A solution of the tasks that begins with a mistake."""

TINY = {
    "stages": STAGES,
    "validation": {"every": 1},
    "batches": 2,
    "groups": 1,
    "group_size": 2,
    "updates_per_batch": 2,
    "micro_batch": 1,
    "learning_rate": 1e-3,
    "beta": 0.0,
    "gradient_checkpointing": False,
    "max_prompt_tokens": 2_000,
    "max_completion_tokens": 100,
    "max_new_tokens": 10,
    "max_steps": 3,
    "checkpoint_every": 1,
}
"""Two batches of one group of two, each for two updates; a stage a batch."""


def read(file):
    """The entries of a log."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def weights(directory):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(directory).state_dict()


def same(left, right):
    """Whether weights are equal to the last bit."""
    import torch

    return all(torch.equal(left[name], right[name]) for name in left)


def teach(learner, conversation):
    """Train a model until it can repeat its own part of a conversation; return it."""
    import torch

    learner.train()
    ids = torch.tensor([conversation.ids])
    own = torch.tensor([[0] * len(conversation.prompt_ids) + conversation.mask])
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-2)
    for _ in range(300):
        loss = learner(input_ids=ids, labels=ids.masked_fill(own == 0, -100)).loss
        if loss < 0.005:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return learner


@pytest.fixture
def settings(tokenizer, tmp_path):  # noqa: F811
    """Make the settings of a tiny run."""
    tiny_model(tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")

    def make(**changes):
        from envtune_gym.training.layers import make_settings

        tiny = {**TINY, "model": str(tmp_path / "model"), "out": str(tmp_path / "run")}
        return make_settings([{**tiny, **changes}])

    return make


@pytest.fixture(scope="session")
def clumsy_model(tokenizer):  # noqa: F811
    """A model that has learnt a clumsy solution of the tasks."""
    import gymnasium as gym

    from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
    from envtune_gym.integrations.tokens import ChatTemplate
    from envtune_gym.registration import MULTI_DOMAIN_ID
    from envtune_gym.wrappers import AugmentedFeedbackWrapper

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
