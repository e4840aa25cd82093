import copy

import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    NemotronConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
)
from trl.trainer.utils import add_fused_lm_head

from envtune_gym.training.scoring import can_pack, score_packed, score_plainly

KEEP = 6
token = st.integers(1, 30)
rows = st.lists(st.tuples(st.integers(0, 2), st.lists(token, max_size=KEEP)), min_size=1, max_size=8)
three_prompts = st.lists(st.lists(token, min_size=1, max_size=5), min_size=3, max_size=3)

SHAPE = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.5,  # so that distributions differ
    "bos_token_id": 1,
    "eos_token_id": 2,
}
CONFIGS = {
    "Llama": LlamaConfig(**SHAPE),
    "Qwen2": Qwen2Config(**SHAPE),
    "Qwen3": Qwen3Config(**SHAPE, head_dim=12),
    "Qwen3 with experts": Qwen3MoeConfig(**SHAPE, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16),
    "Nemotron": NemotronConfig(**{**SHAPE, "initializer_range": 0.2}),  # hands nothing down to its attention
    "GPT-2": GPT2Config(
        vocab_size=32,
        n_positions=200,
        n_embd=16,
        n_layer=2,
        n_head=2,
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=2,
    ),
}


def made(name):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS[name]).eval()
    with torch.no_grad():  # biases begin as zeros
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) / 4)
    add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    return model


@pytest.fixture(scope="module")
def model():
    return made("Llama")


def padded(chosen, prompts, keep=KEEP):
    """Rows as TRL pads them: prompts on the left, completions on the right."""
    taken = [(prompts[which], completion) for which, completion in chosen]
    width = max(len(prompt) for prompt, _ in taken)
    ids = [[0] * (width - len(p)) + p + c + [0] * (keep - len(c)) for p, c in taken]
    mask = [[0] * (width - len(p)) + [1] * (len(p) + len(c)) + [0] * (keep - len(c)) for p, c in taken]
    return torch.tensor(ids), torch.tensor(mask)


def one_by_one(model, chosen, prompts):
    """Log-probabilities and entropies in plain torch, a row at a time, without padding."""
    logps, entropies = torch.zeros(len(chosen), KEEP), torch.zeros(len(chosen), KEEP)
    for row, (which, completion) in enumerate(chosen):
        prompt = prompts[which]
        logits = model(input_ids=torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1].float() / 0.7
        chances = logits.log_softmax(-1)
        length = len(completion)
        logps[row, :length] = chances.gather(1, torch.tensor(completion, dtype=torch.long)[:, None])[:, 0]
        entropies[row, :length] = -(chances.exp() * chances).sum(-1)
    return logps, entropies


@settings(max_examples=60, deadline=None)
@given(rows, three_prompts)
def test_scores_are_those_of_rows_scored_one_by_one(model, chosen, prompts):
    ids, mask = padded(chosen, prompts)
    present = mask[:, -KEEP:].bool()
    with torch.no_grad():
        expected = one_by_one(model, chosen, prompts)
        for scores in (score_plainly(model, ids, mask, KEEP), score_packed(model, model, ids, mask, KEEP)):
            for score, right in zip(scores, expected, strict=True):
                torch.testing.assert_close(score[present], right[present], atol=1e-4, rtol=1e-4)


LENGTHS = [(0, 3), (1, 0), (2, 40), (0, 5), (0, 1), (2, 6), (2, 33), (1, 2), (3, 0), (0, 9), (2, 12), (4, 7)]


@pytest.mark.parametrize("name", CONFIGS)
def test_scores_and_gradients_are_those_of_rows_scored_plainly(name):
    model = made(name)
    generator = torch.Generator().manual_seed(1)

    def drawn(length):
        return torch.randint(1, 30, (length,), generator=generator).tolist()

    prompts = [drawn(length) for length in (5, 40, 70, 9, 2)]
    ids, mask = padded([(which, drawn(length)) for which, length in LENGTHS], prompts, keep=40)
    present = mask[:, -40:].bool()
    weights = torch.randn(2, len(ids), 40, generator=generator) * present
    found = []
    for score in (score_plainly, lambda model, *rest: score_packed(model, model, *rest)):
        model.zero_grad()
        scores = score(model, ids, mask, 40)
        torch.autograd.backward(scores, [weights[0], torch.zeros_like(weights[1])])
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        found.append((scores[0][present], scores[1][present], gradients))
    torch.testing.assert_close(found[1][:2], found[0][:2], atol=5e-5, rtol=1e-5)
    assert found[1][2].keys() == found[0][2].keys()
    for parameter, gradient in found[0][2].items():
        torch.testing.assert_close(found[1][2][parameter], gradient, atol=2e-4, rtol=1e-3, msg=parameter)


