import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from envtune_gym import TaskSet
from envtune_gym.curriculum import ADAPTIVE_STAGE, PAPER_STAGES, AdvanceRule, Stage
from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers import CurriculumWrapper, ProgressRewardWrapper

from .helpers import DONE, ID, calls, play

MISSING = calls("cat(file_name='b.txt')")
STAGES = (
    Stage("easy", ("base",), reward="format", feedback="off", limit=3),
    Stage("taught", ("base", "long_context"), reward="progress", feedback="actionable"),
    Stage("bare", ("base", "long_context"), reward="verdict", feedback="off"),
)


@pytest.fixture
def many(file_task) -> TaskSet:
    """Ten base tasks, of which 0 to 4 have one turn, and ten of long_context."""
    one_turn = {"turns": file_task.turns[:1], "ground_truth": file_task.ground_truth[:1]}
    base = [
        file_task.model_copy(update={"id": f"base_{i}", **(one_turn if i < 5 else {})}) for i in reversed(range(10))
    ]
    long = [file_task.model_copy(update={"id": f"long_{i}", "category": "long_context"}) for i in range(10)]
    return TaskSet([*base, *long])


@pytest.fixture
def env(many):
    return CurriculumWrapper(gym.make(ID, tasks=many), STAGES)


def drawn(env, count, **first):
    """Return the ids of the next tasks."""
    return [env.reset(**(first if i == 0 else {}))[1]["task_id"] for i in range(count)]


def test_a_stage_serves_its_own_tasks(env):
    assert set(drawn(env, 40, seed=0)) == {"base_2", "base_3", "base_4"}
    env.advance()
    ids = drawn(env, 200)
    assert set(ids) == set(env.unwrapped.tasks.ids)


def test_feedback_and_reward_are_the_stages(env):
    right = calls("cd(folder='docs')", "cat(file_name='a.txt')")
    hints, rewards = [], []
    for _ in STAGES:
        trace = play(env, "base_9", [MISSING, right, DONE, DONE])
        hints.append("hint" in trace[1][0])
        rewards.append([step[1] for step in trace[1:]])
        env.advance()
    assert hints == [False, True, False]
    assert rewards == [pytest.approx([0, 0, 0, 1 + 2 / 3]), [0, 0, 0.5, 0], [0, 0, 0, 0]]


def test_nothing_changes_within_an_episode(env):
    env.reset(seed=0, options={"task_id": "base_9"})
    env.advance()
    observation, _, _, _, info = env.step(MISSING)
    assert (info["stage"], info["feedback"]) == ("easy", "off")
    assert "hint" not in observation
    env.step(DONE)
    assert env.step(DONE)[1] == 1.0
    env.reset(options={"task_id": "base_9"})
    observation, _, _, _, info = env.step(MISSING)
    assert (info["stage"], info["feedback"]) == ("taught", "actionable")
    assert "hint" in observation


def test_a_named_task_is_played_in_any_stage(env):
    assert env.reset(options={"task_id": "long_3"})[1]["task_id"] == "long_3"
    with pytest.raises(KeyError, match="nowhere"):
        env.reset(options={"task_id": "nowhere"})
    with pytest.raises(ConfigurationError, match="unknown reset option 'task'"):
        env.reset(options={"task": "long_3"})


def test_a_seed_gives_the_same_tasks(env, many):
    other = CurriculumWrapper(gym.make(ID, tasks=many), STAGES)
    env.advance()
    other.advance()
    assert drawn(env, 20, seed=5) == drawn(other, 20, seed=5) != drawn(other, 20, seed=6)


def test_the_rule_decides_at_a_validation(many):
    env = CurriculumWrapper(gym.make(ID, tasks=many), STAGES, rule=AdvanceRule(patience=1, window=2))
    assert [env.record(grad_norm=0.4), env.record(grad_norm=0.4), env.record(accuracy=0.3)] == [False, False, False]
    assert env.record(accuracy=0.3, grad_norm=0.4)
    assert env.stage.name == "taught"
    assert env.history == ()
    assert not env.record(accuracy=0.3)


def test_the_last_stage_stays(env):
    for _ in range(5):
        env.advance()
    assert env.stage.name == "bare"
    for _ in range(30):
        assert not env.record(accuracy=0.5, grad_norm=0.1)


@pytest.mark.parametrize("metrics", [{"accuracy": 1.1}, {"accuracy": float("nan")}, {"grad_norm": -1.0}])
def test_impossible_metrics_are_refused(env, metrics):
    with pytest.raises(ConfigurationError, match=next(iter(metrics))):
        env.record(**metrics)
    assert env.history == ()


def test_a_saved_state_goes_on_as_before(env, many):
    env.reset(seed=3)
    env.advance()
    env.record(accuracy=0.25, grad_norm=0.5)
    drawn(env, 5)
    saved = json.loads(json.dumps(env.state_dict()))
    resumed = CurriculumWrapper(gym.make(ID, tasks=many), STAGES)
    resumed.reset(seed=9)
    resumed.load_state_dict(saved)
    assert resumed.history == env.history
    assert drawn(resumed, 20) == drawn(env, 20)
    assert resumed.reset()[1]["stage"] == "taught"


