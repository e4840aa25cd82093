"""One iteration of RLlib's PPO on the classical wrappers; see docs/ray.md for how to install what it needs.

RLlib pins an older Gymnasium, so it wants an environment of its own. `baselines/ppo.py` is the baseline that learns.

Example:
    python baselines/rllib_ppo.py
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

from envtune_gym import TaskSet, load_tasks
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.wrappers import (
    AugmentedFeedbackWrapper,
    CandidateActionWrapper,
    FeaturizeWrapper,
    ProgressRewardWrapper,
)


def make_env(settings: dict[str, Any]) -> gym.Env[Any, int]:
    """Return the environment that an agent of RLlib acts in: numbers in, a number out."""
    tasks = load_tasks("generated", split="train", domains=("TicketAPI",), difficulty=1, categories=("base",))
    env = gym.make(MULTI_DOMAIN_ID, tasks=TaskSet(list(tasks[:100])), max_steps_per_turn=6, disable_env_checker=True)
    env = ProgressRewardWrapper(AugmentedFeedbackWrapper(env, settings["feedback"]))
    return FeaturizeWrapper(CandidateActionWrapper(env, settings["candidates"]), settings["text"])


def main() -> None:
    """Train for one iteration with two processes that sample, and print what RLlib has measured."""
    ray.init("local", num_cpus=3, include_dashboard=False, object_store_memory=256 * 2**20, logging_level="error")
    register_env("envtune", make_env)
    config = (
        PPOConfig()
        .environment("envtune", env_config={"feedback": "actionable", "candidates": 8, "text": 64})
        .env_runners(num_env_runners=2)
        .training(train_batch_size_per_learner=1_024, minibatch_size=128, num_epochs=4)
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    try:
        measured = algorithm.train()["env_runners"]
    finally:
        algorithm.stop()
        ray.shutdown()
    print(f"gymnasium {gym.__version__}, ray {ray.__version__}")
    print(f"steps: {measured['num_env_steps_sampled']:.0f}, episodes: {measured['num_episodes']:.0f}")
    print(f"mean progress: {measured['episode_return_mean']:.2f}, mean length: {measured['episode_len_mean']:.1f}")


if __name__ == "__main__":
    main()
