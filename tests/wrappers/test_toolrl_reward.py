import gymnasium as gym
import pytest

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers import ToolRLRewardWrapper
from envtune_gym.wrappers.toolrl_reward import call_match

from .helpers import DONE, ID, calls, play

CREATE = calls("create_ticket(title='Lamp', description='The lamp is broken.')")
UNTITLED = calls("create_ticket(title='Lamp', priority=1)")
CLOSE = calls("close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])")
CLOSE_APART = (calls("mean(numbers=[1, 2, 6])"), calls("close_ticket(ticket_id=7)"))
EPISODES = {
    "as the ground truth": ([CREATE, DONE, CLOSE, DONE], [0, 3, 0, 3 + 1]),
    "nothing done": ([DONE, DONE], [0, 1]),
    "half the arguments": ([UNTITLED, DONE, DONE], [0, 6 * 7 / 12 / 2, 1]),
    "calls over several steps": ([CREATE, DONE, *CLOSE_APART, DONE], [0, 3, 0, 0, 4]),
    "an answer without its tags": ([CREATE, "Done.", DONE], [0, 3, 0]),
    "cut off in the second turn": ([CREATE, DONE, *["<tool_call>["] * 4], [0, 3, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("name", EPISODES)
def test_calls_are_paid_by_turn_and_the_format_at_the_end(tasks, name):
    actions, rewards = EPISODES[name]
    env = ToolRLRewardWrapper(gym.make(ID, tasks=tasks, max_steps_per_turn=3))
    for _ in range(2):  # nothing is left of the first episode in the second
        trace = play(env, "ticket", actions)
        assert [step[1] for step in trace[1:]] == pytest.approx(rewards)
        assert [sum(step[-1].get("reward_parts", {}).values()) for step in trace[1:]] == pytest.approx(rewards)


def test_turns_without_ground_truth_are_not_counted(tasks):
    env = ToolRLRewardWrapper(gym.make(ID, tasks=tasks))
    trace = play(env, "withheld", [CREATE, DONE, DONE, CLOSE, DONE])
    assert [step[1] for step in trace[1:]] == pytest.approx([0, 3, 0, 0, 4])


def test_positional_arguments_of_the_ground_truth_have_names(ticket_task):
    task = ticket_task.model_copy(update={"ground_truth": (("create_ticket('Lamp', 'Broken.')",), ("mean([1, 2])",))})
    env = ToolRLRewardWrapper(gym.make(ID, tasks=TaskSet([task])))
    named = calls("create_ticket(title='Lamp', description='Broken.')")
    trace = play(env, "ticket", [named, DONE, calls("mean(numbers=[1, 2])"), DONE])
    assert [step[1] for step in trace[1:]] == pytest.approx([0, 3, 0, 4])


TRUTH = [("close_ticket", {"ticket_id": 7}), ("mean", {"numbers": [1, 2, 6]})]


@pytest.mark.parametrize(
    ("made", "match"),
    [
        ([*TRUTH], 1),
        ([*TRUTH[::-1]], 1),
        ([], 0),
        ([("get_ticket", {"ticket_id": 7})], 0),
        ([*TRUTH, TRUTH[0]], (2 / 3 + 4) / 5),
        ([TRUTH[0]], (1 / 2 + 2) / 5),
        ([("close_ticket", {"ticket_id": 8}), TRUTH[1]], 4 / 5),
        ([("close_ticket", {"ticket_id": 8}), TRUTH[0]], (1 / 3 + 2) / 5),
        ([("close_ticket", {}), ("mean", {"numbers": [1, 2, 6], "more": 1})], (1 + 0 + 1 / 2 + 1) / 5),
    ],
)
def test_the_match_is_what_the_formula_gives_by_hand(made, match):
    assert call_match(made, TRUTH) == pytest.approx(match)


def test_a_tool_without_arguments_matches_itself():
    assert call_match([("ls", {})], [("ls", {})]) == pytest.approx(1)


def test_it_needs_an_environment_of_this_package():
    with pytest.raises(ConfigurationError, match="wraps an EnvTune environment"):
        ToolRLRewardWrapper(gym.make("CartPole-v1"))
