r"""How many tokens a second do the generation engines draw? All in one run, on one card, with the same prompts.

Each engine draws `--new-tokens` tokens for each of `--prompts` prompts, which stand in groups of `--group` equal ones
as in GRPO; nothing ends early. With `--turns`, each prompt grows into a conversation: by the reply and by `--added`
tokens of an environment a turn. Every run has prompts of its own, as long as those of the others, so that no engine
knows them from the run before. The best run after the first counts, prefill included. Start-up is stated apart: the
seconds in which an engine is made, and those that its first run takes more than the best (kernels, graphs,
compilation). What an engine is worth is its speed divided by that of eager `generate` at the same batch size.

Engines: `generate` is transformers' own, `generate-static` the same with its compiled static cache, the others are this
package's; `static` is `generate-static` in few shapes, with log-probabilities, and `graph-forgetful` reads all
conversations anew in each turn. `vllm` is left out where vLLM is missing. `vllm-server` is measured where
`--vllm-server` and `--vllm-weights` say where a `vllm serve` process is; where none answers yet, the line that says so
holds the command that starts one.
The exit code is 1 if a bar is missed or an engine fails.

With `--check` nothing is timed. `graph` and `static`, or what `--engines` says of those that notice changed weights,
play growing conversations, some of which end, in changing order, with the weights changed before the last turn; half of
the replies are gone on from within the call, by engines that do so. Engines are made and sample under a trainer's
autocast. The log-probabilities of all tokens must be as near to those of a plain forward pass in full precision as
those of a plain forward pass in the engine's precision are.

Examples:
  python benchmarks/generation_speed.py --bf16 --out runs/speed
  python benchmarks/generation_speed.py --bf16 --engines generate graph graph-forgetful --prompts 256 --shortest 800 \
    --longest 800 --turns 4 --batches 256
  python benchmarks/generation_speed.py --bf16 --batches 256 --shortest 16 --longest 16 --bars graph=8
  python benchmarks/generation_speed.py --bf16 --vllm-server http://localhost:8000 --vllm-weights /dev/shm/weights
  python benchmarks/generation_speed.py --bf16 --check --prompts 64 --group 4 --turns 4
  python benchmarks/generation_speed.py --bf16 --check --prompts 64 --group 4 --turns 4 --engines graph static vllm
  python benchmarks/generation_speed.py --prompts 4 --group 2 --shortest 20 --longest 40 --new-tokens 4 --batches 4
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from generation_check import check
from generation_engines import engine_makers, grown, load_unending, lowered, make_prompts
from profiling import finish
from speed_report import Columns, device_name, report

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Engine
from envtune_gym.integrations.models import SMOLLM2

Run = Callable[[list[list[int]]], list[list[int]]]
"""Draws a reply to each prompt."""

ENGINES = ("generate", "generate-static", "transformers", "static", "graph", "graph-forgetful", "vllm", "vllm-server")
"""In the order in which they are measured; the first is what the others are compared with."""
DEFAULT_ENGINES = ("generate", "transformers", "static", "graph", "vllm")
CHECKED = ("static", "graph")
"""What `--check` holds against plain forward passes unless it is told."""
CHECKABLE = ("static", "graph", "vllm", "vllm-server")
"""What it can: these notice changed weights. `transformers` computes with the model that it is given."""
BARS = {"graph": 3.0, "vllm": 4.0}
"""How many times as fast as eager `generate` an engine must be."""

COLUMNS: Columns = {
    "engine": ("engine", ""),
    "batch": ("batch", "d"),
    "tokens/s": ("tokens_per_second", ",.0f"),
    "x generate": ("times_generate", ".1f"),
    "made in, s": ("making_seconds", ".1f"),
    "first run, s more": ("first_run_seconds", ".1f"),
}


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


def converse(run: Run, prompts: list[list[int]], args: argparse.Namespace, vocabulary: int) -> int:
    """Let conversations grow by some turns; return the number of tokens drawn."""
    rng = random.Random(args.seed)
    drawn = 0
    for _ in range(args.turns):
        replies = run(prompts)
        drawn += sum(map(len, replies))
        prompts = [
            grown(prompt, reply, args.added, rng, vocabulary) for prompt, reply in zip(prompts, replies, strict=True)
        ]
    return drawn


def makers(args: argparse.Namespace, model: Any, batch: int) -> dict[str, Callable[[], Run]]:
    """Return what makes each way to draw, by its name.

    Args:
        args: The arguments of the command line.
        model: The model in full precision; some engines have their own way to lower it.
        batch: Rows drawn together.
    """
    new_tokens, engines = args.new_tokens, engine_makers(args, model, batch)

    def with_forgetful() -> Run:
        return with_engine(engines["graph"](), new_tokens, forgetful=True)

    return {
        "generate": lambda: eager_generate(lowered(args, model), new_tokens, batch),
        "generate-static": lambda: eager_generate(
            lowered(args, model), new_tokens, batch, cache_implementation="static"
        ),
        "graph-forgetful": with_forgetful,
        **{name: partial(_made, make, new_tokens) for name, make in engines.items()},
    }


def _made(make: Callable[[], Engine], new_tokens: int) -> Run:
    return with_engine(make(), new_tokens)


def measure(make: Callable[[], Run], args: argparse.Namespace, vocabulary: int) -> dict[str, float]:
    """Return tokens a second in the best run, and the seconds of the start-up in its two parts."""
    began = time.perf_counter()
    run = make()
    finish()
    making = time.perf_counter() - began
    seconds = []
    drawn = 0
    for number in range(args.repeats + 1):
        prompts = make_prompts(args, vocabulary, number)
        began = time.perf_counter()
        drawn = converse(run, prompts, args, vocabulary)
        finish()
        seconds.append(time.perf_counter() - began)
    best = min(seconds[1:])
    return {
        "tokens_per_second": drawn / best,
        "making_seconds": making,
        "first_run_seconds": max(0.0, seconds[0] - best),
    }


def with_ratios(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with how many times as fast as eager `generate` at their batch size they are; None: not known."""
    eager = {row["batch"]: row["tokens_per_second"] for row in rows if row["engine"] == ENGINES[0]}
    return [
        {**row, "times_generate": row["tokens_per_second"] / eager[row["batch"]] if row["batch"] in eager else None}
        for row in rows
    ]


