import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.training.micro_batches import by_groups, merged, passes, teaching, tokens_of


def batch(rows):
    """Rows as TRL has them: (prompt token, completion length, advantage) each."""
    width = max(length for _, length, _ in rows)
    prompts = torch.tensor([[0, prompt] for prompt, _, _ in rows])
    return {
        "prompt_ids": prompts,
        "prompt_mask": torch.tensor([[0, 1]] * len(rows)),
        "completion_ids": torch.arange(len(rows))[:, None].repeat(1, width),
        "completion_mask": torch.tensor([[1] * length + [0] * (width - length) for _, length, _ in rows]),
        "advantages": torch.tensor([advantage for _, _, advantage in rows]),
        "num_items_in_batch": torch.tensor(7.0),
        "old_per_token_logps": None,
    }


def cut(rows, parts):
    size = len(rows) // parts
    whole = batch(rows)
    return [
        {
            name: value[n * size : (n + 1) * size] if value is not None and value.ndim else value
            for name, value in whole.items()
        }
        for n in range(parts)
    ]


def shown(micro_batches):
    return [
        list(zip(one["prompt_ids"][:, 1].tolist(), one["completion_mask"].sum(1).tolist(), strict=True))
        for one in micro_batches
    ]


# Group 5 has the longest completion, group 6 teaches nothing.
SHUFFLED = [(5, 2, 1.0), (6, 9, 0.0), (7, 3, -1.0), (5, 8, -1.0), (7, 1, 1.0), (6, 1, 1e-4)]


def test_groups_come_together_by_length_after_those_that_teach_nothing():
    assert shown(by_groups(cut(SHUFFLED, 3))) == [[(6, 9), (6, 1)], [(7, 3), (7, 1)], [(5, 2), (5, 8)]]


@pytest.mark.parametrize("taken", [[1, 1, 1], [2, 1], [3]])
def test_every_column_goes_with_its_row_and_what_concerns_the_batch_stays(taken):
    rows = batch(SHUFFLED)
    dealt_out = merged(by_groups(cut(SHUFFLED, 3)), taken)
    assert sorted(place for one in dealt_out for place in one["completion_ids"][:, 0].tolist()) == list(range(6))
    for one in dealt_out:
        places = one["completion_ids"][:, 0]
        for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "advantages"):
            assert torch.equal(one[name], rows[name][places])
        assert one["num_items_in_batch"] == 7
        assert one["old_per_token_logps"] is None


def test_what_is_scored_together_comes_last_and_the_rest_is_empty():
    assert [len(rows) for rows in shown(merged(by_groups(cut(SHUFFLED, 3)), [1, 2]))] == [0, 2, 4]
    assert [len(rows) for rows in shown(merged(by_groups(cut(SHUFFLED, 3)), [3]))] == [0, 0, 6]


def test_rounding_teaches_nothing():
    assert teaching(batch(SHUFFLED)).tolist() == [True, False, True, True, True, False]


def test_tokens_are_counted_without_padding_and_each_prompt_once():
    dealt_out = by_groups(cut(SHUFFLED, 3))
    assert tokens_of(dealt_out) == [0, 1 + 3 + 1, 1 + 2 + 8]
    assert tokens_of(dealt_out, all_rows=True) == [1 + 9 + 1, 1 + 3 + 1, 1 + 2 + 8]
    assert tokens_of([batch(SHUFFLED)]) == [2 + 2 + 3 + 8 + 1]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=12), st.integers(1, 300))
def test_passes_take_all_and_no_more_tokens_than_they_may(sizes, tokens):
    taken = passes(sizes, tokens)
    assert sum(taken) == len(sizes)
    rest = iter(sizes)
    for count in taken:
        assert sum(next(rest) for _ in range(count)) <= tokens or count == 1


def test_a_pass_takes_what_it_can():
    assert passes([20] * 5, 100) == [5]
    assert passes([20] * 5, 40) == [2, 2, 1]
    assert passes([20] * 5, 1) == [1] * 5
