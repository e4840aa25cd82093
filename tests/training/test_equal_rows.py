import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.training.equal_rows import _weights, numbered

matrices = st.integers(0, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(-1, 2), min_size=width, max_size=width), min_size=1, max_size=10)
)


@given(matrices)
def test_equal_rows_have_the_same_number_and_others_another(rows):
    numbers = numbered(torch.tensor(rows, dtype=torch.long)).tolist()
    assert sorted(set(numbers)) == list(range(len({tuple(row) for row in rows})))
    for row, number in zip(rows, numbers, strict=True):
        for other, its_number in zip(rows, numbers, strict=True):
            assert (row == other) == (number == its_number)


def test_rows_that_look_alike_are_told_apart():
    first, second = _weights(2).tolist()
    alike = torch.tensor([[0, 0], [second, -first], [0, 0]])
    assert not (alike * _weights(2)).sum(1).any()
    assert numbered(alike).tolist() in ([0, 1, 0], [1, 0, 1])
