import gc
import importlib.util
import weakref

import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.engines import engine_maker
from envtune_gym.integrations.graph_engine import GraphEngine
from envtune_gym.integrations.static_engine import StaticCacheEngine

from .helpers import tiny_model


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("auto", TransformersEngine),
        ("transformers", TransformersEngine),
        ("graph", GraphEngine),
        ("static", StaticCacheEngine),
    ],
)
def test_the_name_says_which_engine_it_is(name, kind, model):
    assert type(engine_maker(name)(model, {2}, 1.0)) is kind


def test_players_that_ask_for_the_same_share_an_engine(model, tokenizer):
    make = engine_maker("graph")
    first = make(model, {2}, 1.0)
    assert make(model, [2], 1.0) is first
    assert make(model, {2}, 0.5) is not first
    assert make(tiny_model(tokenizer), {2}, 1.0) is not first
    assert engine_maker("graph")(model, {2}, 1.0) is not first


def test_a_model_that_graphs_cannot_hold_is_refused_only_where_they_are_asked_for(model):
    model.config.layer_types = ["sliding_attention", "full_attention"]
    with pytest.raises(ConfigurationError, match="use the engine 'transformers'"):
        engine_maker("graph")(model, {2}, 1.0)
    assert type(engine_maker("auto")(model, {2}, 1.0)) is TransformersEngine


def test_on_a_gpu_the_first_engine_that_takes_the_model_is_chosen(model, monkeypatch):
    monkeypatch.setattr(type(model), "device", torch.device("cuda"))  # nothing is put there
    assert type(engine_maker("auto")(model, {2}, 1.0)) is GraphEngine
    model.config.layer_types = ["sliding_attention", "full_attention"]
    model.config.sliding_window = 8
    assert type(engine_maker("auto")(model, {2}, 1.0)) is StaticCacheEngine
    monkeypatch.setattr(type(model), "_can_compile_fullgraph", False)
    assert type(engine_maker("auto")(model, {2}, 1.0)) is TransformersEngine
    with pytest.raises(ConfigurationError, match="use the engine 'transformers'"):
        engine_maker("static")(model, {2}, 1.0)


@pytest.mark.parametrize("name", ["graph", "static"])
def test_the_precision_is_the_engines(model, name):
    engine = engine_maker(name, 8, torch.bfloat16)(model, {2}, 1.0)
    assert len(engine.generate([[5, 6]], [3])[0].ids) <= 3
    assert model.dtype == torch.float32


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_vllm_that_is_not_installed_is_named_with_its_remedy_before_there_is_a_model():
    with pytest.raises(ConfigurationError, match="pip install vllm; or use the engine 'auto'"):
        engine_maker("vllm")


def test_a_server_that_nobody_named_is_asked_for():
    with pytest.raises(ConfigurationError, match="needs the server's url and a folder"):
        engine_maker("vllm-server")


def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigurationError, match="unknown engine 'fast'; known: auto"):
        engine_maker("fast")


def test_an_engine_is_gone_before_the_next_one_is_made(model):
    make_engine = engine_maker("graph", 8)
    make_engine(model, {2}, 1.0).generate([[5, 6]], [3])
    first = weakref.ref(make_engine(model, {2}, 1.0))
    gc.disable()  # what goes then goes because it is told to
    try:
        make_engine(model, {2}, 0.0)
    finally:
        gc.enable()
    assert first() is None