def test_a_model_attends_as_usual_afterwards(model):
    ids, mask = padded([(0, [3, 4]), (0, [5])], [[6, 7, 8]])
    usual = model.config._attn_implementation
    with torch.no_grad():
        expected = model(input_ids=ids).logits
        score_packed(model, model, ids, mask, KEEP)
        assert torch.equal(model(input_ids=ids).logits, expected)
    with pytest.raises(RuntimeError, match="broken"):
        score_packed(broken, model, ids, mask, KEEP)
    assert model.config._attn_implementation == usual


def broken(**_):
    raise RuntimeError("broken")


def read_tokens(model, ids, mask):
    """The tokens of each pass through the model."""
    seen = []
    handle = model.get_input_embeddings().register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].numel()))
    with torch.no_grad():
        score_packed(model, model, ids, mask, KEEP)
    handle.remove()
    return seen


def test_a_prompt_is_read_once_for_all_rows_of_its_group(model):
    prompts = [list(range(1, 21)), list(range(11, 26))]
    chosen = [(row % 2, [5, 6, 7]) for row in range(8)]
    assert read_tokens(model, *padded(chosen, prompts)) == [19 + 14 + 8 * 3]


def test_padding_and_rows_without_completion_are_not_read(model):
    prompts = [list(range(1, 21)), list(range(11, 31)), [7] * 10]
    chosen = [(0, [5, 6, 7]), (1, []), (2, [6]), (0, [8])]
    assert read_tokens(model, *padded(chosen, prompts)) == [19 + 9 + 3 + 1 + 1]


def test_where_there_is_nothing_to_pack_rows_are_read_as_they_are(model):
    assert read_tokens(model, *padded([(0, []), (0, [])], [[5, 6]])) == [2 * 2]
    assert read_tokens(model, *padded([(0, [3, 4]), (0, [7])], [[5]])) == [2 * 3]


def test_rows_without_completions_have_a_loss_to_start_from(model):
    ids, mask = padded([(0, []), (1, [])], [[5, 6], [7]])
    score_packed(model, model, ids, mask, KEEP)[0].sum().backward()


def test_rows_of_a_model_with_adapters_are_packed(model):
    peft = pytest.importorskip("peft")
    generator = torch.Generator().manual_seed(2)
    adapters = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    wrapped = peft.get_peft_model(copy.deepcopy(made("Llama")), adapters)
    ids, mask = padded([(0, [3, 4, 5]), (1, [6]), (0, [7, 8, 9, 10])], [[20, 21, 22, 23], [24, 25]])
    weights = torch.randn(3, KEEP, generator=generator) * mask[:, -KEEP:]
    gradients = []
    for score in (score_plainly, lambda model, *rest: score_packed(model, model.get_base_model(), *rest)):
        wrapped.zero_grad()
        (weights * score(wrapped, ids, mask, KEEP)[0]).sum().backward()
        gradients.append([p.grad.clone() for p in wrapped.parameters() if p.requires_grad])
    assert len(gradients[0]) == 8
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-4, rtol=1e-4)


def test_models_that_cannot_are_not_made_to_pack(model):
    assert can_pack(model)
    checkpointed = copy.deepcopy(model)
    checkpointed.gradient_checkpointing_enable()
    checkpointed.train()
    assert not can_pack(checkpointed)
    assert can_pack(checkpointed.eval())
    sliding = copy.deepcopy(model)
    sliding.config.layer_types = ["full_attention", "sliding_attention"]
    assert not can_pack(sliding)
    capped = copy.deepcopy(model)
    capped.config.attn_logit_softcapping = 50.0
    assert not can_pack(capped)
    dropping = copy.deepcopy(model)
    dropping.config.attention_dropout = 0.1
    assert can_pack(dropping)
    assert not can_pack(dropping.train())


def test_a_model_that_weighs_a_key_which_is_not_there_is_not_made_to_pack():
    from transformers import GptOssConfig

    layers = {"layer_types": ["full_attention"] * 2, "num_local_experts": 2, "num_experts_per_tok": 1}
    assert not can_pack(AutoModelForCausalLM.from_config(GptOssConfig(**SHAPE, **layers, head_dim=4)))


def test_a_model_with_attention_of_its_own_is_not_made_to_pack():
    from transformers import BloomConfig, BloomForCausalLM

    assert not can_pack(BloomForCausalLM(BloomConfig(vocab_size=32, hidden_size=16, n_layer=1, n_head=2)))
