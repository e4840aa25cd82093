"""Mutated trajectories get the official verdicts."""

import random
from collections import Counter

import gymnasium as gym
import pytest

from envtune_gym import load_tasks, score_trajectory

from .mutations import MUTATIONS, mutate
from .oracle import FORCE_TERMINATED, official_verdict

TRAJECTORIES = 750
"""Trajectories of a category."""
PLAYED = 75
"""Trajectories of a category that are played in the environment too."""
CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
ERROR_TYPES = (
    "multi_turn:empty_turn_model_response",
    "multi_turn:instance_state_mismatch",
    "multi_turn:execution_response_mismatch",
    FORCE_TERMINATED,
)


def trajectories(category, count):
    """Yield tasks with mutated trajectories, each mutation as often as every other."""
    tasks = load_tasks("bfcl", categories=[category])
    rng = random.Random(f"trajectories of {category}")
    for index in range(count):
        task = tasks[rng.randrange(len(tasks))]
        yield task, mutate(task, tasks, MUTATIONS[index % len(MUTATIONS)], rng)


@pytest.mark.parametrize("category", CATEGORIES)
def test_verdict_and_error_type_are_the_official_ones(category, figures):
    found = Counter()
    for task, steps in trajectories(category, TRAJECTORIES):
        verdict = score_trajectory(task, steps)
        expected = official_verdict(task.to_bfcl(), [list(calls) for calls in task.ground_truth], steps)
        assert (verdict.valid, verdict.error_type) == expected, f"{task.id}: {steps}"
        found[verdict.error_type] += 1
    assert found[None] >= 0.2 * TRAJECTORIES
    for error_type in ERROR_TYPES:
        assert found[error_type] >= 0.04 * TRAJECTORIES, error_type
    figures.update({f"mutated trajectories, {error_type or 'valid'}": count for error_type, count in found.items()})


@pytest.mark.parametrize("category", CATEGORIES)
def test_playing_the_calls_gives_the_same_verdict(category, figures):
    env = gym.make(
        "EnvTune/MultiDomain-v0",
        tasks="bfcl",
        categories=(category,),
        action_format="python",
        max_steps_per_turn=200,  # some trajectories have a step for each of fifty calls; scoring knows no limit
    )
    for task, steps in trajectories(category, PLAYED):
        verdict = score_trajectory(task, steps)
        env.reset(options={"task_id": task.id})
        valid, finished = play(env, steps)
        assert finished == (len(steps) >= task.num_turns), f"{task.id}: {steps}"
        if finished:
            assert valid == score_trajectory(task, steps[: task.num_turns]).valid, f"{task.id}: {steps}"
        else:
            assert verdict.error_type == FORCE_TERMINATED
        figures["trajectories played in the environment, verdicts equal"] += 1
    env.close()


def play(env, steps_per_turn):
    """Play a trajectory; return whether it succeeded and whether the episode ended."""
    reward = 0.0
    for steps in steps_per_turn:
        for action in [*[f"[{', '.join(step)}]" for step in steps if step], "Done."]:
            _, reward, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                assert info["success"] == (reward == 1.0)
                return reward == 1.0, True
    return False, False
