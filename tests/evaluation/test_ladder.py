from random import Random

import gymnasium as gym
import pytest

import envtune_gym  # noqa: F401 (registers the environments)
from envtune_gym import load_tasks
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.ladder import climb, slipping_plan
from envtune_gym.evaluation.learner import Draft
from envtune_gym.evaluation.policies import LearnerPolicy, play
from envtune_gym.evaluation.scenes import effect, scenes
from envtune_gym.tasks import TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper


def _tasks(level, number, start=0):
    return list(load_tasks("generated", split="test", difficulty=level)[start : start + number])


def _make(tasks):
    return AugmentedFeedbackWrapper(gym.make("EnvTune/MultiDomain-v0", tasks=tasks, disable_env_checker=True))


def _right_plan(task):
    truth = list(scenes(task))[-1].turns
    return (*truth, *((),) * (task.num_turns - len(truth)))


@pytest.fixture(scope="module")
def ladder():
    return climb({1: _tasks(1, 48), 5: _tasks(5, 48)}, _make, seed=0)


def test_oracle_solves_everything(ladder):
    for rung in (*ladder.levels, *ladder.categories, ladder.total):
        for figure in (rung.success["oracle"], rung.progress["oracle"]):
            assert (figure.value, figure.low, figure.high) == (1, 1, 1)


def test_learner_falls_with_difficulty(ladder):
    easy, hard = ladder.levels
    for figures in ("success", "progress"):
        assert getattr(hard, figures)["learner"].high < getattr(easy, figures)["learner"].low
    assert 0.5 < easy.success["learner"].value < 1
    assert 0 < hard.success["learner"].value < 0.5


def test_random_agent_solves_next_to_nothing(ladder):
    assert ladder.total.success["random"].value <= 0.05
    assert ladder.total.progress["random"].value <= 0.05
    assert ladder.levels[1].success["random"].value == 0


def test_rungs_count_every_task_once(ladder):
    assert [(rung.name, rung.tasks) for rung in ladder.levels] == [("1", 48), ("5", 48)]
    assert [rung.name for rung in ladder.categories] == ["base", "miss_func", "miss_param", "long_context"]
    assert sum(rung.tasks for rung in ladder.categories) == ladder.total.tasks == 96
    for rung in (*ladder.levels, *ladder.categories):
        for figure in (*rung.success.values(), *rung.progress.values()):
            assert 0 <= figure.low <= figure.value <= figure.high <= 1


def test_the_same_seed_gives_the_same_ladder():
    tasks = {2: _tasks(2, 12)}
    assert climb(tasks, _make, seed=3) == climb(tasks, _make, seed=3)
    assert climb(tasks, _make, seed=3) != climb(tasks, _make, seed=4)


def test_variants_of_one_scenario_are_drawn_together():
    # Four categories of one scenario: however they differ, there is nothing to draw between.
    variants = list(load_tasks("generated", split="test", domains=["TicketAPI"], difficulty=5)[:4])
    assert len({task.category for task in variants}) == 4
    figure = climb({5: variants}, _make, seed=1).total.progress["learner"]
    assert 0 < figure.value < 1
    assert figure.low == figure.value == figure.high


def test_on_task_is_called_for_each_task():
    seen = []
    climb({1: _tasks(1, 3), 2: _tasks(2, 2)}, _make, on_task=lambda: seen.append(1))
    assert len(seen) == 5


def test_no_tasks_are_an_error():
    with pytest.raises(ConfigurationError, match="at least one task"):
        climb({1: []}, _make)


def test_each_turn_with_calls_has_one_mistake_that_shows():
    for level in (1, 3, 5):
        for task in _tasks(level, 8, start=40):
            plan = slipping_plan(task, Random(task.id))
            right = _right_plan(task)
            assert len(plan) == task.num_turns
            for turn, (steps, calls) in enumerate(zip(plan, right, strict=True)):
                assert bool(steps or calls) == bool(task.ground_truth[turn])
                if calls:
                    assert steps != calls
                    assert effect(task, (*right[:turn], steps)) in ("error", "silent")
                    # One step differs, or two are swapped or one is missing: the rest is as it was.
                    kept = [step for step in steps if not isinstance(step, Draft) and step in calls]
                    assert len(kept) >= len(calls) - 1


def test_mistakes_are_drawn_by_the_seed():
    [task] = _tasks(5, 1)
    assert slipping_plan(task, Random(1)) == slipping_plan(task, Random(1)) != slipping_plan(task, Random(2))


def test_learner_that_makes_no_mistake_loses_next_to_nothing():
    tasks = [task for level in (1, 3, 5) for task in _tasks(level, 20)]
    env = _make(TaskSet(tasks))
    played = [play(env, LearnerPolicy(task.id, _right_plan(task)), task.id) for task in tasks]
    assert sum(one.success for one in played) >= 0.95 * len(tasks)
