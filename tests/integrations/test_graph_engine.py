import itertools
import random

import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.integrations.engine import Continuation, TransformersEngine
from envtune_gym.integrations.graph_engine import GraphEngine

from .conversations import Conversations, some


def groups(rng, number, size):
    """Prompts in groups of equal ones, all with the same beginning."""
    common = some(rng, 80)
    return [prompt for _ in range(number) for prompt in [[*common, *some(rng, rng.randint(3, 90))]] * size]


@pytest.mark.parametrize("batch_size", [5, 24])
@pytest.mark.parametrize("seed", range(6))
def test_conversations_that_do_not_wait_for_each_other_get_the_replies_that_they_get_alone(model, seed, batch_size):
    rng = random.Random(seed)
    prompts = groups(rng, 4, 6)
    turns = [rng.randint(1, 7) for _ in prompts]
    model.double()  # in single precision the best two tokens are sometimes too near
    engine = GraphEngine(model, {2, *range(150, 170)}, 0.0, batch_size)
    plain = TransformersEngine(model, {2, *range(150, 170)}, 0.0)
    expected = Conversations(prompts, turns, seed).play(plain)
    for _ in range(2):  # with nothing kept, and with what the first time has left
        assert Conversations(prompts, turns, seed).play(engine) == expected
    assert {len(replies) for replies in expected} >= {1, 4, 6}


def test_one_call_is_enough_for_whole_conversations(model):
    conversations = Conversations(groups(random.Random(1), 2, 4), [5] * 8, 1)
    conversations.play(GraphEngine(model, {2}, 0.0, 8))
    assert conversations.calls == 1


def test_steps_are_for_as_many_rows_as_go_on(model):
    sizes = []

    def note(_, args, kwargs):
        sizes.append(len(kwargs["input_ids"]))

    model.get_decoder().register_forward_pre_hook(note, with_kwargs=True)
    limits = [2] * 30 + [40] * 10
    GraphEngine(model, set(), 0.0).generate([[5 + row, 6] for row in range(40)], limits)
    assert [size for size, _ in itertools.groupby(sizes)] == [1, 64, 16]


def test_a_short_conversation_does_not_wait_for_a_long_reply(model):
    order = []

    def on_reply(row, reply):
        order.append(row)
        return Continuation([9, *reply.ids, 7] * len(order), 3) if row == 1 and len(order) < 4 else None

    GraphEngine(model, set(), 0.0).generate([[5, 6, 7], [9]], [150, 3], on_reply)
    assert order == [1, 1, 1, 1, 0]


def test_a_conversation_that_cannot_go_on_leaves_the_others_alone(model):
    with torch.no_grad():
        model.model.embed_tokens.weight[31] = torch.nan

    def play(engine, added):
        conversations = Conversations([[5, 6], [7, 8], [9, 10]], [3, 3, 3], 0)
        conversations.added[1][1] = added
        replies = conversations.play(engine)
        return replies, [reply.error for replies in conversations.replies for reply in replies]

    engine = GraphEngine(model, set(), 0.0)
    (one, broken, other), errors = play(engine, [31])
    assert broken[1] == []
    assert [bool(error) for error in errors] == [False, False, False, False, True, False, False, False]
    (same, whole, alike), _ = play(engine, [32])
    assert (one, other) == (same, alike)
    assert whole[1] != []


def test_what_a_conversation_goes_on_with_need_not_extend_it(model):
    engine, plain = GraphEngine(model, set(), 0.0, 8), TransformersEngine(model, set(), 0.0)
    others = [[5, 6, 7, 8] * 40] * 4 + [[40 + row] for row in range(3)]
    longer = [[11, 12, 13] * 90, [12] * 400]  # longer than the slots are by then
    new = iter(longer)

    def on_reply(row, reply):
        prompt = next(new, None) if row == 7 else None
        return Continuation(prompt, 12) if prompt else None

    *replies, last = engine.generate([*others, [3]], [60] * 7 + [2], on_reply)
    assert [reply.ids for reply in replies] == [reply.ids for reply in plain.generate(others, [60] * 7)]
    assert last.ids == plain.generate([longer[-1]], [12])[0].ids


def test_on_a_cpu_the_device_stands_still_for_all_that_is_done_with_replies(model, monkeypatch):
    seconds = iter(range(10_000))
    monkeypatch.setattr("envtune_gym.integrations.idle_time.time.monotonic", lambda: next(seconds))
    engine = GraphEngine(model, set(), 0.0)
    engine.generate([[5, 6], [7]], [40, 2], lambda row, reply: [next(seconds) for _ in range(50)] and None)
    assert 100 <= engine.idle_seconds < 120
