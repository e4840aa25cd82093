"""Rollouts of one task do not touch one another in vector environments, and leave nothing behind.

Each domain's tests interleave them in one process, by the suites of `envtune_gym.testing`.
"""

import gc
import json
import os
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import gymnasium as gym
import pytest

from envtune_gym import TaskSet, load_tasks
from envtune_gym.testing.isolation import oracle_actions

ROLLOUTS = 16
EPISODES = int(os.environ.get("ENVTUNE_EPISODES", "20000"))
"""So many are played to see whether they leave anything behind."""


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
@pytest.mark.parametrize(
    ("made_anew", "share", "allowed"),
    [
        pytest.param(False, 1.0, 160, id="kept tasks"),
        # More tasks than a source keeps: a third of the episodes make theirs anew, which takes most of the time.
        pytest.param(True, 0.25, 1_000, id="tasks made anew"),
    ],
)
def test_episodes_leave_memory_flat(made_anew, share, allowed):
    """A leak shows by its slope: so many bytes an episode, or one object in two episodes, are too much."""
    count = int(EPISODES * share)
    # In a process of its own: what other tests have taken and given back would hide what is taken here.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        grown, more = alone.submit(growth, made_anew, count).result()
    assert grown / count < allowed, f"{grown / count:.0f} bytes more an episode after {count:,} episodes"
    if not made_anew:  # other tasks are of other sizes
        assert more / count < 0.5, f"{more / count:.1f} objects more an episode after {count:,} episodes"


def growth(made_anew, count):
    """Return how many bytes more this process needs for so many episodes more, and how many small objects it keeps."""
    env = gym.make("EnvTune/MultiDomain-v0", action_format="python").unwrapped
    env.reset(seed=0)
    pool = load_tasks("generated")[:200]
    env.tasks = pool if made_anew else TaskSet(list(pool))

    def episodes(count):
        for _ in range(count):
            env.reset()
            while not env.episode.over:
                env.step("pwd()")
                env.step("nothing to do")
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, sys.getallocatedblocks()

    memory, blocks = episodes(3_000)  # every task's ground truth has run once, and the caches are warm
    more_memory, more_blocks = episodes(count)
    return more_memory - memory, more_blocks - blocks
