import hashlib
import pickle
import re
from collections import Counter
from itertools import islice

import pytest

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.domains import BUILTIN_DOMAINS
from envtune_gym.env import EnvtuneEnv
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.scoring import score_trajectory
from envtune_gym.tasks import CATEGORIES, SPLITS, TOOLS_ADDED_MESSAGE, TaskSet, load_tasks
from envtune_gym.tasks.generated import VERSION, source
from envtune_gym.tasks.generation.shape import DIFFICULTIES, LEVELS
from envtune_gym.tasks.goals import base

DIGEST = "4a1480c140e4ef8003696b6572c6e4c0a4bcf48cfb0506945065ba9888127037"
"""Of the first 200 tasks of version 2. If tasks change on purpose, raise VERSION and record the new digest."""
COMBINED = (
    "miss_func+miss_param",
    "miss_func+long_context",
    "miss_param+long_context",
    "miss_func+miss_param+long_context",
)


@pytest.fixture(scope="module")
def stream():
    """Tasks of every kind, combined categories included."""
    plain, combined = load_tasks("generated"), load_tasks("generated", categories=COMBINED, difficulty=(2, 4))
    return [*plain[:500], *combined[:100]]


def solve(task):
    return [[list(calls)] if calls else [] for calls in task.ground_truth]


def test_the_oracle_passes(stream):
    for task in stream:
        verdict = score_trajectory(task, solve(task))
        assert (verdict.valid, verdict.progress) == (True, 1.0), task.id


def test_doing_nothing_fails_every_turn_with_ground_truth(stream):
    for task in stream:
        turns = score_trajectory(task, [[] for _ in task.turns]).turns
        assert [turn.passed for turn in turns] == [not calls for calls in task.ground_truth], task.id


def test_every_call_is_needed(stream):
    for task in stream[::3]:
        for turn, calls in enumerate(task.ground_truth):
            for index in range(len(calls)):
                steps = solve(task)
                del steps[turn][0][index]
                assert not score_trajectory(task, steps).valid, (task.id, calls[index])


def test_categories_have_their_turns(stream):
    assert {task.category for task in stream} == {*CATEGORIES, *COMBINED}
    for task in stream:
        names = task.category.split("+")
        empty = [turn for turn, calls in enumerate(task.ground_truth) if not calls]
        assert len(empty) == sum(name in ("miss_func", "miss_param") for name in names), task.id
        assert bool(task.missed_functions) == ("miss_func" in names)
        assert not task.long_context  # the filler stands in the configuration
        for turn, tools in task.missed_functions.items():
            assert task.turns[turn] == TOOLS_ADDED_MESSAGE
            assert turn - 1 in empty
            assert set(tools) <= {parse_call(text).name for text in task.ground_truth[turn]}
        assert (task.source, task.source_version) == ("generated", VERSION)


def test_a_task_is_as_large_as_its_shape_says(stream):
    for task in stream:
        turns, domains = map(int, re.search(r"-t(\d)g\dd(\d)", task.id).groups())
        assert sum(map(bool, task.ground_truth)) == turns, task.id
        assert domains <= len(task.domains) <= domains + 1  # one more where no domain had room for filler


def test_filler_has_about_the_size_that_is_asked_for():
    sizes = {}
    for filler in (2, 8, 32):
        tasks = load_tasks("generated", categories="long_context", difficulty={"turns": 1, "filler": filler})[:40]
        sizes[filler] = sum(len(str(task.initial_config)) for task in tasks) / len(tasks) / 4000
        assert 0.6 * filler < sizes[filler] < 2 * filler + 2


def test_a_withheld_tool_cannot_be_called_before_its_turn():
    task = next(iter(load_tasks("generated", categories="miss_func")))
    (back, (tool,)) = next(iter(task.missed_functions.items()))
    env = EnvtuneEnv(tasks=TaskSet([task]))
    env.reset(seed=0)
    for turn, calls in enumerate(task.ground_truth):
        if turn == back - 1:
            refused = [parse_call(text) for text in task.ground_truth[back] if text.startswith(f"{tool}(")]
            *_, info = env.step(render_calls(refused, "tool_call"))
            assert {result["error"]["code"] for result in info["tool_results"]} == {"unknown_tool"}
        if calls:
            env.step(render_calls([parse_call(text) for text in calls], "tool_call"))
        _, reward, terminated, *_ = env.step(render_answer("Done.", "tool_call"))
    assert terminated
    assert reward == 1.0


def test_few_drafts_are_given_up():
    discarded = Counter()
    stream = source(split="train")
    made = 400
    for index in range(made):
        stream.make(index, discarded)
    del discarded["other split"]
    assert sum(discarded.values()) < 0.4 * (made + sum(discarded.values())), discarded


def test_goals_that_fit_nowhere_are_told(monkeypatch):
    monkeypatch.setattr(base, "_GOALS", {})
    base.goals_of.cache_clear()
    try:
        with pytest.raises(TaskError, match=r"the goals of MathAPI give no task .*no goal fits"):
            source(domains=("MathAPI",), difficulty=1).task(10**6)
    finally:
        base.goals_of.cache_clear()


