import math

import pytest

pytest.importorskip("trl")

import gymnasium as gym
import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.engines import engine_maker
from envtune_gym.integrations.rollout import EpisodeRequest, RolloutConfig
from envtune_gym.integrations.tokens import ChatTemplateError
from envtune_gym.integrations.trl import EpisodePlayer, environment_reward, episode_rows, make_rollout_func

from .helpers import SMALL_TASK, tiny_model

pytestmark = pytest.mark.filterwarnings("ignore:You are using 'rollout_func'", "ignore::FutureWarning")

LIMITS = RolloutConfig(max_prompt_tokens=4_000, max_completion_tokens=300, max_new_tokens=12, max_steps=3)


class Wordiness(gym.RewardWrapper):
    """Pays by the length of the reply, so that random models get rewards that differ."""

    def step(self, action):
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, len(action) / 50, terminated, truncated, info


class Poisoned(gym.Wrapper):
    """Every third environment pays what is not a number."""

    made = 0

    def __init__(self, env):
        super().__init__(env)
        type(self).made += 1
        self.bad = self.made % 3 == 0

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, math.nan if self.bad else reward, *rest


@pytest.fixture
def trainer(tokenizer, make_env, tmp_path):
    """Make a trainer over two tasks with groups of two; batches of rollout records are appended to `records`."""

    def make(
        wrap=Wordiness, records=None, callbacks=(), limits=LIMITS, prepare=None, task=SMALL_TASK, engine=None, **options
    ):
        arguments = {
            "output_dir": str(tmp_path),
            "per_device_train_batch_size": 2,
            "gradient_accumulation_steps": 2,
            "num_generations": 2,
            "gradient_checkpointing": False,
            "max_steps": 2,
            "learning_rate": 1e-2,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "seed": 1,
            "beta": 0.0,
            "disable_tqdm": True,
            **options,
        }
        tasks = TaskSet([task, task.model_copy(update={"id": "other"})])
        make_engine = engine and engine_maker(engine, 4)
        player = EpisodePlayer(lambda: wrap(make_env(tasks=tasks)), tokenizer, limits, prepare, make_engine)
        rollout_func = make_rollout_func(player, on_batch=None if records is None else records.append)
        rows = episode_rows(EpisodeRequest(seed, (task.id, "other")[seed % 2]) for seed in range(8))
        return GRPOTrainer(
            model=tiny_model(tokenizer),
            processing_class=tokenizer,
            reward_funcs=[environment_reward],
            rollout_func=rollout_func,
            train_dataset=Dataset.from_list(rows),
            args=GRPOConfig(**arguments),
            callbacks=list(callbacks),
        )

    return make


def weights(trainer):
    return torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])


def test_the_trainer_learns_from_groups_of_rollouts(trainer):
    records = []
    grpo = trainer(records=records)
    before = weights(grpo)
    grpo.train()
    assert [len(batch) for batch in records] == [4, 4]
    for batch in records:
        for start in (0, 2):
            assert len({(record.task_id, record.seed) for record in batch[start : start + 2]}) == 1
        assert batch[0].seed != batch[2].seed
        assert all(not record.broken for record in batch)
    steps = [entry for entry in grpo.state.log_history if "reward" in entry]
    for entry, batch in zip(steps, records, strict=True):
        assert entry["reward"] == pytest.approx(sum(record.reward for record in batch) / len(batch))
        assert entry["frac_reward_zero_std"] == 0.0
        assert entry["rollout/steps"] == pytest.approx(sum(record.num_steps for record in batch) / len(batch))
        assert math.isfinite(entry["grad_norm"])
    assert not torch.equal(weights(grpo), before)
    assert torch.isfinite(weights(grpo)).all()


@pytest.mark.parametrize("engine", ["transformers", "graph", "static"])
@pytest.mark.parametrize("withheld", [False, True])
def test_only_the_models_own_tokens_are_in_the_loss(trainer, withheld_task, withheld, engine):
    seen = []
    grpo = trainer(task=withheld_task if withheld else SMALL_TASK, engine=engine)
    compute = grpo._compute_loss

    def spy(model, inputs):
        seen.append({name: inputs[name] for name in ("completion_ids", "completion_mask", "tool_mask")})
        return compute(model, inputs)

    grpo._compute_loss = spy
    grpo.train()
    end, start = (grpo.processing_class.convert_tokens_to_ids(token) for token in ("<|im_end|>", "<|im_start|>"))
    for batch in seen:
        for ids, present, own in zip(*batch.values(), strict=True):
            own = (own * present).bool()
            text = grpo.processing_class.decode(ids[present.bool() & ~own])
            assert "user\n" in text  # the second request
            assert own.sum() <= LIMITS.max_steps * LIMITS.max_new_tokens
            opened = (ids == start).nonzero().flatten().tolist()
            assert any(not own[place] for place in opened)
            assert ids[present.bool()][-1] == end or own[present.bool()][-1]


