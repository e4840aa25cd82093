"""Which engine samples the replies, by name: one is made when it is first wanted, and kept for the whole run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, get_args

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Engine, TransformersEngine
from envtune_gym.integrations.graph_engine import GraphEngine
from envtune_gym.integrations.static_engine import StaticCacheEngine
from envtune_gym.integrations.vllm_engine import VllmEngine, check_vllm

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from envtune_gym.integrations.vllm_server import VllmServer

__all__ = ["EngineName", "MakeEngine", "engine_maker"]

EngineName = Literal["auto", "transformers", "graph", "static", "vllm", "vllm-server"]
"""`auto` is, on a GPU, the first of `graph` and `static` that takes the model, else `transformers`."""

MakeEngine = Callable[["PreTrainedModel", Collection[int], float], Engine]
"""Returns an engine for a model, the tokens that end a reply, and a temperature."""


def engine_maker(
    name: EngineName = "auto",
    batch_size: int = 64,
    dtype: torch.dtype | None = None,
    vllm_server: VllmServer | None = None,
) -> MakeEngine:
    """Return a function that makes an engine, and goes on returning it as long as it is asked for the same.

    An engine may be dear: recorded graphs, a copy of the weights, a server's memory. Players that get the same
    function share it.

    Args:
        name: The engine.
        batch_size: Conversations for which replies are sampled together.
        dtype: What to compute in; None is the model's own.
        vllm_server: Where the server of the engine `vllm-server` is; no other needs it.

    Raises:
        ConfigurationError: If the name is unknown, or vLLM or the server's place is wanted and not there.
    """
    if name not in get_args(EngineName):
        raise ConfigurationError(f"unknown engine {name!r}; known: {', '.join(get_args(EngineName))}")
    if name == "vllm-server" and vllm_server is None:
        raise ConfigurationError("the engine 'vllm-server' needs the server's url and a folder for its weights")
    if name == "vllm":
        check_vllm()  # now, rather than when a model has been loaded for it
    made: Engine | None = None
    made_for: tuple[int, frozenset[int], float] | None = None

    def make_engine(model: PreTrainedModel, end_ids: Collection[int], temperature: float) -> Engine:
        nonlocal made, made_for
        wanted = (id(model), frozenset(end_ids), temperature)
        if made is None or made_for != wanted:
            if made is not None:
                made = None
                gc.collect()  # its memory goes first; an engine and what it has recorded hold each other
            made = _make(name, model, end_ids, temperature, batch_size, dtype, vllm_server)
            made_for = wanted
        return made

    return make_engine


def _make(
    name: EngineName,
    model: PreTrainedModel,
    end_ids: Collection[int],
    temperature: float,
    batch_size: int,
    dtype: torch.dtype | None,
    vllm_server: VllmServer | None,
) -> Engine:
    if vllm_server is not None and name == "vllm-server":
        from envtune_gym.integrations.vllm_server_engine import VllmServerEngine

        return VllmServerEngine(model, vllm_server, end_ids, temperature, batch_size, dtype)
    if name == "vllm":
        return VllmEngine(model, end_ids, temperature, batch_size, dtype)
    if name == "graph":
        return GraphEngine(model, end_ids, temperature, batch_size, dtype)
    if name == "static":
        return StaticCacheEngine(model, end_ids, temperature, batch_size, dtype)
    if name == "auto" and model.device.type == "cuda":
        for engine in (GraphEngine, StaticCacheEngine):
            with suppress(ConfigurationError):
                return engine(model, end_ids, temperature, batch_size, dtype)
    return TransformersEngine(model, end_ids, temperature, batch_size, dtype)
