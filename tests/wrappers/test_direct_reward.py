import gymnasium as gym
import pytest

from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers import DirectRewardWrapper

from .helpers import DONE, ID, calls, play

CREATE = calls("create_ticket(title='Lamp', description='The lamp is broken.')")
CLOSE = calls("close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])")
EPISODES = {
    "both turns": ([CREATE, DONE, CLOSE, DONE], [0, 0.45, 0, 0.55]),
    "nothing done": ([DONE, DONE], [0, 0.1]),
    "an answer without its tags": ([CREATE, "Done.", DONE], [0, 0.45, 0.1 * 2 / 3]),
    "cut off in the second turn": ([CREATE, DONE, *["<tool_call>["] * 4], [0, 0.45, 0, 0, 0, 0.1 * 2 / 6]),
}


@pytest.mark.parametrize("name", EPISODES)
def test_progress_is_paid_by_turn_and_the_format_at_the_end(tasks, name):
    actions, rewards = EPISODES[name]
    env = DirectRewardWrapper(gym.make(ID, tasks=tasks, max_steps_per_turn=3))
    for _ in range(2):  # nothing is left of the first episode in the second
        trace = play(env, "ticket", actions)
        assert [step[1] for step in trace[1:]] == pytest.approx(rewards)
        assert trace[-1][2] or trace[-1][3]


def test_it_needs_an_environment_of_this_package():
    with pytest.raises(ConfigurationError, match="wraps an EnvTune environment"):
        DirectRewardWrapper(gym.make("CartPole-v1"))