def generator(**changes):
    """The state of a generator with some changes."""
    return {**np.random.default_rng(7).bit_generator.state, **changes}


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"stage": 3},
        {"stage": None},
        {"rng": {}},
        {"rng": generator(bit_generator="MT19937")},
        {"rng": generator(state={"state": 3, "inc": "1"})},
        {"rng": generator(state={"state": 3, "inc": -1})},
        {"rng": generator(uinteger=None)},
        {"history": [[1, 2, 3]]},
        {"stages": ["easy"]},
    ],
)
def test_a_broken_state_is_refused_and_changes_nothing(env, broken):
    before = env.state_dict()
    with pytest.raises(ConfigurationError):
        env.load_state_dict({**before, **broken} if broken else {})
    assert env.state_dict() == before
    assert env.stage.name == "easy"


def test_a_stage_without_tasks_is_refused(many):
    stages = [Stage("base", ("base",)), Stage("blind", ("miss_func", "miss_param"))]
    with pytest.raises(ConfigurationError, match="stage 'blind' has no task: it takes miss_func, miss_param, and the"):
        CurriculumWrapper(gym.make(ID, tasks=many), stages)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stages": []}, "at least one stage"),
        ({"stages": [{"name": "a", "reward": "cash"}]}, "stage 'a': reward must be one of"),
        ({"stages": [{"name": "a", "colour": "red"}]}, "fields: name, categories"),
        ({"rule": {"patience": 0}}, "patience"),
        ({"rule": {"hope": 1}}, "fields: patience"),
    ],
)
def test_wrong_arguments_are_refused(many, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        CurriculumWrapper(gym.make(ID, tasks=many), **{"stages": STAGES, **arguments})


@pytest.mark.parametrize("wrong", ["CartPole-v1", "FrozenLake-v1"])
def test_another_environment_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="CurriculumWrapper wraps an EnvTune environment"):
        CurriculumWrapper(gym.make(wrong))


def test_the_spec_makes_the_wrapper_again():
    env = CurriculumWrapper(gym.make(ID, categories=["base"]), STAGES[:1], rule={"patience": 7})
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, CurriculumWrapper)
    assert (again.stages, again.rule) == (STAGES[:1], AdvanceRule(patience=7))
    assert again.spec.additional_wrappers == env.spec.additional_wrappers


def test_the_papers_stages_run_on_the_endless_tasks():
    env = CurriculumWrapper(gym.make(ID))
    seen = {}
    for name in ("format", "base", "all", "benchmark"):
        infos = [env.reset(seed=i)[1] for i in range(40)]
        assert {info["stage"] for info in infos} == {name}
        seen[name] = {info["category"] for info in infos}
        assert len({domain for info in infos for domain in info["domains"]}) > 5
        env.advance()
    assert seen["format"] == seen["base"] == {"base"}
    assert len(seen["all"]) > 1


def test_it_works_under_and_over_other_wrappers(many):
    inner = TimeLimit(ProgressRewardWrapper(gym.make(ID, tasks=many)), 2)
    env = RecordEpisodeStatistics(CurriculumWrapper(inner, STAGES))
    trace = play(env, "base_9", [calls("ls()"), MISSING, DONE])
    assert trace[-1][3]
    assert trace[-1][-1]["episode"]["r"] == pytest.approx(1.5)


def test_vector_environments_draw_their_own_tasks(many):
    def wrapped(env):
        return CurriculumWrapper(env, STAGES[1:])

    envs = gym.make_vec(ID, num_envs=4, vectorization_mode="sync", wrappers=[wrapped], tasks=many)
    infos = envs.reset(seed=0)[1]
    assert list(infos["stage"]) == ["taught"] * 4
    assert len(set(infos["task_id"])) > 1
    envs.call("advance")
    assert list(envs.reset(seed=1)[1]["stage"]) == ["bare"] * 4
    envs.close()


def adaptive():
    env = gym.make("EnvTune/MathAPI-v0", split="train", categories=["base"])
    return CurriculumWrapper(env, stages=[PAPER_STAGES[1], ADAPTIVE_STAGE])


def test_an_adaptive_stage_draws_what_is_solved_sometimes():
    env = adaptive()
    env.advance()
    for _ in range(60):
        _, info = env.reset(seed=None)
        env.record_episode(info["task_id"], float("-t1g" in info["task_id"]))  # level 1 always, the others never
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(40)]
    assert len(set(drawn)) > 30
    before = [kind for kind, weight in env._sampler.weights.items() if weight < 0.1]
    assert before, "kinds without any spread are drawn less"


def test_episodes_played_in_an_adaptive_stage_count_by_themselves():
    env = adaptive()
    env.advance()
    _, info = env.reset(seed=0)
    for _ in range(info["num_turns"]):
        env.step("<answer>Done.</answer>")
    assert env.state_dict()["sampler"] == {info["task_id"].removeprefix("gen-").rpartition("-")[0]: [0.0]}


def test_the_state_of_an_adaptive_stage_comes_back_and_another_is_refused():
    env, other = adaptive(), adaptive()
    env.advance()
    for _ in range(30):
        _, info = env.reset()
        env.record_episode(info["task_id"], 1.0)
    state = json.loads(json.dumps(env.state_dict()))
    other.load_state_dict(state)
    assert [env.reset()[1]["task_id"] for _ in range(5)] == [other.reset()[1]["task_id"] for _ in range(5)]
    with pytest.raises(ConfigurationError, match="no kind 'elsewhere'"):
        other.load_state_dict({**state, "sampler": {"elsewhere": [1.0]}})
    assert other.stage == ADAPTIVE_STAGE
    assert other.state_dict()["rng"] == env.state_dict()["rng"] != state["rng"]