def test_an_index_means_the_same_task_everywhere():
    tasks = load_tasks("generated")[:200]
    assert hashlib.sha256("".join(task.fingerprint for task in tasks).encode()).hexdigest() == DIGEST


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"categories": ("miss_func",)},
        {"categories": ("miss_func+miss_param",)},
        {"domains": ("TravelAPI",), "split": "test"},
        {"difficulty": 3, "split": "val"},
        {"difficulty": {"turns": 4, "domains": 2, "filler": 3}},
        {"domains": ("MathAPI", "TicketAPI"), "categories": ("base", "long_context"), "difficulty": [1, 2]},
    ],
)
def test_ids_lead_back_to_their_tasks(conditions):
    some = source(**conditions)
    for index in (0, 1, 17, 1_000, 10**12):
        task = some.task(index)
        assert (some.task_id(index), some.category(index)) == (task.id, task.category)
        assert some.index_of(task.id) == index
        assert some.split(index) == conditions.get("split", some.split(index))
        assert task.category in conditions.get("categories", CATEGORIES)
        assert set(task.domains) & set(conditions.get("domains", BUILTIN_DOMAINS))
        assert load_tasks("generated", **conditions).get(task.id) == task


@pytest.mark.parametrize(
    "task_id",
    [
        "gen-MathAPI-base-t2g1d1-test-0",  # of another split
        "gen-MathAPI-base-t7g1d1-train-0",  # of a shape that was not asked for
        "gen-MathAPI-long_context-t2g1d1-train-0",  # without its filler
        "gen-MathAPI-base-t2g1d1f8-train-0",
        "gen-MathAPI-base-t2g1d1-train-00",
        "gen-MathAPI-base-t2g1d1-train-",
        "gen-MathAPI-base-t2g1d1-train-1\n",
        "gen-NoneAPI-base-t2g1d1-train-0",
        "multi_turn_base_0",
        "",
    ],
)
def test_other_ids_are_not_in_the_stream(task_id):
    assert source(split="train").index_of("gen-MathAPI-base-t2g1d1-train-0") is not None
    assert source(split="train").index_of(task_id) is None


def test_splits_share_no_scenario():
    beginnings = {}
    for split in SPLITS:
        tasks = load_tasks("generated", categories="base", split=split)[:400]
        assert all(f"-{split}-" in task.id for task in tasks)
        beginnings[split] = {_beginning(task) for task in tasks}
    assert len(set.union(*beginnings.values())) == sum(map(len, beginnings.values()))


def _beginning(task):
    seen = [{k: v for k, v in one.items() if k != "random_seed"} for one in task.initial_config.values()]
    return str(seen if any(seen) else task.ground_truth[0])


def test_the_categories_of_a_number_are_variants_of_one_scenario():
    tasks = load_tasks("generated")
    same = 0
    for number in range(20):
        base_task, vague = (tasks.get(f"gen-TicketAPI-{kind}-t3g2d1-test-{number}") for kind in ("base", "miss_param"))
        same += base_task.initial_config == vague.initial_config
        if base_task.initial_config == vague.initial_config:
            assert base_task.ground_truth == tuple(filter(None, vague.ground_truth))
    assert same > 5  # others had nothing to leave out, and were drafted anew


@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_every_domain_serves_all_categories(domain):
    tasks = load_tasks("generated", domains=domain)
    assert tasks.categories == CATEGORIES
    assert all(domain in task.domains for task in islice(tasks, 60))


@pytest.mark.parametrize("level", DIFFICULTIES)
def test_levels_are_shapes(level):
    for task in load_tasks("generated", difficulty=level)[:30]:
        assert sum(map(bool, task.ground_truth)) == LEVELS[level].turns


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"categories": ["easy"]}, "unknown category 'easy'; known: base, miss_func, miss_param, long_context"),
        ({"categories": ["miss_param+miss_param"]}, "unknown category 'miss_param+miss_param'"),
        ({"categories": ["base+miss_param"]}, "unknown category 'base+miss_param'"),
        ({"categories": ["miss_func+miss_param"], "difficulty": 1}, "no generated task meets the conditions"),
        ({"difficulty": 0}, "unknown difficulty 0; known: 1, 2, 3, 4, 5"),
        ({"split": "dev"}, "unknown split 'dev'; known: train, val, test, all"),
        ({"domains": ["Maths"]}, "unknown domain 'Maths'"),
    ],
)
def test_mistakes_name_what_is_known(conditions, message):
    with pytest.raises(ConfigurationError) as caught:
        source(**conditions)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_combined_categories_have_one_name():
    one, other = (
        source(categories=(name,), split="test") for name in ("long_context+miss_func", "miss_func+long_context")
    )
    assert one.task(5) == other.task(5)
    assert "-miss_func.long_context-" in one.task_id(5)
    assert one.category(5) == "miss_func+long_context"


def test_a_source_travels_as_its_conditions():
    original = source(categories=("miss_func",), split="train", domains=("TicketAPI",), difficulty=2)
    sent = pickle.dumps(original)
    assert len(sent) < 300
    assert pickle.loads(sent).task(42) == original.task(42)
