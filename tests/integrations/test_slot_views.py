import random

import pytest

pytest.importorskip("trl")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from envtune_gym.integrations import slot_views
from envtune_gym.integrations.slot_views import DecodeView, combined
from envtune_gym.integrations.slots import Prefix, Slots, most_prefixes

ROWS, LENGTH, HEADS, COPIES, WIDTH = 16, 48, 2, 3, 8


def attend(query, keys, values, visible):
    """Attend, and say how much weight the keys have; [heads, queries, ...]."""
    products = (query @ keys.transpose(-1, -2) * WIDTH**-0.5).masked_fill(~visible, -torch.inf)
    return products.softmax(-1) @ values, products.logsumexp(-1)


def test_two_parts_put_together_are_the_whole():
    torch.manual_seed(0)
    query = torch.randn(HEADS, 5, WIDTH)
    keys, values = torch.randn(2, HEADS, 9, WIDTH)
    everything = torch.ones(5, 9, dtype=torch.bool)
    first = everything.clone()
    first[:, 4:] = False
    first[3] = True  # the fourth has no others
    whole, _ = attend(query, keys, values, everything)
    part, weight = attend(query, keys, values, first)
    others, other_weight = attend(query, keys, values, ~first)
    counts = torch.tensor([True, True, True, False, True])
    assert others[:, 3].isnan().all()
    together = combined(part.transpose(0, 1), weight, others.transpose(0, 1), other_weight, counts)
    torch.testing.assert_close(together, whole.transpose(0, 1))


def filled_kernel(query, keys, values, queries, begins, filled, longest, scale):
    """Do what the kernel for rows of different lengths is documented to do; there is none for the CPU."""
    keys, values = keys.flatten(0, 1), values.flatten(0, 1)
    result = torch.full_like(query, torch.nan)  # of a query that is in no row it says nothing
    weight = query.new_full(query.shape[1::-1], torch.nan)
    assert len(queries) == len(begins) == len(filled) + 1
    for row, (begin, end) in enumerate(zip(queries[:-1].tolist(), queries[1:].tolist(), strict=True)):
        assert end - begin <= longest[0]
        assert filled[row] <= longest[1]
        if filled[row]:
            own = slice(int(begins[row]), int(begins[row] + filled[row]))
            everything = torch.ones(end - begin, int(filled[row]), dtype=torch.bool)
            said = attend(
                query[begin:end].transpose(0, 1), keys[own].transpose(0, 1), values[own].transpose(0, 1), everything
            )
            result[begin:end], weight[:, begin:end] = said[0].transpose(0, 1), said[1]
    return result, weight


@pytest.fixture
def slots():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=8,
        hidden_size=HEADS * COPIES * WIDTH,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=HEADS * COPIES,
        num_key_value_heads=HEADS,
    )
    slots = Slots(LlamaForCausalLM(config), ROWS, LENGTH)
    slots.keys[0].normal_()
    slots.values[0].normal_()
    return slots


@pytest.mark.parametrize("size", [8, 16])
def test_what_rows_share_is_read_together_by_the_kernel_and_by_the_mask(slots, monkeypatch, size):
    rng = random.Random(size)
    order = rng.sample(range(ROWS), 7)
    lengths = [rng.randint(30, LENGTH) for _ in order]
    prefixes = [Prefix(order[0], 20)] * 3 + [Prefix(order[3], 29)] * 2 + [None] * 2
    for slot, prefix in zip(order, prefixes, strict=True):
        if prefix is not None:  # in the row's own slot as well, as the engine leaves it
            for one in (slots.keys[0], slots.values[0]):
                one[slot, : prefix.length] = one[prefix.slot, : prefix.length]
    query = torch.randn(size, HEADS * COPIES, 1, WIDTH)

    def said(sharing):
        slots.seat(order, [0] * len(order), [length - 1 for length in lengths], sharing, size)
        return DecodeView(slots, size, LENGTH).attend(query, slots.keys[0], slots.values[0], None)[: len(order)]

    alone, together = said([]), said(prefixes)
    torch.testing.assert_close(together, alone)
    monkeypatch.setattr(slot_views, "_has_kernel", lambda _: True)
    monkeypatch.setattr(slot_views, "_attend_filled", filled_kernel)
    torch.testing.assert_close(said(prefixes), alone)
    torch.testing.assert_close(said([]), alone)
    slots.keys[0][order[0], :20] = 0  # the rows beside it read it there, not in their own slots
    changed = (said(prefixes) - alone).flatten(1).abs().amax(1) > 1e-3
    assert changed.tolist() == [True] * 3 + [False] * 4


def test_rows_are_read_from_where_they_have_not_been_read_together(slots):
    shared = Prefix(4, 10)
    slots.seat([5, 4, 7], [3, 3, 3], [20, 21, 22], [shared, shared, None], 8)
    assert slots.filled[:3].tolist() == [11, 12, 23]
    assert slots.begins[:3].tolist() == [5 * LENGTH + 10, 4 * LENGTH + 10, 7 * LENGTH]
    assert slots.prefix_ends[:3].tolist() == [0, 2 * COPIES, 3 * COPIES]
    assert slots.prefix_filled[:2].tolist() == [10, 0]
    assert slots.index[3:].tolist() == [ROWS] * (ROWS - 3)


def test_more_prefixes_than_there_is_room_for_are_read_apart(slots):
    most = most_prefixes(8)
    slots.seat(list(range(8)), [0] * 8, [29] * 8, [Prefix(row - row % 2, 10) for row in range(8)], 8)
    assert slots.shared[:8].tolist() == [10] * 2 * most + [0] * (8 - 2 * most)
    assert slots.filled[:8].tolist() == [20] * 2 * most + [30] * (8 - 2 * most)
