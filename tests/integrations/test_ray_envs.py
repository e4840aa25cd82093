"""Environments in the processes of a real Ray cluster, some of which are killed."""

import sys

import pytest

pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')
if sys.platform != "linux":
    pytest.skip("finds the processes of a cluster in /proc", allow_module_level=True)

import gymnasium as gym
from ray_processes import kill_one, pids

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError, EpisodeError, UnknownTaskError
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.integrations.ray_envs import RayEnvs
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.wrappers import AugmentedFeedbackWrapper, CurriculumWrapper

from .page_example import run_example

HOST = "_EnvHost"
WRONG = '<tool_call>[{"name": "no_such_tool", "arguments": {}}]</tool_call>'
STAGES = [{"name": "easy", "feedback": "off", "limit": 4}, {"name": "all", "feedback": "actionable"}]


@pytest.fixture(scope="module")
def tasks():
    return TaskSet(list(load_tasks("generated", split="train")[:12]))


@pytest.fixture
def make_env(tasks):
    def make():
        env = gym.make(MULTI_DOMAIN_ID, tasks=tasks, disable_env_checker=True)
        return AugmentedFeedbackWrapper(env, "actionable")

    return make


def play(make, tasks, kill_before=()):
    """Play all tasks side by side, each with a mistake at its beginning; return all outcomes and who was killed."""
    envs = [make() for _ in tasks]
    outcomes = [[env.reset(seed=1, options={"task_id": task.id})] for env, task in zip(envs, tasks, strict=True)]
    scripts = [[WRONG, *Oracle("tool_call").messages(task)] for task in tasks]
    killed = []
    for step in range(max(map(len, scripts))):
        playing = [index for index, script in enumerate(scripts) if step < len(script)]
        if step in kill_before:
            killed.append(kill_one(HOST))
        for index in playing:
            if hasattr(envs[index], "step_async"):
                envs[index].step_async(scripts[index][step])
        for index in playing:
            env = envs[index]
            outcomes[index].append(env.step_wait() if hasattr(env, "step_wait") else env.step(scripts[index][step]))
    return outcomes, killed


@pytest.mark.usefixtures("ray_cluster")
def test_processes_that_are_killed_in_the_middle_change_no_outcome(make_env, tasks):
    here, _ = play(make_env, tasks)
    with RayEnvs(make_env) as envs:
        there, killed = play(envs, tasks, kill_before=(2, 5))
        assert len(set(killed)) == 2
        assert len(pids(HOST) - set(killed)) == 2
    assert there == here
    assert sum(outcome[-1][1] for outcome in there) == len(tasks)  # the oracle solves them all


@pytest.mark.usefixtures("ray_cluster")
def test_a_curriculum_is_where_it_was_after_its_process_died(tasks):
    def make():
        return CurriculumWrapper(gym.make(MULTI_DOMAIN_ID, tasks=tasks, disable_env_checker=True), STAGES)

    curriculum = make()
    curriculum.advance()
    outcomes = []
    with RayEnvs(make, processes=1) as envs:
        for env in (make(), envs()):
            env.get_wrapper_attr("load_state_dict")(curriculum.state_dict())
            outcomes.append([env.reset(seed=seed) for seed in (1, 2, 3)])
            if env.unwrapped is env:
                kill_one(HOST)
            outcomes[-1].append(env.step(WRONG))
    assert outcomes[0] == outcomes[1]
    assert outcomes[1][0][1]["stage"] == "all"
    assert "Hint" in outcomes[1][-1][0]


@pytest.mark.usefixtures("ray_cluster")
def test_what_an_environment_raises_is_raised_here(make_env):
    with RayEnvs(make_env, processes=1) as envs:
        env = envs()
        with pytest.raises(EpisodeError, match="reset"):
            env.step("hello")
        with pytest.raises(UnknownTaskError, match="nowhere"):
            env.reset(seed=0, options={"task_id": "nowhere"})
        with pytest.raises(ConfigurationError, match="seed"):
            env.reset()
        assert env.reset(seed=0) == make_env().reset(seed=0)


@pytest.mark.usefixtures("ray_cluster")
def test_it_looks_like_the_environment_that_it_stands_for(make_env):
    with RayEnvs(make_env, processes=1) as envs:
        env, here = envs(), make_env()
        assert (env.observation_space, env.action_space) == (here.observation_space, here.action_space)
        assert env.unwrapped.action_format == here.unwrapped.action_format
        env.close()
        env.close()


def test_the_example_of_the_page(capsys):
    run_example("ray", "docs/ray.md")
    assert capsys.readouterr().out.splitlines()[-1] == "16 of 16 tasks solved"
