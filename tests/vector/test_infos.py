import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.vector.infos import stack_infos

PARTS = {"a": st.integers(0, 9), "b": st.fixed_dictionaries({"c": st.text(max_size=3)})}
# One type for a key, as the infos of this package keep it.
INFO = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(-9, 9),
        "share": st.floats(-1, 1),
        "won": st.booleans(),
        "name": st.text(max_size=3),
        "calls": st.lists(st.integers(), min_size=2, max_size=2),
        "mask": st.lists(st.booleans(), min_size=3, max_size=3).map(np.array),
        "score": st.floats(-1, 1).map(np.float32),
        "parts": st.fixed_dictionaries(
            {}, optional={"a": st.integers(0, 9), "b": st.fixed_dictionaries({"c": st.text()})}
        ),
    },
)


def by_gymnasium(infos, num_envs):
    envs, stacked = VectorEnv(), {}
    envs.num_envs = num_envs
    for index, info in infos:
        stacked = envs._add_info(stacked, info, index)
    return stacked


def same(left, right):
    if isinstance(left, dict):
        return isinstance(right, dict) and left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return type(left) is type(right) and left.dtype == right.dtype and left.tolist() == right.tolist()


@given(st.lists(st.tuples(st.booleans(), INFO), min_size=1, max_size=5))
def test_infos_are_stacked_as_gymnasium_stacks_them(drawn):
    infos = [(index, info) for index, (present, info) in enumerate(drawn) if present]
    assert same(stack_infos(infos, len(drawn)), by_gymnasium(infos, len(drawn)))


def test_environments_without_a_key_are_masked():
    stacked = stack_infos([(0, {"turn": 3}), (2, {"turn": 1, "name": "x"})], 3)
    assert stacked["turn"].tolist() == [3, 0, 1]
    assert stacked["_turn"].tolist() == [True, False, True]
    assert stacked["name"].tolist() == [None, None, "x"]
    assert stacked["_name"].tolist() == [False, False, True]


@pytest.mark.parametrize("values", [(1, None), (True, None), (1, 0.5), (np.zeros(2), np.zeros(3))])
def test_values_of_several_types_stay_what_they_are(values):
    stacked = stack_infos(enumerate({"x": value} for value in values), 2)["x"]
    assert stacked.dtype == object
    assert all(found is value for found, value in zip(stacked, values, strict=True))


def test_lists_of_one_length_are_not_made_a_table():
    stacked = stack_infos([(0, {"x": [1, 2]}), (1, {"x": [3, 4]})], 2)["x"]
    assert stacked.shape == (2,)
    assert stacked[1] == [3, 4]


def test_masks_of_two_keys_are_not_one_array():
    stacked = stack_infos([(0, {"x": 1, "y": 2})], 2)
    stacked["_x"][:] = False
    assert stacked["_y"].tolist() == [True, False]
