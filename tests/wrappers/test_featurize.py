"""The observation is numbers that say what the documented layout promises."""

import gymnasium as gym
import numpy as np
import pytest

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers import (
    AugmentedFeedbackWrapper,
    CandidateActionWrapper,
    CurriculumWrapper,
    FeaturizeWrapper,
    ProgressRewardWrapper,
)

from .helpers import ID

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install ".[classical]"')

from gymnasium.utils.env_checker import check_env

from envtune_gym.wrappers.featurize import FLAGS


@pytest.fixture(scope="module")
def desk():
    return TaskSet(
        list(load_tasks("generated", domains=("TicketAPI",), difficulty=1, split="train", categories=("base",))[:200])
    )


def make(tasks, level="off", candidates=8, size=64):
    env = gym.make(ID, tasks=tasks, disable_env_checker=True, tool_docs="compact")
    env = CandidateActionWrapper(AugmentedFeedbackWrapper(env, level), candidates)
    return FeaturizeWrapper(ProgressRewardWrapper(env), size)


def rows_of(env, observation):
    """Return the flags of each row by name, and the hashed texts."""
    layout = env.layout
    rows = observation[layout.candidates].reshape(layout.rows, layout.width)
    return [dict(zip(FLAGS, row, strict=False)) for row in rows], rows[:, len(FLAGS) :]


def begin(env, tasks, *calls, seed=0):
    """Begin the first task that takes these tools; return observation, info and the places of the right calls."""
    for task in tasks:
        if [call.partition("(")[0] for call in task.ground_truth[0]] == list(calls):
            observation, info = env.reset(seed=seed, options={"task_id": task.id})
            return observation, info, [info["candidates"].index(call) for call in task.ground_truth[0]]
    raise AssertionError(calls)


def test_the_observation_is_of_the_space_and_the_layout_covers_it(desk):
    env = make(desk)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation.dtype == np.float32
    layout = env.layout
    parts = [layout.request, layout.latest, layout.progress, layout.candidates]
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == layout.size == len(observation) == 2 * 64 + 3 + 9 * (9 + 64)


def test_texts_are_hashed_to_vectors_of_length_one(desk):
    env = make(desk)
    observation, info = env.reset(seed=0)
    _, texts = rows_of(env, observation)
    assert np.linalg.norm(observation[env.layout.request]) == pytest.approx(1)
    count = len(info["candidates"])
    assert np.linalg.norm(texts, axis=1) == pytest.approx([1] * count + [0] * (9 - count))
    assert len({text.tobytes() for text in texts[:count]}) == count, "candidates differ"
    assert not observation[env.layout.latest].any()


def test_rows_say_what_is_there_and_what_stands_in_the_request(desk):
    env = make(desk)
    observation, info, [right] = begin(env, desk, "ticket_login")
    flags, _ = rows_of(env, observation)
    count = len(info["candidates"])
    assert [row["present"] for row in flags] == [1] * count + [0] * (8 - count) + [1]
    assert [row["answer"] for row in flags] == [0] * 8 + [1]
    assert flags[right]["values_in_request"] == flags[right]["has_values"] == 1
    logins = [place for place, call in enumerate(info["candidates"]) if "ticket_login" in call and place != right]
    assert logins
    assert all(flags[place]["values_in_request"] < 1 for place in logins)
    assert all(flags[place]["words_in_request"] < flags[right]["words_in_request"] for place in logins)


def test_what_has_been_called_is_marked_and_its_result_is_hashed(desk):
    env = make(desk)
    observation, _, [login, create] = begin(env, desk, "ticket_login", "create_ticket")
    observation, *_ = env.step(create)
    flags, _ = rows_of(env, observation)
    assert flags[create]["called"] == flags[create]["call_failed"] == 1, "nobody is logged in"
    assert observation[env.layout.latest].any()
    assert observation[env.layout.progress].tolist() == pytest.approx([0, 0.1, 1])
    observation, *_ = env.step(login)
    flags, _ = rows_of(env, observation)
    assert (flags[login]["called"], flags[login]["call_failed"]) == (1, 0)
    assert observation[env.layout.progress].tolist() == pytest.approx([0, 0.2, 0])


def test_values_that_results_brought_are_marked(desk):
    env = make(desk)
    observation, _, [login, listing, close] = begin(env, desk, "ticket_login", "get_user_tickets", "close_ticket")
    assert rows_of(env, observation)[0][close]["values_in_results"] == 0
    env.step(login)
    assert rows_of(env, env.step(listing)[0])[0][close]["values_in_results"] == 1


def test_hints_are_in_the_features(desk):
    """The benchmark's error names no tool, but the hint does, and that tool's candidates are marked."""
    named = {}
    for level in ("off", "actionable"):
        env = make(desk, level)
        _, _, [login, create] = begin(env, desk, "ticket_login", "create_ticket")
        flags, _ = rows_of(env, env.step(create)[0])
        named[level] = flags[login]["named_in_latest"]
    assert named == {"off": 0, "actionable": 1}


def test_a_new_turn_has_its_own_request_and_nothing_called(desk):
    tasks = TaskSet(list(load_tasks("generated", difficulty=3, split="train", categories=("base",))[:60]))
    env = make(tasks, candidates=24)
    first, _ = env.reset(seed=0)
    env.step(0)
    later, *_, info = env.step(env.layout.rows - 1)
    assert info["turn"] == 1
    assert not np.array_equal(first[env.layout.request], later[env.layout.request])
    assert not any(row["called"] for row in rows_of(env, later)[0])
    assert not later[env.layout.latest].any()
    assert later[env.layout.progress][0] == pytest.approx(1 / info["num_turns"])


def test_an_episode_leaves_no_trace_in_the_next(desk):
    env = make(desk)
    first, _ = env.reset(seed=4)
    for action in (0, 1, 8):
        env.step(action)
    assert np.array_equal(env.reset(seed=4)[0], first)


@pytest.mark.parametrize("curriculum", [False, True])
def test_it_passes_the_checker_of_gymnasium_with_the_other_wrappers(desk, curriculum):
    env = gym.make(ID, tasks=desk)
    env = CurriculumWrapper(env) if curriculum else ProgressRewardWrapper(AugmentedFeedbackWrapper(env))
    check_env(FeaturizeWrapper(CandidateActionWrapper(env)), skip_render_check=True)


def test_it_can_be_made_again_from_its_spec():
    env = FeaturizeWrapper(CandidateActionWrapper(gym.make("EnvTune/MathAPI-v0", split="train", difficulty=1), 4), 32)
    assert np.array_equal(gym.make(env.spec).reset(seed=3)[0], env.reset(seed=3)[0])


def test_masks_come_through(desk):
    env = make(desk)
    _, info = env.reset(seed=0)
    assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()


def test_it_needs_candidates(desk):
    with pytest.raises(ConfigurationError, match="needs a CandidateActionWrapper"):
        FeaturizeWrapper(gym.make(ID, tasks=desk))


def test_a_size_without_meaning_is_refused(desk):
    with pytest.raises(ConfigurationError, match="positive integer"):
        make(desk, size=0)
