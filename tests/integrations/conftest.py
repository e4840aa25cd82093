"""Fixtures of the tests of trainers. Their packages are imported where they are used: the tests of MCP need none."""

import sys

import gymnasium as gym
import pytest

from envtune_gym import TaskSet
from envtune_gym.registration import MULTI_DOMAIN_ID


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Tiny models gain nothing from more, and lose much where test workers share the cores."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokenizer():
    """Byte-level pieces learnt from a system prompt; any string survives encoding and decoding."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from .helpers import CHATML, SMALL_TASK

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1_000,
        special_tokens=["<|pad|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    _, info = gym.make(MULTI_DOMAIN_ID, tasks=TaskSet([SMALL_TASK]), tool_docs="compact").reset()
    backend.train_from_iterator([info["messages"][0]["content"]], trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|pad|>", padding_side="left"
    )
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    made.chat_template = CHATML
    return made


@pytest.fixture
def model(tokenizer):
    from .helpers import tiny_model

    return tiny_model(tokenizer)


@pytest.fixture
def make_env(ticket_task, withheld_task):
    def make(**options):
        options = {"tasks": TaskSet([ticket_task, withheld_task]), "tool_docs": "compact", **options}
        return gym.make(MULTI_DOMAIN_ID, **options)

    return make


@pytest.fixture
def run(tokenizer, make_env):
    """Play one episode for each script at once; return the rollouts."""
    from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
    from envtune_gym.integrations.tokens import ChatTemplate

    from .helpers import Script

    def run(*scripts, task_id="ticket", envs=None, template=None, **limits):
        envs = envs or [make_env() for _ in scripts]
        config = RolloutConfig(**{"max_prompt_tokens": 16_000, "max_completion_tokens": 10_000, **limits})
        template = template or ChatTemplate(tokenizer)
        rollouts = [Rollout(env, template, config, EpisodeRequest(0, task_id)) for env in envs]
        play(rollouts, Script(tokenizer, *scripts))
        return rollouts

    return run
