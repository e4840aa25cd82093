import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.training.micro_batches import by_groups, teaching


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


def test_groups_come_together_by_length_and_those_that_teach_nothing_last():
    assert shown(by_groups(cut(SHUFFLED, 3), 1)) == [[(7, 3), (7, 1)], [(5, 2), (5, 8)], [(6, 9), (6, 1)]]


def test_each_update_keeps_its_rows():
    dealt_out = by_groups(cut([*SHUFFLED, *SHUFFLED], 6), 2)
    assert shown(dealt_out[:3]) == shown(dealt_out[3:]) == shown(by_groups(cut(SHUFFLED, 3), 1))


def test_every_column_goes_with_its_row_and_what_concerns_the_batch_stays():
    rows = batch(SHUFFLED)
    for one in by_groups(cut(SHUFFLED, 3), 1):
        places = one["completion_ids"][:, 0]
        for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "advantages"):
            assert torch.equal(one[name], rows[name][places])
        assert one["num_items_in_batch"] == 7
        assert one["old_per_token_logps"] is None


def test_rounding_teaches_nothing():
    assert teaching(batch(SHUFFLED)).tolist() == [True, False, True, True, True, False]
