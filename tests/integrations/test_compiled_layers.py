import copy
import functools

import pytest

pytest.importorskip("transformers")

import torch

from envtune_gym.integrations.compiled_layers import CompiledLayers
from envtune_gym.integrations.engine import cache_argument
from envtune_gym.integrations.slot_views import ATTENTION, DecodeView, register_attention
from envtune_gym.integrations.slots import Slots

from .helpers import tiny_model


class Counting:
    """Compiles nothing, and counts what it is given."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


def failing(graph, inputs):
    raise OSError("no C compiler\nin a path as long as this")


@pytest.fixture(autouse=True)
def _compiled_anew():
    torch._dynamo.reset()
    register_attention()


@pytest.fixture
def model(tokenizer):
    return copy.deepcopy(tiny_model(tokenizer))


def decode(model, layers, sizes, length=256):
    """Decode a token in so many rows at a time; return what the last layer says, and what the slots hold then."""
    slots = Slots(model, 16, length)
    said = []

    def step():
        view = DecodeView(slots, size, length)
        model.config._attn_implementation = ATTENTION
        output = model.get_decoder()(
            input_ids=view.tokens[:, None],
            position_ids=view.positions[:, None],
            use_cache=True,
            slots=view,
            **{cache_argument(model): view},
        )
        said.append(output.last_hidden_state)

    for size in sizes:
        slots.seat(list(range(size)), [0] * size, [2 + row for row in range(size)], [], size)
        with torch.no_grad():
            step() if layers is None else layers.run(step)
    return said, [one.clone() for one in (*slots.keys, *slots.values)]


def test_one_layer_is_compiled_for_all_of_them_and_for_any_number_of_rows(model):
    backend = Counting()
    expected = decode(model, None, (5, 4, 12, 5))
    compiled = decode(model, CompiledLayers(model, backend), (5, 4, 12, 5))
    assert backend.graphs == 1
    for one, other in zip(expected, compiled, strict=True):
        torch.testing.assert_close(one, other)


def test_other_lengths_are_decoded_too(model):
    layers = CompiledLayers(model, Counting())
    for length in (256, 512, 768, 300):
        expected, compiled = decode(model, None, (5,), length), decode(model, layers, (5,), length)
        torch.testing.assert_close(expected[0], compiled[0])


def test_the_model_is_left_as_it_was(model):
    layers = CompiledLayers(model, Counting())
    decode(model, layers, (5,))
    ids = torch.tensor([[5, 6, 7]])
    model.config._attn_implementation = "sdpa"
    with torch.no_grad():
        assert torch.isfinite(model(ids).logits).all()  # with a cache of its own, which has no slots


def test_layers_keep_the_forward_that_they_had(model):
    first, second = model.get_decoder().layers[:2]
    hooked = second.forward = functools.partial(second.forward)
    layers = CompiledLayers(model, Counting())
    decode(model, layers, (5,))
    assert "forward" not in vars(first)
    assert vars(second)["forward"] is hooked


def test_where_nothing_can_be_compiled_it_goes_on_without(model, caplog):
    layers = CompiledLayers(model, failing)
    expected, slow = decode(model, None, (5, 4)), decode(model, layers, (5, 4))
    for one, other in zip(expected, slow, strict=True):
        torch.testing.assert_close(one, other)
    assert [record.message for record in caplog.records if "without compiled layers" in record.message] != []
    assert sum("without compiled layers" in record.message for record in caplog.records) == 1
    assert "in a path" not in caplog.text


def test_a_full_memory_is_not_taken_for_a_missing_compiler(model):
    layers = CompiledLayers(model, Counting())

    def step():
        raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        layers.run(step)
