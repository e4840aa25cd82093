import pytest

pytest.importorskip("trl")

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    NemotronConfig,
    OPTConfig,
)

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.graph_engine import GraphEngine
from envtune_gym.integrations.static_engine import StaticCacheEngine

EACH_ENGINE = pytest.mark.parametrize("engine_class", [TransformersEngine, GraphEngine, StaticCacheEngine])
PROMPTS = [[7, 8, 9, 10, 11, 12], [20, 21], [30, 31, 32, 33], [40]]


def teacher_forced(model, prompt, ids, temperature):
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1]
    return (logits / temperature).log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0]


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize("temperature", [1.0, 0.4])
@EACH_ENGINE
def test_log_probabilities_are_those_of_a_forward_pass_over_the_whole(engine_class, model, batch_size, temperature):
    engine = engine_class(model, end_ids={2}, temperature=temperature, batch_size=batch_size)
    for prompt, reply in zip(PROMPTS, engine.generate(PROMPTS, [9, 14, 5, 12]), strict=True):
        assert len(reply.ids) == len(reply.logprobs) > 0
        expected = teacher_forced(model, prompt, reply.ids, temperature)
        torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=1e-4, rtol=0)


@EACH_ENGINE
def test_models_with_absolute_positions_are_not_misled_by_padding(engine_class):
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=64, n_positions=64, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5)
    model = GPT2LMHeadModel(config).eval()
    for prompt, reply in zip(PROMPTS, engine_class(model, {2}).generate(PROMPTS, [8] * 4), strict=True):
        expected = teacher_forced(model, prompt, reply.ids, temperature=1.0)
        torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=1e-4, rtol=0)


@EACH_ENGINE
def test_a_reply_ends_with_its_end_token_or_at_its_own_limit(engine_class, model):
    ends = set(range(0, 200))
    limits = [1, 6, 3, 30]
    replies = [r for _ in range(10) for r in engine_class(model, ends).generate(PROMPTS, limits)]
    for reply, limit in zip(replies, limits * 10, strict=True):
        assert not set(reply.ids[:-1]) & ends
        assert reply.ids[-1] in ends or len(reply.ids) == limit
    assert {len(reply.ids) for reply in replies} > {1, 3}


@pytest.mark.parametrize("temperature", [0.0, 1e-4])
@EACH_ENGINE
def test_at_zero_temperature_decoding_is_greedy(engine_class, model, temperature):
    replies = engine_class(model, {2}, temperature=temperature).generate(PROMPTS, [10] * 4)
    for prompt, reply in zip(PROMPTS, replies, strict=True):
        ids = torch.tensor([prompt])
        greedy = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=10, eos_token_id=2
        )
        assert reply.ids == greedy[0, len(prompt) :].tolist()
        assert reply.logprobs == pytest.approx([0.0] * len(reply.ids), abs=1e-2)


@EACH_ENGINE
def test_a_seed_gives_the_same_replies(engine_class, model):
    engine = engine_class(model, {2})
    torch.manual_seed(3)
    first = engine.generate(PROMPTS, [8] * 4)
    torch.manual_seed(3)
    assert engine.generate(PROMPTS, [8] * 4) == first


@pytest.mark.parametrize("temperature", [0.0, 1e-4])
@EACH_ENGINE
def test_logits_that_are_not_finite_end_their_row_alone(engine_class, model, temperature):
    with torch.no_grad():
        model.model.embed_tokens.weight[31] = torch.nan
    healthy, _, poisoned, other = engine_class(model, {2}, temperature=temperature).generate(PROMPTS, [6] * 4)
    assert poisoned.ids == []
    assert "not finite" in poisoned.error
    assert (healthy.error, other.error) == ("", "")
    assert len(healthy.ids) == 6 or healthy.ids[-1] == 2


@EACH_ENGINE
def test_the_models_mode_is_put_back(engine_class, model):
    model.train()
    engine_class(model, {2}).generate([[5]], [2])
    assert model.training


@pytest.mark.parametrize("options", [{"temperature": -0.1}, {"temperature": float("nan")}, {"batch_size": 0}])
@EACH_ENGINE
def test_bad_options_are_refused(engine_class, model, options):
    with pytest.raises(ConfigurationError):
        engine_class(model, {2}, **options)


def test_a_long_batch_shrinks_and_its_rows_stay_themselves(model):
    prompts, limits = [[5 + n, 6] for n in range(40)], [2] * 30 + [40] * 10
    engines = TransformersEngine, GraphEngine, StaticCacheEngine
    plain, *others = (engine(model, {2}, temperature=1e-4).generate(prompts, limits) for engine in engines)
    for greedy in others:
        assert [reply.ids for reply in greedy] == [reply.ids for reply in plain]


