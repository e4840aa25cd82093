"""What the candidates are, and that they do not tell which of them is right."""

import re
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envtune_gym import TaskSet, load_tasks
from envtune_gym.callsyntax import parse_call
from envtune_gym.errors import ConfigurationError
from envtune_gym.world import name_arguments
from envtune_gym.wrappers import (
    AugmentedFeedbackWrapper,
    CandidateActionWrapper,
    CurriculumWrapper,
    ProgressRewardWrapper,
)

from .helpers import ID

MATH = "EnvTune/MathAPI-v0"


def generated(number, split="train", **options):
    """Return tasks that are made once, and not again by each environment."""
    return TaskSet(list(load_tasks("generated", split=split, categories=("base",), **options)[:number]))


@pytest.fixture(scope="module")
def files():
    """Single requests for files: some take one call, some several."""
    return generated(400, domains=("GorillaFileSystem",), difficulty=1)


@pytest.fixture(scope="module")
def long():
    """Requests one after another about the same world."""
    return generated(120, domains=("GorillaFileSystem",), difficulty=3)


def make(tasks, candidates=12, **options):
    env = gym.make(ID, tasks=tasks, disable_env_checker=True, tool_docs="compact", **options)
    return CandidateActionWrapper(env, candidates)


def right_calls(env):
    """Return the ground truth of the present turn, as candidates are written."""
    episode = env.unwrapped.episode
    calls = episode.task.ground_truth[episode.turn]
    return [name_arguments(parse_call(text), episode.task.domains).source() for text in calls]


def solve(env, **reset):
    """Play the right candidates; return what each turn showed, the reward and whether the task was solved."""
    _, info = env.reset(**reset)
    turns, total, over = [], 0.0, False
    while not over:
        right = right_calls(env)
        turns.append((info["candidates"], right))
        for action in [*(info["candidates"].index(call) for call in right), env.get_wrapper_attr("answer")]:
            _, reward, terminated, truncated, info = env.step(action)
            total, over = total + reward, terminated or truncated
    return turns, total, info["success"]


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_the_right_candidates_solve_each_task(long, action_format):
    env = ProgressRewardWrapper(make(long, candidates=20, action_format=action_format))
    for seed in range(10):
        turns, total, success = solve(env, seed=seed)
        assert success
        assert total == pytest.approx(1)
        assert len(turns) == env.unwrapped.episode.task.num_turns > 1


def test_candidates_stay_until_the_turn_ends(long):
    env = make(long, candidates=20)
    _, info = env.reset(seed=1)
    first = info["candidates"]
    for action in range(3):
        assert env.step(action)[4]["candidates"] == first
    assert env.step(env.answer)[4]["candidates"] != first


def test_the_seed_decides_on_companions_and_order(files):
    task = files[3].id

    def shown(seed):
        return make(files).reset(seed=seed, options={"task_id": task})[1]["candidates"]

    assert shown(5) == shown(5)
    assert len({tuple(shown(seed)) for seed in range(5)}) == 5


def test_the_mask_is_what_can_be_chosen(files):
    env = make(files, candidates=30)
    _, info = env.reset(seed=0)
    count = len(info["candidates"])
    assert 1 < count < 30
    assert info["action_mask"].tolist() == [1] * count + [0] * (30 - count) + [1]
    assert info["action_mask"].dtype == np.int8
    assert env.action_masks().tolist() == [bool(allowed) for allowed in info["action_mask"]]
    assert env.action_space.sample(info["action_mask"]) in (*range(count), 30)


def test_a_number_without_candidate_answers(files):
    env = make(files, candidates=30)
    env.reset(seed=0)
    assert env.text_of(29) == env.text_of(env.answer) == "<answer>Done.</answer>"
    assert env.step(29)[2]


@pytest.mark.parametrize("action", [-1, 13, 1.5, "0", None])
def test_what_is_no_action_is_refused_and_changes_nothing(files, action):
    env = make(files)
    env.reset(seed=0)
    with pytest.raises(ConfigurationError, match="integer from 0 to 12"):
        env.step(action)
    assert env.unwrapped.episode.step_in_turn == 0


