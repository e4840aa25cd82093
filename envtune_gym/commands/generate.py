"""`envtune tasks generate`: as many tasks as one wants, proven, in a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from envtune_gym.commands.output import Json, examples, percent, print_json, print_line, print_table, progress
from envtune_gym.commands.selection import names
from envtune_gym.tasks import SPLITS, Task, save_jsonl
from envtune_gym.tasks.generated import OTHER_SPLIT, GeneratedSource, source

__all__ = ["EXAMPLES", "generate_command"]

EXAMPLES = examples(
    "envtune tasks generate --count 1000 --out tasks.jsonl",
    "envtune tasks generate --count 200 --domains TravelAPI --difficulty 4 --split test --out travel.jsonl",
    "envtune tasks generate --count 50 --categories long_context --difficulty turns=3,filler=16 --out long.jsonl",
)

_STARTS = 2**31
_CHUNK = 50


def generate_command(
    count: Annotated[int, typer.Option("--count", min=1, metavar="N", help="Number of tasks.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write, one JSON object a line.")],
    domains: Annotated[
        list[str] | None, typer.Option("--domains", metavar="NAMES", help="Tasks that begin with any of these; all.")
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option("--categories", metavar="NAMES", help="Comma-separated; combined ones are joined by +; the four."),
    ] = None,
    difficulty: Annotated[
        list[str] | None,
        typer.Option("--difficulty", metavar="LEVEL", help="A level (1-5) or numbers: turns=4,domains=2; repeatable."),
    ] = None,
    split: Annotated[str, typer.Option("--split", metavar="|".join((*SPLITS, "all")), help="Part of the tasks.")] = (
        "all"
    ),
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Where in the endless stream to begin.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Processes.")] = 1,
    as_json: Json = False,
) -> None:
    """Generate tasks into a file; the same seed gives the same tasks on any machine.

    Each task is proven when it is made: its ground truth succeeds, every argument is said or shown before it is needed,
    every call matters, harmless reads do no harm. What fails is given up, and counted here by reason. The file is
    written whole or not at all; `--tasks FILE` of the other commands, and gym.make(..., tasks=FILE), read it.
    """
    stream = source(names(categories), split, names(domains), difficulty)
    start = 0 if seed == 0 else int(np.random.default_rng(seed).integers(_STARTS))
    discarded: Counter[str] = Counter()
    with progress("tasks", count) as advance:
        made = save_jsonl(_making(stream, range(start, start + count), jobs, discarded, advance), out)
    elsewhere = discarded.pop(OTHER_SPLIT, 0)
    if as_json:
        print_json({"tasks": made, "discarded": dict(discarded.most_common()), "other_split": elsewhere})
        return
    drafts = made + sum(discarded.values())
    rows = [(reason, number, percent(number / drafts)) for reason, number in discarded.most_common()]
    print_table(
        f"Discarded ({percent(sum(discarded.values()) / drafts)} of {drafts:,} drafts)", ("reason", "drafts", ""), rows
    )
    print_line(f"{made:,} tasks written to {out}")


def _making(
    stream: GeneratedSource, indices: range, jobs: int, discarded: Counter[str], advance: Callable[..., None]
) -> Iterator[Task]:
    """Yield the tasks in order, made in some processes."""
    if jobs == 1:
        for index in indices:
            yield stream.make(index, discarded)
            advance()
        return
    chunks = (indices[first : first + _CHUNK] for first in range(0, len(indices), _CHUNK))
    with ProcessPoolExecutor(min(jobs, os.cpu_count() or 1)) as pool:
        # A few chunks ahead of the writer and no more: an endless count must not fill the memory.
        waiting = [pool.submit(_make_chunk, stream, chunk) for chunk in islice(chunks, 4 * jobs)]
        while waiting:
            tasks, given_up = waiting.pop(0).result()
            waiting += [pool.submit(_make_chunk, stream, chunk) for chunk in islice(chunks, 1)]
            discarded.update(given_up)
            for task in tasks:
                yield task
                advance()


def _make_chunk(stream: GeneratedSource, indices: range) -> tuple[list[Task], Counter[str]]:
    """Make the tasks of some indices in a worker process."""
    discarded: Counter[str] = Counter()
    return [stream.make(index, discarded) for index in indices], discarded
