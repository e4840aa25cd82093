import random

import pytest

pytest.importorskip("trl")

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from envtune_gym.integrations.graph_engine import GraphEngine
from envtune_gym.integrations.kept_slots import KeptSlots, pack_tokens, weights_mark

from .helpers import tiny_model

VOCABULARY = 200


class Counter:
    """Counts the tokens that go through a model's layers, decoding apart from reading."""

    def __init__(self, model):
        self.read = 0
        model.get_decoder().register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, module, args, kwargs):
        ids = kwargs["input_ids"]
        self.read += ids.shape[1] if len(ids) == 1 else 0

    def take(self):
        read, self.read = self.read, 0
        return read


def some(rng, number):
    return [rng.randrange(5, VOCABULARY) for _ in range(number)]


def grown(rows, replies, rng, most=30):
    return [[*row, *reply.ids, *some(rng, rng.randint(1, most))] for row, reply in zip(rows, replies, strict=True)]


def sampled(engine, prompts, limits, seed=5):
    torch.manual_seed(seed)
    return engine.generate(prompts, limits)


def claim(kept, prompts):
    return kept.claim(list(map(pack_tokens, prompts)))


def assert_same(replies, others):
    assert [reply.ids for reply in replies] == [other.ids for other in others]
    for reply, other in zip(replies, others, strict=True):
        torch.testing.assert_close(torch.tensor(reply.logprobs), torch.tensor(other.logprobs), atol=1e-4, rtol=0)


@pytest.mark.parametrize("options", [{}, {"prefill_tokens": 40}, {"dtype": torch.float64}])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_growing_conversations_get_the_replies_of_an_engine_that_reads_all(model, temperature, options):
    rng = random.Random(1)
    engine = GraphEngine(model, {2}, temperature, batch_size=12, **options)
    rows = [prompt for length in (60, 45, 70) for prompt in [some(rng, length)] * 4]
    for turn in range(5):
        limits = [rng.randint(1, 40) for _ in rows]
        replies = sampled(engine, rows, limits)
        assert_same(replies, sampled(GraphEngine(model, {2}, temperature, batch_size=12), rows, limits))
        rows = grown(rows, replies, rng)
        rng.shuffle(rows)
        del rows[9 - turn :]  # some end, others go on
    assert max(map(len, rows)) > 100


def test_models_with_absolute_positions_stay_within_them():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=64, n_positions=40, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5)
    model = GPT2LMHeadModel(config).eval()
    engine = GraphEngine(model, {63})
    rows = [[7] * 20, [8] * 3]
    for limits in ([1, 8], [2, 28]):
        replies = sampled(engine, rows, limits)
        assert_same(replies, sampled(GraphEngine(model, {63}), rows, limits))
        rows = [[*row, *reply.ids, 9] for row, reply in zip(rows, replies, strict=True)]


def test_only_what_is_new_is_read(model):
    rng = random.Random(2)
    engine = GraphEngine(model, set(), batch_size=8)
    counter = Counter(model)
    first, second = some(rng, 90), some(rng, 80)
    rows = [first] * 4 + [second] * 4
    replies = engine.generate(rows, [6] * 8)
    assert counter.take() == 90 + 80
    for _ in range(3):
        longer = grown(rows, replies, rng, most=9)
        new = sum(len(after) - len(before) for before, after in zip(rows, longer, strict=True))
        rng.shuffle(longer)
        replies = engine.generate(longer, [6] * 8)
        already = 5  # all of the reply but its last token
        assert counter.take() == new - already * 8
        rows = longer


def test_rows_that_stay_alike_are_read_once_in_each_call(model):
    engine = GraphEngine(model, set(), temperature=0.0, batch_size=8)
    counter = Counter(model)
    rows = [[7, 8, 9, 10]] * 6
    replies = engine.generate(rows, [5] * 6)
    assert counter.take() == 4
    rows = [[*row, *reply.ids, 11, 12] for row, reply in zip(rows, replies, strict=True)]
    replies = engine.generate(rows, [5] * 6)
    assert counter.take() == 3
    assert_same(replies, GraphEngine(model, set(), temperature=0.0).generate(rows, [5] * 6))


def test_a_prompt_that_comes_again_is_read_to_its_last_token_at_least(model):
    engine = GraphEngine(model, set(), batch_size=8)
    counter = Counter(model)
    first = sampled(engine, [[7, 8, 9, 10]], [1])
    counter.take()
    assert_same(sampled(engine, [[7, 8, 9, 10]], [1]), first)
    assert counter.take() == 1


@pytest.mark.parametrize(
    "prompts",
    [
        [[7, 8, 9]],  # less than what is kept
        [[7, 8, 9, 10, 99, 12, 13, 14, 15, 16]],  # another token
        [[8, 9, 10, 11, 12, 13, 14, 15, 16]],  # moved by one
    ],
)
def test_rows_that_do_not_extend_what_is_kept_are_read_whole(model, prompts):
    engine = GraphEngine(model, set())
    counter = Counter(model)
    engine.generate([[7, 8, 9, 10, 11, 12]], [4])
    counter.take()
    replies = sampled(engine, prompts, [6])
    assert counter.take() == len(prompts[0])
    assert_same(replies, sampled(GraphEngine(model, set()), prompts, [6]))


def optimised(**options):
    def update(model):
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        torch.optim.AdamW(model.parameters(), lr=0.3, **options).step()

    return update


def written_beside_autograd(model):
    for parameter in model.parameters():
        parameter.data.mul_(-1.3)


def replaced(model):
    for parameter in model.parameters():
        parameter.data = parameter.data * -1.3


