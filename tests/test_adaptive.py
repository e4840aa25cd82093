import json

import numpy as np
import pytest

from envtune_gym.adaptive import AdaptiveSampler
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import load_tasks


def tasks():
    return load_tasks("generated", domains="MathAPI", categories="base", split="train")


def level(kind):
    return {"t1g1d1": 1, "t2g1d1": 2, "t3g2d1": 3, "t4g2d2": 4, "t6g3d3": 5}[kind.split("-")[2]]


class Learner:
    """Solves what is a little harder than its skill at most; learns from groups of which some pass and some fail."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.skill = 0.0

    def chance(self, difficulty):
        return 1 / (1 + np.exp(3 * (difficulty - 1 - self.skill)))

    def practise(self, difficulty, group=8):
        solved = self.rng.random(group) < self.chance(difficulty)
        self.skill += 0.4 * solved.std() / group
        return solved


def train(draw, record, seed, groups=300):
    learner = Learner(seed)
    for _ in range(groups):
        task = draw()
        for success in learner.practise(level("-".join(task.id.split("-")[1:-1]))):
            record(task.id, float(success))
    return learner


@pytest.mark.parametrize("seed", range(3))
def test_a_simulated_learner_gets_further_than_with_uniform_draws(seed):
    rng = np.random.default_rng(seed)
    sampler = AdaptiveSampler(tasks())
    adaptive = train(lambda: sampler.sample(rng), sampler.record, seed)
    uniform = train(lambda: tasks().sample(rng), lambda *_: None, seed)
    assert adaptive.skill > 1.3 * uniform.skill
    assert max(sampler.weights, key=sampler.weights.get)  # some kind is always left to draw


def test_kinds_in_the_zone_are_drawn_most_and_none_is_lost():
    sampler = AdaptiveSampler(tasks())
    rates = {1: 1.0, 2: 0.95, 3: 0.5, 4: 0.05, 5: 0.0}
    for index in range(400):
        task_id = tasks()[index].id
        kind = "-".join(task_id.split("-")[1:-1])
        sampler.record(task_id, rates[level(kind)])
    weights = {level(kind): weight for kind, weight in sampler.weights.items()}
    assert max(weights, key=weights.get) == 3
    assert weights[1] == weights[5] == 0.02
    assert 0.02 < weights[2] < 1 > weights[4] > 0.02


def test_a_kind_is_not_judged_by_its_first_results():
    sampler = AdaptiveSampler(tasks())
    for _ in range(3):
        sampler.record(tasks()[0].id, 0.0)
    assert set(sampler.weights.values()) == {1.0}
    sampler.record(tasks()[0].id, 0.0)
    assert sorted(set(sampler.weights.values())) == [0.02, 1.0]


def test_old_results_are_forgotten():
    sampler = AdaptiveSampler(tasks(), window=8)
    for success in [0.0] * 8 + [1.0, 0.0] * 4:
        sampler.record(tasks()[0].id, success)
    assert list(sampler.success.values()) == [0.5]


def test_state_goes_through_json_and_draws_the_same():
    sampler, other = AdaptiveSampler(tasks()), AdaptiveSampler(tasks())
    for index in range(60):
        sampler.record(tasks()[index].id, index % 3 / 2)
    other.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
    rngs = np.random.default_rng(5), np.random.default_rng(5)
    assert [sampler.sample(rngs[0]).id for _ in range(5)] == [other.sample(rngs[1]).id for _ in range(5)]
    with pytest.raises(ConfigurationError, match="no kind 'other'"):
        sampler.load_state_dict({"other": [1]})
    for broken in ("x", 10**400):
        with pytest.raises(ConfigurationError, match="not a state"):
            sampler.load_state_dict({"MathAPI-base-t1g1d1-train": [broken]})
    assert sampler.state_dict() == other.state_dict()


def test_finite_sets_are_grouped_by_what_their_tasks_are_like():
    some = tasks()[:200]
    kinds = some.kinds()
    assert sum(map(len, kinds.values())) == 200
    assert {some.kind_of(task.id) for task in some} == set(kinds)
    assert some.kind_of("nothing") is None


@pytest.mark.parametrize("wrong", [{"low": 0.9}, {"high": 1.5}, {"floor": 0}, {"trials": 0}, {"trials": 40}])
def test_numbers_without_meaning_are_refused(wrong):
    with pytest.raises(ConfigurationError, match="AdaptiveSampler needs"):
        AdaptiveSampler(tasks(), **wrong)


def test_outcomes_are_shares_and_foreign_tasks_count_nowhere():
    sampler = AdaptiveSampler(tasks())
    with pytest.raises(ConfigurationError, match="from 0 to 1"):
        sampler.record(tasks()[0].id, 2)
    sampler.record("multi_turn_base_0", 1)
    assert sampler.success == {}
