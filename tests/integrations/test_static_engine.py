import gc
import weakref

import pytest

pytest.importorskip("trl")

import torch
from torch._dynamo.utils import counters
from transformers import (
    AutoModelForCausalLM,
    CompileConfig,
    Gemma3TextConfig,
    GenerationConfig,
    GPT2Config,
    MambaConfig,
    MistralConfig,
    Qwen3Config,
    Qwen3MoeConfig,
    T5Config,
    T5ForConditionalGeneration,
)

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.static_engine import StaticCacheEngine

SHAPE = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 4_096,
    "initializer_range": 0.5,
    "bos_token_id": None,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
MIXED = {"layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8}
KINDS = {
    "Qwen3": Qwen3Config(**SHAPE),
    "Qwen3 with experts": Qwen3MoeConfig(**SHAPE, **EXPERTS),
    "Mistral with a window": MistralConfig(**SHAPE, sliding_window=8),
    "Gemma 3 with a window in one layer": Gemma3TextConfig(**SHAPE, **MIXED, sliding_window=8),
}
PROMPTS = [list(range(3, 21)), [20, 21], [30, 31, 32, 33], [40], [5] * 30]
LIMITS = [12, 7, 20, 3, 9]


def made(config):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval()


def compiled(backend="eager"):
    """How to let `generate` compile on the CPU too; with this backend the code is traced, and not translated."""
    config = CompileConfig(backend=backend)
    config._compile_all_devices = True
    return config


def decode_steps(model):
    """Return a list that grows by the shapes of each decode step: rows, tokens, and the length of the cache."""
    steps = []

    def note(_, args, kwargs):
        mask = kwargs["attention_mask"]
        length = (mask["full_attention"] if isinstance(mask, dict) else mask).shape[-1]
        if kwargs["input_ids"].shape[1] == 1:
            steps.append((*kwargs["input_ids"].shape, length))

    model.register_forward_pre_hook(note, with_kwargs=True)
    return steps


def caches(model):
    """Return a list that grows by the cache of each forward pass."""
    seen = []

    def note(_, args, kwargs):
        seen.append(weakref.ref(kwargs.get("cache", kwargs.get("past_key_values"))))

    model.register_forward_pre_hook(note, with_kwargs=True)
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_replies_are_those_of_generate_token_for_token(kind):
    model = made(KINDS[kind])
    engine = StaticCacheEngine(model, {2}, 0.0)
    for _ in range(2):  # in a cache that is new, and in one that is used again
        for prompt, limit, reply in zip(PROMPTS, LIMITS, engine.generate(PROMPTS, LIMITS), strict=True):
            ids = torch.tensor([prompt])
            mask = torch.ones_like(ids)
            plain = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=limit, eos_token_id=2)
            assert reply.ids == plain[0, len(prompt) :].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_those_of_a_forward_pass(kind):
    model = made(KINDS[kind])
    for prompt, reply in zip(PROMPTS, StaticCacheEngine(model, {2}, 0.7).generate(PROMPTS, LIMITS), strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *reply.ids]])).logits[0, len(prompt) - 1 : -1]
        expected = (logits / 0.7).log_softmax(-1).gather(1, torch.tensor(reply.ids)[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=1e-4, rtol=0)


def test_what_the_checkpoint_recommends_is_left_aside_and_put_back(model):
    recommended = GenerationConfig(
        do_sample=True, temperature=0.1, top_k=1, top_p=0.1, repetition_penalty=9.0, eos_token_id=9, suppress_tokens=[7]
    )
    torch.manual_seed(0)
    expected = StaticCacheEngine(model, {2}).generate(PROMPTS, LIMITS)
    model.generation_config = recommended
    torch.manual_seed(0)
    assert StaticCacheEngine(model, {2}).generate(PROMPTS, LIMITS) == expected
    assert model.generation_config is recommended


def test_tokens_are_drawn_from_the_whole_vocabulary(model):
    (reply,) = StaticCacheEngine(model, set(), temperature=1e3).generate([[5, 6]], [100])  # nearly all alike
    with torch.no_grad():
        logits = model(torch.tensor([[5, 6, *reply.ids]])).logits[0, 1:-1]
    ranks = (logits > logits.gather(1, torch.tensor(reply.ids)[:, None])).sum(1)
    assert (ranks > model.config.vocab_size / 2).sum() > 30


@pytest.mark.parametrize(
    ("rows", "longest", "steps", "shape"),
    [
        (1, 5, 4, (8, 256)),
        (8, 5, 4, (8, 256)),
        (9, 200, 56, (12, 256)),
        (12, 200, 57, (12, 384)),
        (13, 385, 4, (16, 512)),
        (20, 513, 4, (20, 768)),
        (21, 5, 4, (8, 256)),  # 20 rows, and 1 of another batch
    ],
)
def test_decode_steps_have_few_shapes(model, rows, longest, steps, shape):
    seen = decode_steps(model)
    prompts = [[5 + row] * (longest - row % 2) for row in range(rows)]
    replies = StaticCacheEngine(model, set(), batch_size=20).generate(prompts, [steps] * rows)
    assert [len(reply.ids) for reply in replies] == [steps] * rows
    assert seen[-1] == (shape[0], 1, shape[1])
    assert len(set(seen)) == len({min(20, rows), rows - 20 if rows > 20 else min(20, rows)})


@pytest.fixture
def count_graphs():
    """Return what makes, for a model, a function that samples and tells for how many graphs was compiled so far."""

    def compare(model):
        engine, plain = (StaticCacheEngine(model, set(), 0.0, compile_config=one) for one in (compiled(), None))

        def sample(rows, longest, steps):
            prompts = [[3 + (7 * row + n) % 60 for n in range(max(1, longest - row % 3))] for row in range(rows)]
            replies = engine.generate(prompts, [steps] * rows)
            assert replies == plain.generate(prompts, [steps] * rows)
            return counters["stats"]["unique_graphs"]

        return sample

    torch._dynamo.reset()
    counters.clear()
    yield compare
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("kind", "most"),
    [("Qwen3", 1), ("Gemma 3 with a window in one layer", 3)],  # a window before it is full, and after
)
def test_batches_of_other_lengths_in_one_shape_are_not_compiled_for_again(count_graphs, kind, most):
    model = made(KINDS[kind])
    graphs = count_graphs(model)
    graphs(3, 5, 6)
    first = graphs(4, 30, 12)
    assert 0 < first <= most
    for rows, longest, steps in [(5, 9, 30), (3, 100, 40), (2, 1, 3)]:
        assert graphs(rows, longest, steps) == first
    alike = StaticCacheEngine(model, set(), 0.0, compile_config=compiled())
    alike.generate([[5, 6, 7]] * 8, [4] * 8)  # nothing is padded: transformers drops the mask
    assert counters["stats"]["unique_graphs"] == first