def loaded(model):
    model.load_state_dict({name: value * -1.3 for name, value in model.state_dict().items()})


def one_weight(model):
    with torch.no_grad():
        model.model.layers[0].self_attn.k_proj.weight[3, 3] += 1e-4


UPDATES = [optimised(foreach=True), optimised(fused=True), written_beside_autograd, replaced, loaded, one_weight]


@pytest.mark.parametrize("dtype", [None, torch.float64])
@pytest.mark.parametrize("update", UPDATES)
def test_after_any_change_of_weights_all_is_read_again(tokenizer, update, dtype):
    model, other = tiny_model(tokenizer), tiny_model(tokenizer)
    engine = GraphEngine(model, set(), dtype=dtype)
    counter = Counter(engine._model)
    rows = [[7, 8, 9, 10, 11], [20, 21, 22]]
    replies = engine.generate(rows, [8, 8])
    rows = [[*row, *reply.ids, 30] for row, reply in zip(rows, replies, strict=True)]
    counter.take()
    for each in (model, other):
        update(each)
    replies = sampled(engine, rows, [8, 8])
    assert counter.take() == sum(map(len, rows))
    assert_same(replies, sampled(GraphEngine(other, set(), dtype=dtype), rows, [8, 8]))


def test_what_weights_do_not_show_is_forgotten_on_request(model):
    engine = GraphEngine(model, set())
    replies = engine.generate([[7, 8, 9]], [4])
    rows = [[7, 8, 9, *replies[0].ids, 12]]
    counter = Counter(model)
    engine.forget()
    engine.generate(rows, [4])
    assert counter.take() == len(rows[0])


def test_other_calls_in_between_do_no_harm_to_what_is_kept(model):
    rng = random.Random(3)
    engine = GraphEngine(model, set(), temperature=0.0, batch_size=8)
    long = [some(rng, 400), some(rng, 300)]
    replies = engine.generate(long, [20, 20])
    engine.generate([some(rng, 10)], [230])  # most places have no row, under a short graph
    counter = Counter(model)
    long = grown(long, replies, rng, most=5)
    replies = engine.generate(long, [300, 20])  # and longer slots than before
    assert counter.take() <= 2 * 6
    assert_same(replies, GraphEngine(model, set(), temperature=0.0).generate(long, [300, 20]))


def test_more_rows_than_a_batch_are_answered_as_ever(model):
    rng = random.Random(4)
    engine = GraphEngine(model, {2}, temperature=0.0, batch_size=8)
    rows = [some(rng, rng.randint(5, 40)) for _ in range(21)]
    for _ in range(3):
        replies = engine.generate(rows, [12] * len(rows))
        assert_same(replies, GraphEngine(model, {2}, temperature=0.0).generate(rows, [12] * len(rows)))
        rows = grown(rows, replies, rng)


def test_a_row_that_is_not_finite_does_no_harm_to_the_next_one_in_its_slot(model):
    with torch.no_grad():
        model.model.embed_tokens.weight[31] = torch.nan
    engine = GraphEngine(model, set(), temperature=0.0, batch_size=1)
    for tokens in (9, 40):
        broken = engine.generate([[7] * tokens + [31] * 3 + [8] * 3] * 8, [5] * 8)
        assert all("not finite" in reply.error for reply in broken)
    healthy = engine.generate([[7, 8, 9]] * 8, [5] * 8)
    assert all(reply.error == "" and len(reply.ids) == 5 for reply in healthy)


def test_a_call_that_was_broken_off_leaves_nothing_that_others_would_trust(model):
    engine = GraphEngine(model, set(), temperature=0.0)
    rows = [[7, 8, 9, 10], [20, 21, 22]]
    replies = engine.generate(rows, [4, 4])
    rows = [[*row, *reply.ids, 30] for row, reply in zip(rows, replies, strict=True)]
    passes = iter(range(100))

    def fail(module, args):
        if next(passes) == 3:
            raise KeyboardInterrupt

    hook = model.get_decoder().register_forward_pre_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        engine.generate([[*row, 99] for row in rows], [40, 40])
    hook.remove()
    assert_same(engine.generate(rows, [9, 9]), GraphEngine(model, set(), temperature=0.0).generate(rows, [9, 9]))


def test_slots_are_shared_out_once_each_the_fullest_fitting_one_first():
    kept = KeptSlots(4)
    assert [seat.slot for seat in claim(kept, [[1, 2], [1, 2, 3]])] == [0, 1]
    kept.keep(0, pack_tokens([1, 2]))
    kept.keep(1, pack_tokens([1, 2, 3]))
    longest, new, other = claim(kept, [[1, 2, 3, 4], [5], [1, 2, 9]])
    assert (longest.slot, longest.known) == (1, 3)
    assert (other.slot, other.known) == (0, 2)
    assert (new.slot, new.known) == (2, 0)


def test_slots_that_were_not_used_for_longest_are_given_away_first():
    kept = KeptSlots(2)
    for slot, seat in enumerate(claim(kept, [[1], [2]])):
        kept.keep(seat.slot, pack_tokens([slot + 1]))
    kept.keep(claim(kept, [[1, 1]])[0].slot, pack_tokens([1, 1]))
    assert claim(kept, [[3]])[0].slot == 1
    assert claim(kept, [[1, 1, 1]])[0].known == 2


def test_the_mark_shows_changes_that_leave_the_sum_as_it_was(model):
    before = weights_mark(model)
    assert weights_mark(model) == before
    with torch.no_grad():
        weight = model.model.layers[0].mlp.up_proj.weight
        weight[0, 0] += 0.25
        weight[0, 1] -= 0.25
    assert weights_mark(model) != before