def test_all_candidates_are_of_tools_on_offer():
    tasks = TaskSet(list(load_tasks("generated", categories=("miss_func",), split="train", difficulty=3)[:60]))
    env = make(tasks, candidates=24)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            assert {call.partition("(")[0] for call in info["candidates"]} <= set(env.unwrapped.episode.offered)
            _, _, terminated, truncated, info = env.step(env.answer)
            over = terminated or truncated


def test_wrong_candidates_are_near_ones(files):
    """Some are of the right call's tool, with other values, and some are of other tools."""
    env, same, other = make(files), 0, 0
    for seed in range(40):
        _, info = env.reset(seed=seed)
        right = right_calls(env)
        tools = {call.partition("(")[0] for call in right}
        wrong = {call for call in info["candidates"] if call not in right}
        same += any(call.partition("(")[0] in tools for call in wrong)
        other += any(call.partition("(")[0] not in tools for call in wrong)
    assert same > 20
    assert other > 20


# ---- Nothing tells which is right -----------------------------------------------------------------------------------


def test_what_a_table_shows_is_the_same_whoever_of_it_is_played(files):
    """Each task's candidates are as likely as chance has it to hold any property: place, tool, length, number of calls.

    A property holds for a share of the candidates of a set; that is the chance that a right one has it. What is
    observed over many tasks is compared with the sum of these chances, in standard deviations.
    """
    env = make(files)
    observed, expected, variance = Counter(), Counter(), Counter()
    for seed in range(1_200):
        _, info = env.reset(seed=seed)
        shown, right = info["candidates"], set(right_calls(env))
        lengths = [len(call) for call in shown]
        properties = {
            **{f"place {place}": [place] for place in range(len(shown))},
            "last place": [len(shown) - 1],
            "longest": [int(np.argmax(lengths))],
            "shortest": [int(np.argmin(lengths))],
            "nearest to the others": [int(np.argmax(_nearness(shown)))],
            "farthest from the others": [int(np.argmin(_nearness(shown)))],
        }
        for tool in {call.partition("(")[0] for call in shown}:
            properties[tool] = [place for place, call in enumerate(shown) if call.partition("(")[0] == tool]
        chance = len(right) / len(shown)
        for name, places in properties.items():
            observed[name] += sum(shown[place] in right for place in places)
            expected[name] += chance * len(places)
            variance[name] += len(right) * len(places) * chance * (1 - chance)  # of one task they come together
    assert len(observed) > 25
    for name in observed:
        if expected[name] >= 20:
            assert abs(observed[name] - expected[name]) < 4 * variance[name] ** 0.5, name


def test_being_new_or_seen_before_tells_nothing(long):
    """In later turns, right candidates share values with those of earlier turns as often as wrong ones do."""
    env = make(long, candidates=20)
    shared = {True: [], False: []}
    for seed in range(150):
        turns, _, _ = solve(env, seed=seed)
        seen: set[str] = set()
        for shown, right in turns:
            for call in shown if seen else ():
                shared[call in right].append(bool(_values(call) & seen))
            seen |= set().union(*map(_values, shown))
    assert min(map(len, shared.values())) > 200
    right, wrong = np.mean(shared[True]), np.mean(shared[False])
    assert 0.1 < wrong < 0.9
    assert right == pytest.approx(wrong, abs=0.06)


def test_an_agent_that_does_not_see_the_request_does_no_better_than_chance(files):
    """A classifier is told what was right in 900 episodes, and guesses in 600; the request alone makes it good."""
    env = make(TaskSet([task for task in files if len(task.ground_truth[0]) == 1]), candidates=8)
    blind, seeing, labels = [], [], []
    for seed in range(1_500):
        request, info = env.reset(seed=seed)
        right = right_calls(env)
        words = Counter(word for call in info["candidates"] for word in set(_words(call)))
        blind.append([_blind_features(call, place, words) for place, call in enumerate(info["candidates"])])
        common = [len(_values(call) & set(_words(request))) for call in info["candidates"]]
        seeing.append([[*row, number] for row, number in zip(blind[-1], common, strict=True)])
        labels.append([float(call in right) for call in info["candidates"]])
    chance = np.mean([np.mean(own) for own in labels[900:]])
    error = (chance * (1 - chance) / 600) ** 0.5
    assert _hits(blind, labels) - chance < 3.5 * error
    assert _hits(seeing, labels) - chance > 10 * error


