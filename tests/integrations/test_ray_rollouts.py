"""Rollouts of a training whose environments live in a real Ray cluster."""

import contextlib
import os
import signal
import sys

import pytest

pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')
pytest.importorskip("trl")
if sys.platform != "linux":
    pytest.skip("finds the processes of a cluster in /proc", allow_module_level=True)

import gymnasium as gym
import torch
from datasets import Dataset
from ray_processes import kill_one, pids
from trl import GRPOConfig, GRPOTrainer

from envtune_gym.integrations.ray_envs import RayEnvs
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, play
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.integrations.trl import EpisodePlayer, environment_reward, episode_rows, make_rollout_func
from envtune_gym.wrappers import AugmentedFeedbackWrapper, ProgressRewardWrapper

from .helpers import SOLUTION, Script, answer, call, tiny_model
from .page_example import run_example

SCRIPTS = [
    *[[call("get_user_tickets")] * number + list(SOLUTION) for number in range(4)],
    ["<tool_call>[oops", call("open_ticket", title="Lamp"), answer(), answer()],
    [call("get_user_tickets")] * 30,
]


class Killing(Script):
    """Kills a process of the cluster before the second and the fourth replies."""

    killed = ()

    def generate(self, prompts, limits, on_reply=None):
        replies = super().generate(prompts, limits)
        if len(self.prompts) in (2, 4):
            self.killed = (*self.killed, kill_one("_EnvHost"))
        elif on_reply is not None:
            on_reply(0, replies[0])
        return replies


@pytest.mark.usefixtures("ray_cluster")
def test_rollouts_are_the_same_whatever_dies(tokenizer, make_env):
    def make():
        return ProgressRewardWrapper(AugmentedFeedbackWrapper(make_env(), "actionable"))

    def rollouts(make, engine):
        config = RolloutConfig(max_prompt_tokens=16_000, max_completion_tokens=10_000, max_steps=12)
        requests = [EpisodeRequest(0, "ticket")] * (len(SCRIPTS) - 1) + [EpisodeRequest(0, "nowhere")]
        played = [Rollout(make(), ChatTemplate(tokenizer), config, request) for request in requests]
        play(played, engine)
        conversations = [one.conversation for one in played]
        tokens = [(one.prompt_ids, one.completion_ids, one.mask, one.logprobs) for one in conversations]
        return [one.record for one in played], tokens

    here = rollouts(make, Script(tokenizer, *SCRIPTS))
    engine = Killing(tokenizer, *SCRIPTS)
    with RayEnvs(make) as envs:
        there = rollouts(envs, engine)
        assert len(set(engine.killed)) == 2
        assert not pids("_EnvHost") & set(engine.killed)
    assert there == here
    records, _ = there
    assert [record.success for record in records] == [True, True, True, True, False, False]
    assert "nowhere" in records[-1].broken
    assert records[4].hints == 2


@pytest.mark.filterwarnings("ignore:You are using 'rollout_func'", "ignore::FutureWarning")
@pytest.mark.usefixtures("ray_cluster")
def test_a_model_that_is_trained_so_has_the_same_weights(tokenizer, make_env, tmp_path):
    class Deadly(gym.Wrapper):
        """Pays by the length of the reply, so that rewards differ; one process dies in the middle, if it may."""

        marker = tmp_path / "may die"

        def step(self, action):
            observation, _, terminated, truncated, info = self.env.step(action)
            if terminated:
                with contextlib.suppress(FileNotFoundError):  # of several, who takes the marker away is the one
                    self.marker.unlink()
                    os.kill(os.getpid(), signal.SIGKILL)
            return observation, len(action) / 50, terminated, truncated, info

    names = {
        "make_env": lambda: Deadly(make_env()),
        "tokenizer": tokenizer,
        "limits": RolloutConfig(max_prompt_tokens=4_000, max_completion_tokens=300, max_new_tokens=12, max_steps=3),
        "rows": Dataset.from_list(episode_rows(EpisodeRequest(seed, "ticket") for seed in range(4))),
        "config": GRPOConfig(
            output_dir=str(tmp_path / "out"),
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            num_generations=2,
            max_steps=2,
            learning_rate=1e-2,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            beta=0.0,
            disable_tqdm=True,
        ),
    }

    class Trainer(GRPOTrainer):
        """The example's, which needs the tokenizer as it is: no files say where the tiny model's would be."""

        def __init__(self, model, reward_funcs, **options):
            super().__init__(model, reward_funcs, processing_class=tokenizer, **options)

    def weights(model):
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    models = [tiny_model(tokenizer) for _ in range(2)]
    player = EpisodePlayer(names["make_env"], tokenizer, names["limits"])
    Trainer(
        models[0],
        [environment_reward],
        args=names["config"],
        train_dataset=names["rows"],
        rollout_func=make_rollout_func(player),
    ).train()
    Deadly.marker.touch()
    run_example("trl", "docs/ray.md", GRPOTrainer=Trainer, model=models[1], **names)
    assert not Deadly.marker.exists()
    assert torch.equal(weights(models[0]), weights(models[1]))
    assert not torch.equal(weights(models[0]), weights(tiny_model(tokenizer)))
