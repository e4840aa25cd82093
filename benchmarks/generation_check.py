"""Are the log-probabilities of a generation engine those of the model? What `generation_speed.py --check` asks."""

from __future__ import annotations

import argparse
import copy
import random
from functools import partial
from typing import Any

import torch
from generation_engines import engine_makers, grown, make_prompts

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Continuation, Engine, Generated

__all__ = ["check"]


def log_probabilities(model: Any, prompt: list[int], reply: list[int]) -> torch.Tensor:
    """Return those of a reply's tokens, by a plain forward pass over all."""
    ids = torch.tensor([prompt + reply], device=model.device)
    with torch.no_grad():
        logits = model(input_ids=ids, logits_to_keep=len(reply) + 1).logits[0, :-1].float()
    return logits.log_softmax(-1).gather(1, torch.tensor(reply, device=model.device)[:, None])[:, 0].cpu()


def conversed(
    engine: Engine, prompts: list[list[int]], args: argparse.Namespace, rng: random.Random, vocabulary: int
) -> list[tuple[list[int], Generated]]:
    """Let an engine reply to prompts, and to half of what they grow into at once.

    Returns:
        Prompts and the replies to them, the latest of each conversation in the last places.
    """
    latest = list(prompts)
    passed: list[tuple[list[int], Generated]] = []

    def on_reply(place: int, reply: Generated) -> Continuation | None:
        if rng.random() < 0.5:
            return None
        passed.append((latest[place], reply))
        latest[place] = grown(latest[place], reply.ids, args.added, rng, vocabulary)
        return Continuation(latest[place], rng.randint(1, args.new_tokens))

    replies = engine.generate(prompts, [rng.randint(1, args.new_tokens) for _ in prompts], on_reply)
    return [*passed, *zip(latest, replies, strict=True)]


def check(args: argparse.Namespace, model: Any, name: str) -> bool:
    """Hold an engine against plain forward passes over growing conversations.

    Args:
        args: The arguments of the command line.
        model: The model; its weights are changed.
        name: The engine, one of this package that knows when weights change.

    Returns:
        Whether its log-probabilities are no farther off than its precision explains.
    """
    dtype = torch.bfloat16 if args.bf16 else model.dtype
    as_a_trainer_samples = partial(torch.autocast, model.device.type, torch.bfloat16, enabled=args.bf16)
    try:
        with as_a_trainer_samples():
            engine = engine_makers(args, model, args.batches[0])[name]()
    except ConfigurationError as error:
        print(f"{name} cannot be checked: {error}")
        return False
    prompts = make_prompts(args, model.config.vocab_size)
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    wrong = False
    for turn in range(args.turns):
        if turn == args.turns - 1 and turn > 0:
            for parameter in model.parameters():
                parameter.data.mul_(1.02)  # the way of writing that leaves no trace on the parameter
        plain_model = copy.deepcopy(model).to(dtype)
        with as_a_trainer_samples():
            replied = conversed(engine, prompts, args, rng, model.config.vocab_size)
        engine_off, plain_off = [], []
        for prompt, reply in replied:
            exact = log_probabilities(model, prompt, reply.ids)
            engine_off.append((torch.tensor(reply.logprobs) - exact).abs())
            plain_off.append((log_probabilities(plain_model, prompt, reply.ids) - exact).abs())
        mine, plain = torch.cat(engine_off), torch.cat(plain_off)
        within = bool(mine.mean() < 1.5 * plain.mean() + 1e-4) and bool(mine.max() < 2 * plain.max() + 1e-2)
        wrong |= not within
        print(
            f"{name}, turn {turn + 1}, {len(prompts)} rows, {len(replied)} replies: off by {mine.mean():.5f} on "
            f"average, {mine.max():.4f} at most; plain forward pass {plain.mean():.5f}, {plain.max():.4f}: "
            f"{'good' if within else 'WRONG'}"
        )
        prompts = [
            grown(prompt, reply.ids, args.added, rng, model.config.vocab_size)
            for prompt, reply in replied[-len(prompts) :]
        ]
        rng.shuffle(prompts)
        prompts = prompts[: -max(1, len(prompts) // 8)] or prompts
    return not wrong