def test_no_field_of_info_tells(files):
    """Whatever differs between the plain environment's info and ours is the candidates and the mask."""
    _, info = make(files).reset(seed=0)
    _, plain = gym.make(ID, tasks=files, disable_env_checker=True).reset(seed=0)
    assert set(info) - set(plain) == {"candidates", "action_mask"}
    assert all(isinstance(call, str) for call in info["candidates"])


# ---- In company -----------------------------------------------------------------------------------------------------


def test_it_passes_the_checker_of_gymnasium():
    check_env(CandidateActionWrapper(gym.make(MATH, split="train", difficulty=1)), skip_render_check=True)


def test_hints_and_rewards_may_be_inside_or_outside(files):
    inside = CandidateActionWrapper(ProgressRewardWrapper(AugmentedFeedbackWrapper(gym.make(ID, tasks=files))))
    outside = AugmentedFeedbackWrapper(ProgressRewardWrapper(make(files)))
    for env in (inside, outside):
        _, info = env.reset(seed=2)
        wrong = next(place for place, call in enumerate(info["candidates"]) if call not in right_calls(env))
        assert "official" in env.step(wrong)[4]["tool_results"][0]
        assert solve(env, seed=2)[1:] == (1.0, True)


def test_companions_are_of_the_stage_of_the_curriculum(files):
    stages = [{"name": "easy", "limit": 40}, {"name": "full"}]
    env = CandidateActionWrapper(CurriculumWrapper(gym.make(ID, tasks=files), stages))
    easy = sorted(files, key=lambda task: (task.num_turns, sum(map(len, task.ground_truth))))[:40]
    of_stage = {call for task in easy for call in task.ground_truth[0]}

    def shown():
        return {call for seed in range(20) for call in env.reset(seed=seed)[1]["candidates"]}

    assert shown() <= of_stage
    env.env.advance()
    assert not shown() <= of_stage


def test_it_can_be_made_again_from_its_spec():
    env = CandidateActionWrapper(gym.make(MATH, split="train", difficulty=1), candidates=5)
    again = gym.make(env.spec)
    assert again.reset(seed=3)[1]["candidates"] == env.reset(seed=3)[1]["candidates"]


def test_a_task_without_companions_is_refused(files):
    with pytest.raises(ConfigurationError, match="serve more of them"):
        make(files[:1]).reset(seed=0)


def test_a_task_with_more_calls_than_room_is_refused(files):
    task = max(files, key=lambda task: len(task.ground_truth[0]))
    with pytest.raises(ConfigurationError, match=f"candidates={2 * len(task.ground_truth[0])} or more"):
        make(files, candidates=4).reset(options={"task_id": task.id})


@pytest.mark.parametrize("candidates", [1, 0, 2.0, "many"])
def test_a_number_without_meaning_is_refused(files, candidates):
    with pytest.raises(ConfigurationError, match="at least 2"):
        make(files, candidates)


# ---- Parts ----------------------------------------------------------------------------------------------------------


def _words(text):
    return re.findall(r"[A-Za-z0-9_.-]*[A-Za-z0-9]", text)


def _values(call):
    return {str(value) for value in parse_call(call).kwargs.values()}


def _nearness(calls):
    """Return how many words each call has in common with all others: what near misses are made of would stand out."""
    words = [set(_words(call)) for call in calls]
    return [sum(len(own & other) for other in words) - len(own) for own in words]


def _blind_features(call, place, words):
    """Describe a candidate by itself, by its place and by its likeness to the others."""
    hashed = np.zeros(64)
    for word in _words(call):
        hashed[sum(map(ord, word)) % 64] += 1
    alike = [words[word] for word in set(_words(call))]
    return [*hashed, place, place == 0, len(call) / 50, sum(alike) / len(alike), min(alike), max(alike), 1.0]


def _hits(sets, labels, train=900):
    """Return the share of the sets after `train` in which what a ridge regression likes best is right."""
    rows, values = np.concatenate(list(map(np.array, sets[:train]))), np.concatenate(labels[:train])
    weights = np.linalg.solve(rows.T @ rows + np.eye(rows.shape[1]), rows.T @ values)
    guesses = [int(np.argmax(np.array(rows) @ weights)) for rows in sets[train:]]
    return np.mean([own[guess] for own, guess in zip(labels[train:], guesses, strict=True)])
