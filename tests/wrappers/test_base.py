import gymnasium as gym
import pytest
from gymnasium.wrappers import Autoreset

from envtune_gym import TaskSet
from envtune_gym.curriculum import Stage
from envtune_gym.wrappers import (
    AugmentedFeedbackWrapper,
    CurriculumWrapper,
    FormatRewardWrapper,
    ProgressRewardWrapper,
)

from .helpers import DONE, ID, calls

CAT = calls("cd(folder='docs')", "cat(file_name='a.txt')")
TOUCH = calls("touch(file_name='notes.md')")


@pytest.mark.parametrize(
    ("wrap", "paid"),
    [
        (ProgressRewardWrapper, 1.0),
        (FormatRewardWrapper, 2.0),
        (lambda env: AugmentedFeedbackWrapper(env, "diagnostic"), 1.0),
        (lambda env: CurriculumWrapper(env, [Stage("only", ("base",))]), 1.0),
    ],
)
def test_an_autoreset_inside_begins_a_new_account(file_task, wrap, paid):
    env = wrap(Autoreset(gym.make(ID, tasks=TaskSet([file_task]))))
    env.reset(seed=0)
    for _ in range(2):
        steps = [env.step(action) for action in (CAT, DONE, TOUCH, DONE)]
        assert sum(step[1] for step in steps) == paid
        assert steps[-1][2]
        observation, reward, terminated, _, _ = env.step(CAT)  # begins the next episode
        assert (observation, reward, terminated) == (file_task.turns[0], 0.0, False)
