"""All official ground truths, call by call and state by state."""

import pytest

from envtune_gym import World, load_tasks

from .oracle import assert_same_state, official_world


@pytest.mark.parametrize("category", ["base", "miss_func", "miss_param", "long_context"])
def test_results_and_states_of_every_ground_truth_are_the_official_ones(category, figures):
    tasks = load_tasks("bfcl", categories=[category])
    assert len(tasks) == 200
    for task in tasks:
        ours = World(task.domains, task.initial_config, task.long_context)
        with official_world(task.domains, task.initial_config, task.long_context) as theirs:
            for turn, calls in enumerate(task.ground_truth):
                for call in calls:
                    assert ours.execute(call) == theirs.execute(call)[0], f"{task.id}, turn {turn}: {call}"
                    figures["ground-truth calls, results identical"] += 1
                assert_same_state(theirs, ours)
                figures["ground-truth turns, states identical"] += 1