def held(rows: Sequence[Mapping[str, Any]], bars: Mapping[str, float]) -> dict[str, bool]:
    """Return for each engine that has a bar and was compared whether it meets it at every batch size."""
    found: dict[str, bool] = {}
    for row in rows:
        name, ratio = row["engine"], row["times_generate"]
        if name in bars and ratio is not None:
            found[name] = found.get(name, True) and ratio >= bars[name]
    return found


def measure_all(args: argparse.Namespace, model: Any) -> tuple[list[dict[str, Any]], int]:
    """Measure the engines one after another; print and write each row at once.

    Returns:
        The rows, and how many engines failed.
    """
    rows: list[dict[str, Any]] = []
    failed = 0
    for batch in args.batches:
        for name in sorted(args.engines, key=ENGINES.index):
            try:
                figures = measure(makers(args, model, batch)[name], args, model.config.vocab_size)
            except ConfigurationError as error:  # vLLM is not installed, or the model is of another kind
                print(f"{name:15} batch {batch:4}: left out: {error}", flush=True)
                continue
            except Exception as error:  # a benchmark of many engines goes on with the next
                failed += 1
                print(f"{name:15} batch {batch:4}: failed: {type(error).__name__}", flush=True)
                traceback.print_exc()
                continue
            finally:
                gc.collect()
                torch.cuda.empty_cache()
            rows = with_ratios([*rows, {"engine": name, "batch": batch, **figures}])
            print(said(rows[-1]), flush=True)
            report(args.out, "generation_speed", args, COLUMNS, rows)
    return rows, failed


def said(row: Mapping[str, Any]) -> str:
    """Return a row as a line."""
    ratio = row["times_generate"]
    return (
        f"{row['engine']:15} batch {row['batch']:4}: {row['tokens_per_second']:9,.0f} tokens/s"
        + ("" if ratio is None else f", {ratio:5.1f} x generate")
        + f", start-up {row['making_seconds']:.1f} + {row['first_run_seconds']:.1f} s"
    )


def bar(text: str) -> tuple[str, float]:
    """Read `engine=times`.

    Raises:
        ValueError: If it is something else.
    """
    name, _, times = text.partition("=")
    if name not in ENGINES:
        raise ValueError(name)
    return name, float(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit code."""
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
    parser.add_argument("--engines", nargs="+", choices=ENGINES, help=f"default: {' '.join(DEFAULT_ENGINES)}")
    parser.add_argument("--vllm-server", metavar="URL", help="measure the server at this address too")
    parser.add_argument("--vllm-weights", metavar="DIR", help="a folder of its own for the weights of that server")
    bars = [f"{name}={times:g}" for name, times in BARS.items()]
    parser.add_argument("--bars", type=bar, nargs="*", default=list(map(bar, bars)), help=f"default: {' '.join(bars)}")
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16")
    parser.add_argument("--seed", type=int, default=0, help="seed of the prompts")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the table and the figures there")
    args = parser.parse_args(arguments)
    args.engines = args.engines or list(CHECKED if args.check else DEFAULT_ENGINES)
    if args.vllm_server and "vllm-server" not in args.engines:
        args.engines = [*args.engines, "vllm-server"]
    if args.check and (others := set(args.engines) - set(CHECKABLE)):
        parser.error(f"--check takes {', '.join(CHECKABLE)}, not {', '.join(sorted(others))}")
    model = load_unending(args.model)
    print(
        f"{device_name()}, torch {torch.__version__}: {args.prompts} prompts, "
        f"{args.turns} turns of {args.new_tokens} new tokens",
        flush=True,
    )
    if args.check:
        good = [check(args, model, name) for name in args.engines]
        return 0 if all(good) else 1
    rows, failed = measure_all(args, model)
    verdicts = held(rows, dict(args.bars))
    for name, times in args.bars:
        verdict = {True: "met", False: "MISSED", None: "not measured"}[verdicts.get(name)]
        print(f"bar: {name} at least {times:g} x generate at every batch size: {verdict}")
    return 0 if all(verdicts.values()) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
