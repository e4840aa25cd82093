import copy

import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM
from trl.trainer.utils import add_fused_lm_head

from envtune_gym.training.scoring import can_share, picked, score_plainly, score_sharing

KEEP = 6
token = st.integers(1, 30)
rows = st.lists(st.tuples(st.integers(0, 2), st.lists(token, min_size=1, max_size=KEEP)), min_size=1, max_size=8)
three_prompts = st.lists(st.lists(token, min_size=1, max_size=5), min_size=3, max_size=3)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.5,  # so that distributions differ
    )
    made = LlamaForCausalLM(config)
    add_fused_lm_head(made, temperature=0.7, outputs=("log_probs", "entropy"))
    return made


def padded(chosen, prompts):
    """Rows as TRL pads them: prompts on the left, completions on the right."""
    taken = [(prompts[which], completion) for which, completion in chosen]
    width = max(len(prompt) for prompt, _ in taken)
    ids = [[0] * (width - len(p)) + p + c + [0] * (KEEP - len(c)) for p, c in taken]
    mask = [[0] * (width - len(p)) + [1] * (len(p) + len(c)) + [0] * (KEEP - len(c)) for p, c in taken]
    return torch.tensor(ids), torch.tensor(mask)


def one_by_one(model, chosen, prompts):
    """Log-probabilities and entropies in plain torch, a row at a time, without padding."""
    logps, entropies = torch.zeros(len(chosen), KEEP), torch.zeros(len(chosen), KEEP)
    for row, (which, completion) in enumerate(chosen):
        prompt = prompts[which]
        logits = model(input_ids=torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1].float() / 0.7
        chances = logits.log_softmax(-1)
        length = len(completion)
        logps[row, :length] = chances.gather(1, torch.tensor(completion)[:, None])[:, 0]
        entropies[row, :length] = -(chances.exp() * chances).sum(-1)
    return logps, entropies


@settings(max_examples=60, deadline=None)
@given(rows, three_prompts)
def test_scores_are_those_of_rows_scored_one_by_one(model, chosen, prompts):
    ids, mask = padded(chosen, prompts)
    present = mask[:, -KEEP:].bool()
    with torch.no_grad():
        expected = one_by_one(model, chosen, prompts)
        for scores in (score_plainly(model, ids, mask, KEEP), score_sharing(model, model, ids, mask, KEEP)):
            for score, right in zip(scores, expected, strict=True):
                torch.testing.assert_close(score[present], right[present], atol=1e-4, rtol=1e-4)


def test_gradients_flow_into_the_shared_prompt(model):
    chosen = [(0, [3, 4, 5]), (1, [6]), (0, [7, 8, 9, 10]), (0, [11, 2]), (1, [12, 13])]
    ids, mask = padded(chosen, [[20, 21, 22, 23], [24, 25]])
    weights = torch.randn(len(chosen), KEEP, generator=torch.Generator().manual_seed(1)) * mask[:, -KEEP:]
    gradients = []
    for sharing in (False, True):
        own = copy.deepcopy(model)
        add_fused_lm_head(own, temperature=0.7, outputs=("log_probs", "entropy"))
        scores = score_sharing(own, own, ids, mask, KEEP) if sharing else score_plainly(own, ids, mask, KEEP)
        (weights * scores[0]).sum().backward()
        gradients.append({name: parameter.grad for name, parameter in own.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, atol=1e-5, rtol=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.sampled_from([torch.float32, torch.bfloat16]))
def test_picking_is_indexing_and_so_is_its_gradient(places, dtype):
    places = torch.tensor(places)
    generator = torch.Generator().manual_seed(len(places))
    values = torch.randn(5, 2, 3, 4, generator=generator).to(dtype)
    gradient = torch.randn(len(places), 2, 6, 4, generator=generator).to(dtype)[:, :, :3]  # a view, as in a model
    results = []
    for chosen, exact in ((picked, values), (lambda values, places: values[places], values.float())):
        leaf = exact.clone().requires_grad_()
        rows = chosen(leaf, places)
        rows.backward(gradient.to(rows.dtype))
        results.append((rows.float(), leaf.grad.float()))
    torch.testing.assert_close(results[0][0], results[1][0], atol=0, rtol=0)
    # A sum in bfloat16 is rounded once, at its end.
    precision = 1e-6 if dtype == torch.float32 else 2**-8
    torch.testing.assert_close(results[0][1], results[1][1], atol=1e-5, rtol=precision)


def test_the_gradient_of_picking_is_that_of_finite_differences():
    values = torch.randn(4, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradcheck(picked, (values, torch.tensor([2, 0, 2, 2, 3])))  # the second is never picked


def read_tokens(model, ids, mask):
    """Number of tokens that go through the model, padding included."""
    seen = []
    handle = model.get_input_embeddings().register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].numel()))
    with torch.no_grad():
        score_sharing(model, model, ids, mask, KEEP)
    handle.remove()
    return sum(seen)


def test_a_prompt_is_read_once_for_all_rows_of_its_group(model):
    prompts = [list(range(1, 21)), list(range(11, 31))]
    chosen = [(row % 2, [5, 6, 7]) for row in range(8)]
    assert read_tokens(model, *padded(chosen, prompts)) == 2 * 19 + 8 * (1 + 3)


def test_rows_with_little_to_share_are_read_as_they_are(model):
    prompts = [list(range(1, 21)), list(range(11, 31)), [7] * 20]
    chosen = [(0, [5, 6, 7]), (1, [5]), (2, [6]), (0, [8])]
    assert read_tokens(model, *padded(chosen, prompts)) == 4 * 23


def test_models_that_cannot_are_not_made_to_share(model):
    assert can_share(model)
    checkpointed = copy.deepcopy(model)
    checkpointed.gradient_checkpointing_enable()
    checkpointed.train()
    assert not can_share(checkpointed)
    assert can_share(checkpointed.eval())
    sliding = copy.deepcopy(model)
    sliding.config.layer_types = ["full_attention", "sliding_attention"]
    assert not can_share(sliding)
