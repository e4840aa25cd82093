"""Rollouts of one task do not touch one another, in whatever way they are interleaved."""

import json
import resource
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import pytest

from envtune_gym import TaskSet, load_tasks
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call

ROLLOUTS = 16


def oracle_actions(task):
    """Return the actions that play a task's ground truth, one call a step."""
    actions = []
    for calls in task.ground_truth:
        actions += [render_calls([parse_call(call)], "python") for call in calls]
        actions.append(render_answer("done", "python"))
    return actions


def make(task):
    env = gym.make("EnvTune/MultiDomain-v0", tasks=TaskSet([task]), action_format="python", offer="official")
    env.reset(seed=0)
    return env


def outcome(env, step):
    return json.dumps([step[:4], step[4]["turn_results"], env.unwrapped.episode.world.state()])


def play(task):
    env = make(task)
    for action in oracle_actions(task):
        step = env.step(action)
    return outcome(env, step)


@pytest.fixture(scope="module")
def tasks():
    """One generated task for each domain."""
    from envtune_gym.domains import BUILTIN_DOMAINS

    return [load_tasks("generated", domains=(domain,), categories=("base",))[0] for domain in BUILTIN_DOMAINS]


def test_interleaved_rollouts_end_as_each_does_alone(tasks):
    for task in tasks:
        alone = play(task)
        envs = [make(task) for _ in range(ROLLOUTS)]
        for action in oracle_actions(task):
            steps = [env.step(action) for env in envs]
        assert {outcome(env, step) for env, step in zip(envs, steps, strict=True)} == {alone}


def test_rollouts_that_go_astray_do_not_disturb_their_neighbours(tasks):
    for task in tasks:
        alone = play(task)
        good, bad = make(task), make(task)
        wrecking = [action for other in tasks for action in oracle_actions(other)]
        for index, action in enumerate(oracle_actions(task)):
            if not bad.unwrapped.episode.over:
                bad.step(wrecking[index % len(wrecking)])
            step = good.step(action)
        assert outcome(good, step) == alone


def test_threads_end_as_each_does_alone(tasks):
    for task in tasks:
        with ThreadPoolExecutor(ROLLOUTS) as pool:
            ends = list(pool.map(play, [task] * ROLLOUTS))
        assert set(ends) == {play(task)}


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_end_as_each_does_alone(tasks, mode):
    task = tasks[0]
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
