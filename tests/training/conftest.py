import pytest
from integrations.conftest import make_env, model, one_thread, run, tokenizer  # noqa: F401 (fixtures)
from integrations.helpers import SMALL_TASK, tiny_model

from envtune_gym import TaskSet

TASKS = TaskSet([SMALL_TASK, SMALL_TASK.model_copy(update={"id": "other"})])

STAGES = [
    {"name": "first", "reward": "format", "feedback": "off", "batches": 1},
    {"name": "second", "feedback": "error"},
]

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
