"""What the measuring and the checking of generation engines have in common: the engines, and conversations for them."""

from __future__ import annotations

import argparse
import copy
import random
from collections.abc import Callable
from typing import Any

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Engine, TransformersEngine
from envtune_gym.integrations.graph_engine import GraphEngine
from envtune_gym.integrations.models import load_model
from envtune_gym.integrations.static_engine import StaticCacheEngine
from envtune_gym.integrations.vllm_engine import VllmEngine
from envtune_gym.integrations.vllm_server import VllmServer
from envtune_gym.integrations.vllm_server_engine import VllmServerEngine

__all__ = ["engine_makers", "grown", "load_unending", "lowered", "make_prompts"]

NO_END: frozenset[int] = frozenset()  # no token ends a reply: every engine draws the same number
FIRST_TOKEN = 100  # what is below may be special


def load_unending(name: str) -> Any:
    """Load a model for which no token ends a reply."""
    model, _ = load_model(name)
    model.config.eos_token_id = model.generation_config.eos_token_id = None
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def engine_makers(args: argparse.Namespace, model: Any, batch: int) -> dict[str, Callable[[], Engine]]:
    """Return what makes each engine of this package, which draws until nothing ends, by its name."""
    dtype = torch.bfloat16 if args.bf16 else model.dtype
    return {
        "transformers": lambda: TransformersEngine(lowered(args, model), NO_END, 1.0, batch),
        "static": lambda: StaticCacheEngine(model, NO_END, 1.0, batch, dtype),
        "graph": lambda: GraphEngine(model, NO_END, 1.0, batch, dtype),
        "vllm": lambda: VllmEngine(model, NO_END, 1.0, batch, dtype),
        "vllm-server": lambda: VllmServerEngine(model, server_place(args), NO_END, 1.0, batch, dtype),
    }


def lowered(args: argparse.Namespace, model: Any) -> Any:
    """Return the model in the precision of the command line; a copy, if that is not its own."""
    return copy.deepcopy(model).to(torch.bfloat16) if args.bf16 else model


def server_place(args: argparse.Namespace) -> VllmServer:
    """Return where the command line says that a server is.

    Raises:
        ConfigurationError: If it does not say it.
    """
    if not args.vllm_server or not args.vllm_weights:
        raise ConfigurationError("the engine 'vllm-server' needs --vllm-server URL and --vllm-weights DIR")
    return VllmServer(args.vllm_server, args.vllm_weights)


def make_prompts(args: argparse.Namespace, vocabulary: int, run: int = 0) -> list[list[int]]:
    """Return prompts of random tokens: groups of equal ones, of lengths between the two bounds.

    Args:
        args: The arguments of the command line.
        vocabulary: Number of tokens.
        run: Prompts of other runs have the same lengths, and other tokens.
    """
    lengths, tokens = random.Random(args.seed), random.Random(f"{args.seed} {run}")
    prompts: list[list[int]] = []
    for _ in range(args.prompts // args.group):
        length = lengths.randint(args.shortest, args.longest)
        prompts += [[tokens.randrange(FIRST_TOKEN, vocabulary) for _ in range(length)]] * args.group
    return prompts


def grown(prompt: list[int], reply: list[int], added: int, rng: random.Random, vocabulary: int) -> list[int]:
    """Return a conversation with a reply and what an environment might have said to it."""
    return [*prompt, *reply, *(rng.randrange(FIRST_TOKEN, vocabulary) for _ in range(added))]
