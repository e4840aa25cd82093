r"""How many tokens a second do the generation engines draw? All in one run, on one card, with the same prompts.

Each engine draws `--new-tokens` tokens for each of `--prompts` prompts, which stand in groups of `--group` equal ones
as in GRPO; nothing ends early. With `--turns`, each prompt grows into a conversation: by the reply and by `--added`
tokens of an environment a turn. The first run warms up (kernels, graphs, compilation) and is stated apart; the best of
the other runs counts, prefill included. `graph, forgetful` reads all conversations anew in each turn.

With `--check` nothing is timed. The graph engine plays growing conversations, some of which end, in changing order,
with the weights changed before the last turn; the log-probabilities of its tokens must be as near to those of a plain
forward pass in full precision as those of a plain forward pass in the engine's precision are.

Examples:
  python benchmarks/generation_speed.py --bf16
  python benchmarks/generation_speed.py --bf16 --prompts 256 --shortest 800 --longest 800 --turns 4 --batches 256
  python benchmarks/generation_speed.py --bf16 --check --prompts 64 --group 4 --turns 4
  python benchmarks/generation_speed.py --prompts 4 --group 2 --shortest 20 --longest 40 --new-tokens 4 --batches 4
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from envtune_gym.integrations.engine import TransformersEngine
from envtune_gym.integrations.graph_engine import GraphEngine
from envtune_gym.integrations.models import SMOLLM2, load_model

Run = Callable[[list[list[int]]], list[list[int]]]
"""Draws a reply to each prompt."""

NO_END = -1  # no token ends a reply: every engine draws the same number


def eager_generate(model: Any, new_tokens: int, batch: int, **options: Any) -> Run:
    """Return transformers' own `generate`, left-padded."""

    def run(prompts: list[list[int]]) -> list[list[int]]:
        replies: list[list[int]] = []
        for start in range(0, len(prompts), batch):
            rows = prompts[start : start + batch]
            width = max(map(len, rows))
            ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device=model.device)
            mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=model.device)
            with torch.no_grad():
                output = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    do_sample=True,
                    top_k=0,
                    min_new_tokens=new_tokens,
                    max_new_tokens=new_tokens,
                    **options,
                )
            replies += output[:, width:].tolist()
        return replies

    return run


def with_engine(engine: Any, new_tokens: int, *, forgetful: bool = False) -> Run:
    """Return an engine of this package."""

    def run(prompts: list[list[int]]) -> list[list[int]]:
        if forgetful:
            engine.forget()
        return [reply.ids for reply in engine.generate(prompts, [new_tokens] * len(prompts))]

    return run


