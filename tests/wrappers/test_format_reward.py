import gymnasium as gym
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers import AugmentedFeedbackWrapper, FormatRewardWrapper, ProgressRewardWrapper

from .helpers import DONE, ID, calls, play, random_episode

LS, PWD, BAD = calls("ls()"), calls("pwd()"), calls("cd(folder='nowhere')")
UNKNOWN, UNREADABLE, PLAIN = calls("lss()"), "<tool_call>[", "I give up."
EPISODES = {
    "perfect": ([LS, DONE, PWD, DONE], 2.0),
    "no call, so nothing": ([DONE, DONE], 0.0),
    "one call of two fails": ([LS, BAD, DONE, DONE], 1 + 1 / 2),
    "an unknown tool counts as a call": ([LS, UNKNOWN, DONE, DONE], 1 + 1 / 2),
    "two calls in one message": ([calls("ls()", "cd(folder='nowhere')", "pwd()"), DONE, DONE], 1 + 2 / 3),
    "an unreadable message breaks the format and counts as a call": ([LS, UNREADABLE, DONE, DONE], 3 / 4 + 1 / 2),
    "a plain answer breaks the format": ([LS, PLAIN, DONE], 2 / 3 + 1),
    "only unreadable messages": ([UNREADABLE, UNREADABLE, DONE, DONE], 2 / 4 + 0),
    "repeats dilute no error": ([LS, BAD, LS, LS, LS, DONE, DONE], 1 + 1 / 2),
    "repeats dilute no breach": ([UNREADABLE, LS, LS, LS, DONE, DONE], 3 / 4 + 1 / 2),
    "repeated errors count": ([LS, BAD, BAD, DONE, DONE], 1 + 1 / 3),
    "the same call with another result is no repeat": (
        [BAD, LS, calls("touch(file_name='x')"), LS, DONE, DONE],
        1 + 3 / 4,
    ),
}


def make(tasks, **options):
    return gym.make(ID, tasks=tasks, **options)


@pytest.mark.parametrize("name", EPISODES)
def test_the_last_step_pays_format_and_calls(tasks, name):
    actions, reward = EPISODES[name]
    trace = play(FormatRewardWrapper(make(tasks)), "files", actions)
    assert trace[-1][2]
    assert [step[1] for step in trace[1:]] == pytest.approx([*[0.0] * (len(actions) - 1), reward])


def test_calls_beyond_need_pay_nothing(tasks, rng):
    env = FormatRewardWrapper(make(tasks, max_steps_per_turn=50))
    for _ in range(20):
        actions = [action for action in random_episode(tasks.get("files"), rng) if "answer" not in action]
        shown = [LS, *actions[:4], DONE, DONE]
        more = [LS, *actions[:4], *[calls("ls()", "ls()")] * 9, DONE, DONE]
        once = [LS, *actions[:4], calls("ls()", "ls()"), DONE, DONE]
        plain, spammed, looked = (play(env, "files", episode)[-1][1] for episode in (shown, more, once))
        assert spammed == looked
        assert 0 <= plain <= 2


def test_an_episode_starts_from_nothing(tasks):
    env = FormatRewardWrapper(make(tasks))
    play(env, "files", [UNREADABLE, BAD])
    assert play(env, "files", [LS, DONE, DONE])[-1][1] == 2.0


def test_an_unreadable_message_counts_as_a_call_only_if_it_begins_one(tasks):
    env = FormatRewardWrapper(make(tasks, strict_format=True))
    assert play(env, "files", [LS, PLAIN, DONE, DONE])[-1][1] == pytest.approx(3 / 4 + 1)
    assert play(env, "files", [LS, "<tool_call>[", DONE, DONE])[-1][1] == pytest.approx(3 / 4 + 1 / 2)
    assert play(env, "files", ["<think>", DONE, DONE])[-1][1] == 0


def test_any_end_pays(tasks):
    truncated = FormatRewardWrapper(make(tasks, max_steps_per_turn=1))
    assert play(truncated, "files", [LS, BAD])[-1][1] == 1.5
    limited = FormatRewardWrapper(TimeLimit(make(tasks), 2))
    assert play(limited, "files", [LS, BAD])[-1][1] == 1.5


def test_the_last_step_says_what_is_paid_for_format_and_calls(tasks):
    for actions, reward in EPISODES.values():
        *before, last = play(FormatRewardWrapper(make(tasks)), "files", actions)
        assert not any("reward_parts" in step[-1] for step in before)
        assert last[-1]["reward_parts"].keys() == {"format", "tool"}
        assert sum(last[-1]["reward_parts"].values()) == last[1] == pytest.approx(reward)


def test_a_reward_in_place_of_another_says_nothing_of_its_parts(tasks):
    env = ProgressRewardWrapper(FormatRewardWrapper(make(tasks)))
    assert "reward_parts" not in play(env, "files", [LS, DONE, DONE])[-1][-1]


def test_it_works_under_and_over_other_wrappers(tasks):
    actions, reward = EPISODES["one call of two fails"]
    for build in (
        lambda env: RecordEpisodeStatistics(FormatRewardWrapper(AugmentedFeedbackWrapper(env))),
        lambda env: RecordEpisodeStatistics(AugmentedFeedbackWrapper(FormatRewardWrapper(env))),
        lambda env: FormatRewardWrapper(gym.wrappers.TransformObservation(env, str.upper, None)),
    ):
        assert play(build(make(tasks)), "files", actions)[-1][1] == reward


def test_the_spec_makes_the_wrapper_again():
    env = FormatRewardWrapper(gym.make("EnvTune/TravelAPI-v0"))
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, FormatRewardWrapper)


@pytest.mark.parametrize("wrong", [gym.make("CartPole-v1"), "EnvTune/TravelAPI-v0", None])
def test_another_environment_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="FormatRewardWrapper wraps an EnvTune environment"):
        FormatRewardWrapper(wrong)
