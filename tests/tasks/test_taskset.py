import pickle
from itertools import islice

import numpy as np
import pytest

from envtune_gym.errors import ConfigurationError, UnknownTaskError
from envtune_gym.tasks import Task, TaskSet, TaskSource


class Counting(TaskSource):
    """An endless source: task n adds n and 1."""

    name, version, categories, size = "counting", "1", ("base",), None

    def task(self, index):
        fields = {"id": f"n{index}", "category": "base", "domains": ["MathAPI"], "turns": ["Add."]}
        return Task(**fields, ground_truth=[[f"add(a={index}, b=1)"]])

    def index_of(self, task_id):
        return int(task_id[1:]) if task_id[1:].isdecimal() else None


@pytest.fixture
def endless():
    return TaskSet(Counting())


@pytest.fixture
def four(make_task):
    return TaskSet([make_task(id=name) for name in "abcd"])


def test_views(four):
    assert four[1:3].ids == ["b", "c"]
    assert four[::-1].ids == ["d", "c", "b", "a"]
    assert four[-1].id == "d"
    assert four.filter(lambda task: task.id > "b")[:1].ids == ["c"]
    assert [task.id for task in four[::2]] == ["a", "c"]
    assert (len(four), bool(four[4:]), four.categories) == (4, False, ("base",))
    assert "a" in four
    assert four[0] in four
    assert "a" not in four[1:]
    assert four[0] not in four[1:]
    with pytest.raises(IndexError):
        four[4]


def test_spread_takes_evenly_spaced_tasks_and_of_an_endless_set_the_first(four, endless):
    assert four.spread(2).ids == [four.ids[0], four.ids[2]]
    assert four.spread(3).ids == [four.ids[0], four.ids[1], four.ids[2]]
    assert four.spread(4).ids == four.spread(9).ids == four.ids
    assert four[:0].spread(3).ids == four.spread(0).ids == []
    assert four[::-1].spread(2).ids == [four.ids[3], four.ids[1]]
    assert endless.spread(3).ids == endless[:3].ids


def test_shuffle_depends_on_the_seed_alone(four, official):
    assert sorted(four.shuffle(3).ids) == four.ids
    assert official.shuffle(1).ids == official.shuffle(1).ids != official.shuffle(2).ids


def test_unknown_ids_bring_similar_ones(official):
    assert official.get("multi_turn_base_7").id == "multi_turn_base_7"
    with pytest.raises(UnknownTaskError, match="similar: multi_turn_base_19"):
        official.get("multi_turn_base_1999")
    with pytest.raises(UnknownTaskError, match="no task 'multi_turn_base_0'"):
        official.split("test").get("multi_turn_base_0")
    for strange in ("multi_turn_base_07", "multi_turn_base_200", "multi_turn_base_٣", ""):
        assert strange not in official


def test_joining(four, make_task, official):
    joined = four[2:] + TaskSet([make_task(id="e", category="miss_param")]) + official[:2]
    assert joined.ids == ["c", "d", "e", "multi_turn_base_0", "multi_turn_base_1"]
    assert [task.id for task in joined] == joined.ids
    assert joined.get("e").id == "e"
    assert joined[2:].categories == ("base", "miss_param")
    assert pickle.loads(pickle.dumps(joined)).ids == joined.ids
    with pytest.raises(ConfigurationError, match="'c' is in both"):
        joined + four
    with pytest.raises(ConfigurationError, match="occurs twice"):
        TaskSet([four[0], four[0]])


def test_an_endless_set_is_indexed_iterated_and_sliced(endless):
    assert not endless.is_finite
    assert endless
    assert endless[10**12].id == f"n{10**12}"
    assert [task.id for task in islice(endless[5::2], 3)] == ["n5", "n7", "n9"]
    assert endless[5:][:2].ids == ["n5", "n6"]
    assert endless[:3].is_finite
    assert endless.get("n7").id == "n7"
    assert "n7" not in endless[::2]
    assert endless.sample(np.random.default_rng(0)) == endless.sample(np.random.default_rng(0))
    with pytest.raises(UnknownTaskError):
        endless.get("x")


@pytest.mark.parametrize(
    "use",
    [len, list, lambda s: s[-1], lambda s: s[:-1], lambda s: s[::-1], lambda s: s.ids, lambda s: s.shuffle(0),
     lambda s: s.filter(bool), lambda s: s + s, lambda s: s.split("train")],
)  # fmt: skip
def test_what_needs_an_end_says_to_slice(endless, use):
    with pytest.raises(ConfigurationError, match=r"slice it: \[:50\]"):
        use(endless)


def test_sampling_is_uniform_over_the_view(four):
    rng = np.random.default_rng(0)
    assert {four[1:].sample(rng).id for _ in range(50)} == {"b", "c", "d"}
    with pytest.raises(ConfigurationError, match="empty"):
        four[:0].sample(rng)


def test_pickles_are_small_and_equal(official, endless):
    for tasks, size in ((official, 200), (official.shuffle(0), 4000), (endless, 300)):
        data = pickle.dumps(tasks)
        assert len(data) < size
        assert pickle.loads(data)[3] == tasks[3]


def test_a_split_of_what_is_not_split_is_refused(four):
    assert four.split("all") is four
    with pytest.raises(ConfigurationError, match="not split"):
        four.split("train")
