import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from envtune_gym.training.packed_attention import Packing

CPU = torch.device("cpu")
# For each prompt, the lengths of its completions behind its own; some longer than what is computed together.
lengths = st.lists(
    st.tuples(st.integers(1, 70), st.lists(st.integers(1, 40), min_size=1, max_size=4)), min_size=1, max_size=4
)


def packing_of(groups):
    prompts, completions = [prompt for prompt, _ in groups], [length for _, those in groups for length in those]
    group = [number for number, (_, those) in enumerate(groups) for _ in those]
    return Packing(torch.tensor(prompts), torch.tensor(completions), torch.tensor(group), CPU)


def drawn(groups, dtype=torch.float64, heads=4, key_heads=2, width=8, value_width=8):
    tokens = sum(prompt + sum(those) for prompt, those in groups)
    generator = torch.Generator().manual_seed(tokens)
    shapes = ((heads, width), (key_heads, width), (key_heads, value_width))
    return [torch.randn(tokens, *shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def reference(query, key, value, groups, scale=None):
    """Each row by itself, its prompt in front of its completion, in plain torch."""
    found = torch.zeros(len(query), query.shape[1], value.shape[2], dtype=query.dtype)
    start, begin = 0, sum(prompt for prompt, _ in groups)
    for prompt, those in groups:
        known = torch.arange(start, start + prompt)
        for length in those:
            places = torch.cat([known, torch.arange(begin, begin + length)])
            row = (one[places].transpose(0, 1)[None] for one in (query, key, value))
            attended = scaled_dot_product_attention(*row, is_causal=True, enable_gqa=True, scale=scale)[0]
            part = attended.transpose(0, 1)
            # A prompt is in each of its rows; it counts once.
            found = found.index_copy(0, places[prompt:], part[prompt:]).index_copy(0, known, part[:prompt])
            begin += length
        start += prompt
    return found


def gradients_of(result, inputs):
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(result.shape, generator=generator, dtype=torch.float64)
    return torch.autograd.grad((result.double() * weights).sum(), inputs)


@settings(max_examples=40, deadline=None)
@given(lengths, st.sampled_from([None, 0.2]))
def test_each_row_attends_as_if_it_were_alone(groups, scale):
    inputs = drawn(groups)
    expected = reference(*inputs, groups, scale)
    found = packing_of(groups).attend(*inputs, scale)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients_of(found, inputs), gradients_of(expected, inputs))


@pytest.mark.parametrize(("width", "value_width"), [(5, 5), (12, 8), (6, 16)])
@pytest.mark.parametrize(("heads", "key_heads"), [(2, 2), (6, 2), (3, 1)])
def test_heads_of_any_number_and_width(width, value_width, heads, key_heads):
    groups = [(3, [4, 1]), (9, [2])]
    inputs = drawn(groups, heads=heads, key_heads=key_heads, width=width, value_width=value_width)
    expected = reference(*inputs, groups)
    found = packing_of(groups).attend(*inputs)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients_of(found, inputs), gradients_of(expected, inputs))


def test_its_gradient_is_that_of_finite_differences():
    groups = [(2, [1, 2]), (1, [1])]
    assert torch.autograd.gradcheck(packing_of(groups).attend, drawn(groups, heads=2, key_heads=1))


def test_a_key_that_outweighs_all_others_does_no_harm():
    groups = [(4, [3, 2]), (2, [5])]
    inputs = [one.detach() for one in drawn(groups, torch.float32)]
    inputs[0][:] *= 200
    inputs = [one.requires_grad_() for one in inputs]
    found = packing_of(groups).attend(*inputs)
    torch.testing.assert_close(found, reference(*inputs, groups))
    assert all(gradient.isfinite().all() for gradient in gradients_of(found, inputs))


def test_half_precision_is_as_good_as_it_can_be():
    groups = [(40, [30, 5, 8]), (7, [9])]
    exact = drawn(groups)
    halves = [one.detach().bfloat16().requires_grad_() for one in exact]
    found = packing_of(groups).attend(*halves)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), reference(*exact, groups), atol=0.05, rtol=0.05)


def test_queries_and_keys_take_the_precision_of_values_and_have_gradients_of_their_own():
    groups = [(6, [3, 4])]
    query, key, value = drawn(groups, torch.float32)
    half = value.detach().bfloat16().requires_grad_()
    found = packing_of(groups).attend(query, key, half)
    assert found.dtype == torch.bfloat16
    gradients = gradients_of(found, (query, key, half))
    assert [gradient.dtype for gradient in gradients] == [torch.float32, torch.float32, torch.bfloat16]
