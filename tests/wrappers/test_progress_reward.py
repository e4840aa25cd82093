import gymnasium as gym
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers import AugmentedFeedbackWrapper, ProgressRewardWrapper

from .helpers import DONE, ID, calls, play, random_episode

CREATE = calls("create_ticket(title='Lamp', description='The lamp is broken.')")
CLOSE = calls("close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])")
EPISODES = {
    "both turns": ([CREATE, DONE, CLOSE, DONE], [0, 0.5, 0, 0.5]),
    "first turn": ([CREATE, DONE, DONE], [0, 0.5, 0]),
    "neither turn": ([DONE, DONE], [0, 0]),
    "second turn made up for": ([DONE, CREATE, CLOSE, DONE], [0, 0, 0, 0.5]),
    "cut off in the second turn": ([CREATE, DONE, *["<tool_call>["] * 4], [0, 0.5, 0, 0, 0, 0]),
}


def make(tasks, **options):
    return gym.make(ID, tasks=tasks, max_steps_per_turn=3, **options)


@pytest.mark.parametrize("name", EPISODES)
def test_a_turn_that_passes_pays_its_share_when_it_ends(tasks, name):
    actions, rewards = EPISODES[name]
    trace = play(ProgressRewardWrapper(make(tasks)), "ticket", actions)
    assert [step[1] for step in trace[1:]] == rewards
    assert trace[-1][2] or trace[-1][3]


@pytest.mark.parametrize("name", EPISODES)
def test_terminal_mode_pays_the_same_sum_at_the_end(tasks, name):
    actions, rewards = EPISODES[name]
    trace = play(ProgressRewardWrapper(make(tasks), mode="terminal"), "ticket", actions)
    assert [step[1] for step in trace[1:]] == [*[0.0] * (len(rewards) - 1), sum(rewards)]


def test_episodes_do_not_pay_for_each_other(tasks):
    env = ProgressRewardWrapper(make(tasks))
    play(env, "ticket", [CREATE, DONE])
    assert [step[1] for step in play(env, "ticket", [CREATE, DONE])[1:]] == [0, 0.5]


def test_random_episodes_add_up_to_the_progress_of_the_verdict(tasks, rng):
    env = ProgressRewardWrapper(make(tasks))
    for _ in range(40):
        task = tasks[int(rng.integers(len(tasks)))]
        trace = play(env, task.id, random_episode(task, rng))
        passed = sum(turn["passed"] for turn in trace[-1][4]["turn_results"])
        assert sum(step[1] for step in trace[1:]) == pytest.approx(passed / task.num_turns)


@pytest.mark.parametrize("outer", [False, True])
def test_a_time_limit_inside_or_outside_leaves_what_was_earned(tasks, outer):
    limit = (
        (lambda env: TimeLimit(ProgressRewardWrapper(env), 3))
        if outer
        else (lambda env: ProgressRewardWrapper(TimeLimit(env, 3)))
    )
    trace = play(limit(make(tasks)), "ticket", [CREATE, DONE, CLOSE, DONE])
    assert trace[-1][3]
    assert [step[1] for step in trace[1:]] == [0, 0.5, 0]


def test_the_statistics_of_gymnasium_see_the_progress(tasks):
    env = RecordEpisodeStatistics(AugmentedFeedbackWrapper(ProgressRewardWrapper(make(tasks))))
    trace = play(env, "ticket", [CREATE, DONE, DONE])
    assert trace[-1][4]["episode"]["r"] == 0.5


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_pay_each_copy(ticket_task, mode):
    one = TaskSet([ticket_task])
    envs = gym.make_vec(ID, num_envs=2, vectorization_mode=mode, wrappers=[ProgressRewardWrapper], tasks=one)
    try:
        envs.reset(seed=0)
        envs.step((CREATE, DONE))
        rewards = envs.step((DONE, DONE))[1]
    finally:
        envs.close()
    assert list(rewards) == [0.5, 0.0]


def test_the_spec_makes_the_wrapper_again():
    env = ProgressRewardWrapper(gym.make("EnvTune/TravelAPI-v0"), mode="terminal")
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, ProgressRewardWrapper)
    assert again.mode == "terminal"


@pytest.mark.parametrize("mode", ["per_step", None, 3])
def test_an_unknown_mode_is_refused(tasks, mode):
    with pytest.raises(ConfigurationError, match="mode must be 'per_turn' or 'terminal'"):
        ProgressRewardWrapper(make(tasks), mode=mode)


def test_another_environment_is_refused():
    with pytest.raises(ConfigurationError, match=r"wraps an EnvTune environment.*not CartPoleEnv"):
        ProgressRewardWrapper(gym.make("CartPole-v1"))


IDLE = {
    "nothing but being idle": ([DONE, DONE, DONE], [0, 0, 0]),
    "idle after work": ([CREATE, DONE, DONE, DONE], [0, 1 / 3, 1 / 3, 0]),
    "idle before work": ([DONE, DONE, CREATE, CLOSE, DONE], [0, 0, 0, 0, 2 / 3]),
    "work where there is none": ([CREATE, DONE, CREATE, DONE, DONE], [0, 1 / 3, 0, 0, 0]),
}


@pytest.mark.parametrize("mode", ["per_turn", "terminal"])
@pytest.mark.parametrize("name", IDLE)
def test_being_idle_earns_nothing_by_itself(tasks, name, mode):
    actions, rewards = IDLE[name]
    trace = play(ProgressRewardWrapper(make(tasks), mode, earned=True), "withheld", actions)
    paid = [step[1] for step in trace[1:]]
    assert paid == pytest.approx(rewards if mode == "per_turn" else [*[0] * (len(rewards) - 1), sum(rewards)])


def test_where_every_turn_has_something_to_do_earned_is_progress(tasks, car_task, rng):
    plain, earned = ProgressRewardWrapper(make(tasks)), ProgressRewardWrapper(make(tasks), earned=True)
    for _ in range(20):
        actions = random_episode(car_task, rng)
        rewards = [[step[1] for step in play(env, "car", actions)[1:]] for env in (plain, earned)]
        assert rewards[0] == rewards[1]


def test_a_task_with_nothing_to_do_at_all_pays_for_that(ticket_task):
    idle = ticket_task.model_copy(update={"category": "miss_param", "ground_truth": ((), ())})
    trace = play(ProgressRewardWrapper(make(TaskSet([idle])), earned=True), "ticket", [DONE, DONE])
    assert [step[1] for step in trace[1:]] == [0.5, 0.5]
