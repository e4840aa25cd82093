import gymnasium as gym
import pytest

from envtune_gym import load_tasks
from envtune_gym.evaluation.corpus import broken_episode
from envtune_gym.wrappers import AugmentedFeedbackWrapper


def play(tasks, **options):
    """Play the broken episodes of tasks; return all that was shown, and the numbers of hints and of leaks."""
    env = gym.make("EnvTune/MultiDomain-v0", tasks=tasks, offer="strict", disable_env_checker=True)
    env = AugmentedFeedbackWrapper(env, hints="automatic", **options)
    shown, hints, leaks = [], 0, 0
    for task in tasks:
        env.reset(options={"task_id": task.id})
        for action in broken_episode(task, 0).actions:
            observation, _, terminated, truncated, info = env.step(action)
            shown.append(observation)
            hints += sum(
                result["content"] != result.get("official", result["content"]) for result in info["tool_results"]
            )
            leaks += info.get("dropped_hints", 0)
            if terminated or truncated:
                break
    return shown, hints, leaks


@pytest.fixture(scope="module")
def tasks():
    return load_tasks("generated", split="train")[:40]


def test_no_hint_gives_anything_away(tasks):
    _, hints, leaks = play(tasks, check_leaks=True)
    assert hints > 300
    assert leaks == 0


def test_the_same_episodes_get_the_same_hints(tasks):
    assert play(tasks[:10]) == play(tasks[:10])


def test_one_episode_knows_nothing_of_another(tasks):
    alone = play(tasks[1:2])[0]
    after = play(tasks[:2])[0]
    assert after[-len(alone) :] == alone


def test_off_shows_what_the_environment_shows(tasks):
    shown, hints, _ = play(tasks[:5], level="off")
    assert hints == 0
    assert not any("hint" in text.lower() for text in shown)


def test_a_message_that_cannot_be_read_is_explained_as_with_written_rules():
    texts = []
    for hints in (None, "automatic"):
        env = AugmentedFeedbackWrapper(gym.make("EnvTune/MathAPI-v0"), hints=hints)
        env.reset(seed=0)
        texts.append(env.step('<tool_call>[{"name": "add", "arguments": "{}"}]</tool_call>')[0])
    assert texts[0] == texts[1]
    assert "Hint: " in texts[0]