@pytest.mark.parametrize("engine", ["transformers", "graph", "static"])
@pytest.mark.parametrize("withheld", [False, True])
def test_sampled_log_probabilities_are_those_of_the_loss(trainer, withheld_task, withheld, engine):
    """A policy that has not changed has ratio 1: TRL's own forward pass agrees with what was sampled."""
    gaps = []
    grpo = trainer(temperature=0.7, task=withheld_task if withheld else SMALL_TASK, engine=engine)
    score = grpo._generate_and_score_completions

    def compare(inputs):
        batch = score(inputs)
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        with torch.no_grad():
            logps, _, _ = grpo._get_per_token_logps_and_entropies(
                grpo.model, ids, mask, batch["completion_ids"].shape[1]
            )
        own = (batch["tool_mask"] * batch["completion_mask"]).bool()
        gaps.append((logps - batch["sampling_per_token_logps"])[own].abs().max())
        return batch

    grpo._generate_and_score_completions = compare
    grpo.train()
    assert max(gaps) < 1e-3


def test_broken_rollouts_leave_the_rewards_finite(trainer):
    records = []
    Poisoned.made = 0
    grpo = trainer(wrap=lambda env: Poisoned(Wordiness(env)), records=records)
    grpo.train()
    broken = [record for batch in records for record in batch if record.broken]
    assert broken
    assert all(record.reward == 0.0 and "nan" in record.broken for record in broken)
    steps = [entry for entry in grpo.state.log_history if "reward" in entry]
    assert all(math.isfinite(entry["reward"]) for entry in steps)
    assert sum(entry["rollout/broken"] for entry in steps) == pytest.approx(len(broken) / 4)
    assert torch.isfinite(weights(grpo)).all()


def test_rollouts_that_never_began_do_not_stop_the_trainer(trainer):
    records = []
    grpo = trainer(records=records, limits=RolloutConfig(max_prompt_tokens=10, max_completion_tokens=50))
    before = weights(grpo)
    grpo.train()
    assert all("max_prompt_tokens is 10" in record.broken for batch in records for record in batch)
    assert torch.equal(weights(grpo), before)


def test_rollouts_that_never_began_have_prompts_that_can_be_packed(trainer):
    grpo = trainer(limits=RolloutConfig(max_prompt_tokens=10, max_completion_tokens=50))
    columns = grpo.rollout_func([row["prompt"] for row in grpo.train_dataset][:2], grpo)
    assert [len(prompt) for prompt in columns["prompt_ids"]] == [2, 2]
    assert (columns["env_mask"], columns["logprobs"]) == ([[0], [0]], [[0.0], [0.0]])


def test_a_resumed_run_ends_as_the_whole_one(trainer, tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4}
    whole_records, resumed_records = [], []
    whole = trainer(records=whole_records, **saving)
    whole.train()
    resumed = trainer(records=resumed_records, **saving)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert resumed_records == whole_records[2:]
    assert torch.equal(weights(resumed), weights(whole))


class Saboteur(TrainerCallback):
    """Spoils one gradient of the first update, as clipping by a norm that is not finite would spoil all."""

    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        if state.global_step == 0:
            next(kwargs["model"].parameters()).grad.fill_(torch.nan)


def test_an_update_that_is_not_finite_is_skipped(trainer):
    guard = FiniteGradients()
    grpo = trainer(callbacks=[Saboteur(), guard])
    before = weights(grpo)
    grpo.train()
    assert guard.skipped == 1
    assert torch.isfinite(weights(grpo)).all()
    assert not torch.equal(weights(grpo), before)  # the second update came through


def test_mistakes_are_named(tokenizer, make_env, trainer):
    with pytest.raises(ConfigurationError, match="tools travel beside the messages"):
        EpisodePlayer(lambda: make_env(action_format="openai"), tokenizer)
    with pytest.raises(ConfigurationError, match="context of 16384 tokens"):
        trainer(limits=RolloutConfig(max_prompt_tokens=20_000)).train()
    grpo = trainer()
    with pytest.raises(ConfigurationError, match="episode_rows"):
        grpo.rollout_func([[{"role": "user", "content": "hello"}]], grpo)
    kept, tokenizer.chat_template = tokenizer.chat_template, "{{ messages[-1]['content'] }}"
    try:
        with pytest.raises(ChatTemplateError):
            EpisodePlayer(make_env, tokenizer)
    finally:
        tokenizer.chat_template = kept