def test_rows_that_share_a_prefix_stay_themselves_while_the_batch_shrinks(model):
    documents = [[7 + n % 31 for n in range(120)], [9 + n % 17 for n in range(90)]]
    prompts = [[*documents[n % 2], 5 + n // 6, 6] for n in range(36)] + [[8, 9], [9, 8]]
    limits = [2 + 40 * (n % 5 == 0) + 9 * (n % 3 == 0) for n in range(38)]
    engine, plain = GraphEngine(model, {2}, temperature=0.0), TransformersEngine(model, {2}, temperature=0.0)
    expected = [reply.ids for reply in plain.generate(prompts, limits)]
    assert [reply.ids for reply in engine.generate(prompts, limits)] == expected


def test_short_batches_after_long_ones_stay_within_their_part_of_the_slots(model):
    engine = GraphEngine(model, {2}, temperature=1e-4, batch_size=8)
    plain = TransformersEngine(model, {2}, temperature=1e-4)
    for prompts, limits in (([[5] * 300, [6] * 20], [8, 8]), ([[7] * 250, [8] * 3], [4, 200])):
        expected = [reply.ids for reply in plain.generate(prompts, limits)]
        assert [reply.ids for reply in engine.generate(prompts, limits)] == expected


def test_prompts_that_are_alike_are_read_once_and_answered_apart(model, monkeypatch):
    engine = GraphEngine(model, {2}, temperature=1.0)
    seen = []
    hidden = engine._hidden
    monkeypatch.setattr(
        engine, "_hidden", lambda ids, *rest, **options: (seen.append(ids.shape), hidden(ids, *rest, **options))[1]
    )
    replies = engine.generate([[7, 8, 9]] * 20, [6] * 20)
    assert seen[0] == (1, 3)
    assert len({tuple(reply.ids) for reply in replies}) > 10


def test_weights_that_have_changed_are_read_again(model):
    engine = GraphEngine(model, {2}, temperature=1e-4, dtype=torch.float64)
    before = engine.generate([[7, 8, 9]], [12])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-1.3)
    assert engine.generate([[7, 8, 9]], [12]) != before
    assert model.dtype == torch.float32


@pytest.mark.parametrize("said", [{"layer_types": ["sliding_attention", "full_attention"]}, {"sliding_window": 8}])
def test_models_that_look_at_a_window_only_are_refused(model, said):
    model.config.update(said)
    with pytest.raises(ConfigurationError, match="use the engine 'transformers'"):
        GraphEngine(model, {2})


def test_models_that_read_pictures_too_are_refused():
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**shape, "vocab_size": 50, "head_dim": 8, "num_key_value_heads": 1, "layer_types": ["full_attention"]}
    config = Gemma3Config(text_config=text, vision_config={**shape, "image_size": 28, "patch_size": 14})
    with pytest.raises(ConfigurationError, match=r"models of text .* use the engine 'transformers'"):
        GraphEngine(Gemma3ForConditionalGeneration(config), {2})


@pytest.mark.parametrize("config", [NemotronConfig, OPTConfig])
def test_models_that_cannot_work_on_slots_are_refused_at_once(config):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 50}
    more = (
        {"ffn_dim": 16, "word_embed_proj_dim": 16}
        if config is OPTConfig
        else {"intermediate_size": 16, "num_key_value_heads": 1}
    )
    made = AutoModelForCausalLM.from_config(config(**sizes, **more, pad_token_id=0, max_position_embeddings=64))
    with pytest.raises(ConfigurationError, match=r"cannot decode .* use the engine 'transformers'"):
        GraphEngine(made, {2})
    assert made.training  # as it was


def test_replies_are_passed_on_while_others_go_on(model):
    torch.manual_seed(0)
    engine = GraphEngine(model, set(), 1.0, 8)
    decoding, seen = [], []
    model.get_decoder().register_forward_pre_hook(lambda *_: decoding.append(len(seen)))
    limits = [2, 40, 1, 60]
    replies = engine.generate([[5, 6], [7], [8, 9], [10]], limits, lambda row, reply: seen.append((row, reply)))
    assert [row for row, _ in seen] in ([0, 2, 1, 3], [2, 0, 1, 3])
    assert all(reply is replies[row] for row, reply in seen)
    assert decoding[-1] >= 2  # steps began after the first had been passed on
