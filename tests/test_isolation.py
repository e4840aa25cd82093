"""Rollouts of one task do not touch one another in vector environments, and leave nothing behind.

Each domain's tests interleave them in one process, by the suites of `envtune_gym.testing`.
"""

import json
import resource

import gymnasium as gym
import pytest

from envtune_gym import TaskSet, load_tasks
from envtune_gym.testing.isolation import oracle_actions

ROLLOUTS = 16


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_end_as_each_does_alone(mode):
    task = load_tasks("generated", domains=("GorillaFileSystem",), categories=("base",))[0]
    env = gym.make_vec(
        "EnvTune/MultiDomain-v0",
        num_envs=ROLLOUTS,
        vectorization_mode=mode,
        tasks=TaskSet([task]),
        action_format="python",
        offer="official",
    )
    env.reset(seed=0)
    for action in oracle_actions(task):
        _, rewards, terminated, _, info = env.step((action,) * env.num_envs)
    env.close()
    assert rewards.tolist() == [1.0] * env.num_envs
    assert terminated.all()
    assert len({json.dumps(turns) for turns in info["turn_results"]}) == 1


@pytest.mark.slow
def test_a_hundred_thousand_episodes_leave_memory_flat():
    env = gym.make("EnvTune/MultiDomain-v0", action_format="python").unwrapped
    env.reset(seed=0)
    pool = load_tasks("generated")[:200]
    env.tasks = pool

    def episodes(count):
        for _ in range(count):
            env.reset()
            while not env.episode.over:
                env.step("pwd()")
                env.step("nothing to do")

    episodes(3_000)  # every task's ground truth has run once, and the caches are warm
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    episodes(97_000)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024
    assert grown < 20, f"{grown:.1f} MiB more after 100,000 episodes"