def make_prompts(args: argparse.Namespace, vocabulary: int) -> list[list[int]]:
    """Return prompts of random tokens: groups of equal ones, of lengths between the two bounds."""
    rng = random.Random(args.seed)
    prompts: list[list[int]] = []
    for _ in range(args.prompts // args.group):
        length = rng.randint(args.shortest, args.longest)
        prompts += [[rng.randrange(100, vocabulary) for _ in range(length)]] * args.group
    return prompts


def converse(run: Run, prompts: list[list[int]], args: argparse.Namespace) -> int:
    """Let conversations grow by some turns; return the number of tokens drawn."""
    rng = random.Random(args.seed)
    drawn = 0
    for _ in range(args.turns):
        replies = run(prompts)
        drawn += sum(map(len, replies))
        prompts = grown(prompts, replies, args.added, rng)
    return drawn


def grown(prompts: list[list[int]], replies: list[list[int]], added: int, rng: random.Random) -> list[list[int]]:
    """Return conversations with their replies and what an environment might have said to them."""
    return [
        [*prompt, *reply, *(rng.randrange(100, 1000) for _ in range(added))]
        for prompt, reply in zip(prompts, replies, strict=True)
    ]


def measure(run: Run, prompts: list[list[int]], args: argparse.Namespace) -> tuple[float, float]:
    """Return tokens a second, and the seconds that the first run took more than the best."""
    seconds = []
    drawn = 0
    for _ in range(args.repeats + 1):
        began = time.perf_counter()
        drawn = converse(run, prompts, args)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    best = min(seconds[1:])
    return drawn / best, max(0.0, seconds[0] - best)


def runs(args: argparse.Namespace, model: Any) -> list[tuple[str, int, Run]]:
    """Return the engines to compare, each with its batch size."""
    dtype = torch.bfloat16 if args.bf16 else None
    other = model if dtype is None else load_model(args.model)[0].to(model.device, dtype)
    made: list[tuple[str, int, Run]] = []
    for batch in args.batches:
        made.append(("generate", batch, eager_generate(other, args.new_tokens, batch)))
        if args.static:
            static = eager_generate(other, args.new_tokens, batch, cache_implementation="static")
            made.append(("generate, static cache", batch, static))
        made.append(
            ("transformers", batch, with_engine(TransformersEngine(other, {NO_END}, 1.0, batch), args.new_tokens))
        )
        graph = GraphEngine(model, {NO_END}, batch_size=batch, dtype=dtype)
        made.append(("graph", batch, with_engine(graph, args.new_tokens)))
        if args.turns > 1:
            made.append(("graph, forgetful", batch, with_engine(graph, args.new_tokens, forgetful=True)))
    return made


def log_probabilities(model: Any, prompt: list[int], reply: list[int]) -> torch.Tensor:
    """Return those of a reply's tokens, by a plain forward pass over all."""
    ids = torch.tensor([prompt + reply], device=model.device)
    with torch.no_grad():
        logits = model(input_ids=ids, logits_to_keep=len(reply) + 1).logits[0, :-1].float()
    return logits.log_softmax(-1).gather(1, torch.tensor(reply, device=model.device)[:, None])[:, 0].cpu()


def check(args: argparse.Namespace, model: Any, prompts: list[list[int]]) -> None:
    """Hold the graph engine against plain forward passes over growing conversations.

    Raises:
        SystemExit: If its log-probabilities are farther off than its precision explains.
    """
    dtype = torch.bfloat16 if args.bf16 else model.dtype
    engine = GraphEngine(model, {NO_END}, batch_size=args.batches[0], dtype=dtype)
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    wrong = False
    for turn in range(args.turns):
        if turn == args.turns - 1 and turn > 0:
            for parameter in model.parameters():
                parameter.data.mul_(1.02)  # the way of writing that leaves no trace on the parameter
        plain_model = copy.deepcopy(model).to(dtype)
        limits = [rng.randint(1, args.new_tokens) for _ in prompts]
        replies = engine.generate(prompts, limits)
        engine_off, plain_off = [], []
        for prompt, reply in zip(prompts, replies, strict=True):
            exact = log_probabilities(model, prompt, reply.ids)
            engine_off.append((torch.tensor(reply.logprobs) - exact).abs())
            plain_off.append((log_probabilities(plain_model, prompt, reply.ids) - exact).abs())
        mine, plain = torch.cat(engine_off), torch.cat(plain_off)
        within = bool(mine.mean() < 1.5 * plain.mean() + 1e-4) and bool(mine.max() < 2 * plain.max() + 1e-2)
        wrong |= not within
        print(
            f"turn {turn + 1}, {len(prompts)} rows: off by {mine.mean():.5f} on average, {mine.max():.4f} at most; "
            f"plain forward pass {plain.mean():.5f}, {plain.max():.4f}: {'good' if within else 'WRONG'}"
        )
        prompts = grown(prompts, [reply.ids for reply in replies], args.added, rng)
        rng.shuffle(prompts)
        prompts = prompts[: -max(1, len(prompts) // 8)] or prompts
    if wrong:
        raise SystemExit("the graph engine computes something else than the model")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=SMOLLM2, help="a model directory, or the small model")
    parser.add_argument("--prompts", type=int, default=512, help="number of prompts")
    parser.add_argument("--group", type=int, default=16, help="equal prompts that stand together")
    parser.add_argument("--shortest", type=int, default=600, help="tokens of the shortest prompt")
    parser.add_argument("--longest", type=int, default=1500, help="tokens of the longest prompt")
    parser.add_argument("--new-tokens", type=int, default=96, help="tokens drawn for each")
    parser.add_argument("--turns", type=int, default=1, help="replies to each, in a growing conversation")
    parser.add_argument("--added", type=int, default=60, help="tokens that the environment adds in a turn")
    parser.add_argument("--check", action="store_true", help="compare log-probabilities with a plain forward pass")
    parser.add_argument("--batches", type=int, nargs="+", default=[128, 512], help="batch sizes")
    parser.add_argument("--repeats", type=int, default=2, help="runs after the first")
    parser.add_argument("--static", action="store_true", help="also generate() with its compiled static cache")
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16")
    parser.add_argument("--seed", type=int, default=0, help="seed of the prompts")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    args = parser.parse_args(arguments)
    model, _ = load_model(args.model)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    prompts = make_prompts(args, model.config.vocab_size)
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(
        f"{card}, torch {torch.__version__}: {len(prompts)} prompts, {args.turns} turns of {args.new_tokens} new tokens"
    )
    if args.check:
        check(args, model, prompts)
        return
    rows: list[dict[str, Any]] = []
    for name, batch, run in runs(args, model):
        try:
            speed, start_up = measure(run, prompts, args)
        except torch.OutOfMemoryError:
            print(f"{name:24} batch {batch:4}: out of memory")
            torch.cuda.empty_cache()
            continue
        first = next((row["tokens_per_second"] for row in rows if row["engine"] == "generate"), speed)
        rows.append({"engine": name, "batch": batch, "tokens_per_second": speed, "start_up_seconds": start_up})
        print(
            f"{name:24} batch {batch:4}: {speed:9,.0f} tokens/s, {speed / first:5.1f} x generate, "
            f"start-up {start_up:.1f} s"
        )
    if args.out:
        args.out.write_text(
            json.dumps(
                {"device": card, "arguments": {k: str(v) for k, v in vars(args).items()}, "rows": rows}, indent=2
            )
        )


if __name__ == "__main__":
    main()