def test_a_few_shapes_are_compiled_for_and_the_others_share_their_code(count_graphs):
    graphs = count_graphs(made(KINDS["Qwen3"]))
    for shape in [(3, 5, 3), (12, 5, 3), (8, 300, 3)]:
        several = graphs(*shape)
    assert several <= 3
    for shape in [(16, 20, 3), (24, 300, 3), (3, 520, 3), (12, 400, 3), (3, 5, 3)]:
        assert graphs(*shape) == several


def test_what_is_kept_does_not_grow_with_the_steps(model):
    rows, vocabulary = 8, model.config.vocab_size
    found = []

    def count(*_):
        shapes = [tuple(one.shape) for one in gc.get_objects() if type(one) is torch.Tensor]
        found.append(shapes.count((rows, vocabulary)))

    model.register_forward_pre_hook(count)
    StaticCacheEngine(model, set()).generate([[5 + row] for row in range(rows)], [12] * rows)
    assert len(found) == 12
    assert max(found) <= 3  # the names that `generate` has for logits, log-probabilities and probabilities


def test_a_cache_is_used_again_and_those_of_other_shapes_make_room(model):
    seen = caches(model)
    engine = StaticCacheEngine(model, set(), batch_size=16)
    engine.generate([[5]] * 3, [2] * 3)
    first = seen[-1]()
    engine.generate([[5, 6]] * 8, [4] * 8)
    assert seen[-1]() is first
    del first
    largest = 0
    for rows, longest in [(3, 300), (12, 5), (16, 700), (3, 400), (3, 1_000), (12, 1_200), (1, 5), (16, 900)]:
        engine.generate([[5] * longest] * rows, [2] * rows)
        sizes = [rows * length for one in set(seen) if one() for rows, _, length, _ in [one().layers[0].keys.shape]]
        largest = max([largest, *sizes])
        assert sum(sizes) <= 2 * largest


def test_a_row_that_is_not_finite_leaves_nothing_to_those_that_come_after_it(model):
    engine = StaticCacheEngine(model, {2}, 0.0)
    expected = engine.generate(PROMPTS, LIMITS)
    weight = model.model.embed_tokens.weight
    kept = weight[31].clone()
    with torch.no_grad():
        weight[31] = torch.nan
        assert "not finite" in engine.generate([[31, 31, 32]] * 5, LIMITS)[0].error
        weight[31] = kept
    assert engine.generate(PROMPTS, LIMITS) == expected


def test_rows_that_have_ended_are_not_led_past_the_last_position():
    model = made(GPT2Config(vocab_size=64, n_positions=64, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5))
    prompts, limits = [[7] * 60, [8, 9], [10] * 30, [11]], [4, 62, 30, 63]
    expected = TransformersEngine(model, {2}, 0.0).generate(prompts, limits)
    assert StaticCacheEngine(model, {2}, 0.0).generate(prompts, limits) == expected


def test_a_copy_in_another_precision_follows_the_weights_and_is_compiled_for_itself(model):
    StaticCacheEngine(model, {2}, 0.0, compile_config=compiled()).generate(PROMPTS, LIMITS)
    engine = StaticCacheEngine(model, {2}, 0.0, dtype=torch.float64, compile_config=compiled())
    before = engine.generate(PROMPTS, LIMITS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-1.3)
    asked = []
    model.model.embed_tokens.register_forward_hook(lambda *_: asked.append(1))
    after = engine.generate(PROMPTS, LIMITS)
    assert not asked
    assert after != before
    assert after == StaticCacheEngine(model, {2}, 0.0).generate(PROMPTS, LIMITS)
    assert model.dtype == torch.float32


@pytest.mark.parametrize(
    "model",
    [
        lambda: made(MambaConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, state_size=8)),
        lambda: T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1)),
    ],
)
def test_models_that_have_no_static_cache_are_refused_with_the_remedy(model):
    with pytest.raises(ConfigurationError, match=r"with a static cache; use the engine 'transformers'$"):
        StaticCacheEngine(model(), {2})
