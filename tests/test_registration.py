import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import envtune_gym
from envtune_gym.registration import ENV_IDS, MULTI_DOMAIN_ID

READ = '<tool_call>[{"name": "pwd", "arguments": {}}]</tool_call>'
ANSWER = "<answer>done</answer>"


def test_there_is_an_id_for_each_domain_and_one_for_all():
    assert len(ENV_IDS) == 9
    assert all(name in gym.registry for name in ENV_IDS)


def test_the_environment_of_all_domains_passes_gymnasiums_checker_without_a_warning():
    """Those of single domains are checked in their tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(MULTI_DOMAIN_ID).unwrapped)


def test_the_spec_round_trips_through_json():
    env = gym.make("EnvTune/MathAPI-v0", categories=("base",), split="test", max_steps_per_turn=5, offer="official")
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=3)[0] == env.reset(seed=3)[0]
    assert again.unwrapped.max_steps_per_turn == 5


def rollout(vectorization, mode, num_envs=3):
    """Play the same actions in a vector environment and return all that it gives back."""
    env = gym.make_vec(
        "EnvTune/GorillaFileSystem-v0",
        num_envs=num_envs,
        vectorization_mode=vectorization,
        vector_kwargs={"autoreset_mode": mode},
        max_steps_per_turn=2,
    )
    outputs = [env.reset(seed=11)]
    ended = np.zeros(num_envs, dtype=bool)
    actions = [READ, ANSWER, "<tool_call>[", ANSWER, READ, READ, READ, ANSWER, ANSWER, ANSWER, READ]
    for index, action in enumerate(actions):
        if mode == AutoresetMode.DISABLED and ended.any():
            outputs.append(env.reset(options={"reset_mask": ended.copy()}))
        step = env.step(tuple(action if (index + k) % 2 else ANSWER for k in range(num_envs)))
        ended = step[2] | step[3]
        outputs.append(step)
    env.close()
    return outputs


def plain(value):
    """Turn what a vector environment returns into comparable data."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_sync_and_async_vector_environments_agree(mode):
    sync, asynchronous = plain(rollout("sync", mode)), plain(rollout("async", mode))
    assert sync == asynchronous
    assert any(any(step[2]) for step in sync[1:] if len(step) == 5), "no episode ended: the test shows nothing"


def test_the_public_names_are_importable():
    assert set(envtune_gym.__all__) == {
        "Task", "TaskSet", "ToolResult", "Verdict", "World", "load_tasks", "score_trajectory",
    }  # fmt: skip
    assert all(hasattr(envtune_gym, name) for name in envtune_gym.__all__)
