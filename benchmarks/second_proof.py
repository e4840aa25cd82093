"""The second proof: generated tasks are fair by the official backends and checker too.

    python benchmarks/second_proof.py --count 100000 --jobs 2

What it asserts of a task, and how, stands in `official_proof`; this is the command around it.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from official_proof import CHECKS, Fault, check_task
from official_worlds import use_utc

from envtune_gym import TaskSet, load_tasks
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_table, progress
from envtune_gym.errors import EnvtuneError

_COMBINED = (
    "miss_func+miss_param",
    "miss_func+long_context",
    "miss_param+long_context",
    "miss_func+miss_param+long_context",
)
_COMBINED_SHARE = 10
"""Every which task is of a combined category, if none are named."""
_CHUNK = 20
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Record:
    """What became of a task, and how many seconds of processor time it took to make and to check."""

    category: str
    domain: str
    making: float
    checking: float
    faults: list[Fault]
    counts: Counter[str]


_Job = tuple[TaskSet, int, int]


def _check_some(job: _Job) -> list[_Record]:
    tasks, start, stop = job
    return [_check_one(tasks, index) for index in range(start, stop)]


def _check_one(tasks: TaskSet, index: int) -> _Record:
    begun = time.process_time()
    task = tasks[index]
    made = time.process_time()
    counts: Counter[str] = Counter()
    faults = check_task(task, counts)
    return _Record(task.category, task.domains[0], made - begun, time.process_time() - made, faults, counts)


def _jobs(tasks: TaskSet, count: int) -> list[_Job]:
    return [(tasks, start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]


def _records(jobs: Sequence[_Job], processes: int, advance: Any) -> Iterator[_Record]:
    """Yield what became of each task, chunk by chunk as they get done."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=use_utc) as pool:
        for records in pool.imap_unordered(_check_some, jobs):
            yield from records
            for _ in records:
                advance()


def main(
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Number of tasks.")] = 1000,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Processes.")] = 2,
    domains: Annotated[str | None, typer.Option(metavar="NAMES", help="Comma-separated; all.")] = None,
    categories: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Comma-separated; the four, and combined ones for a tenth.")
    ] = None,
    difficulty: Annotated[
        list[str] | None, typer.Option(metavar="LEVEL", help="A level or turns=4,domains=2; repeated: several; all.")
    ] = None,
    tasks: Annotated[str, typer.Option(metavar="SOURCE", help="'generated', or a .jsonl file.")] = "generated",
    as_json: Json = False,
) -> None:
    """Prove generated tasks with the official backends and checker; exits with 1 if any has a fault."""
    named = _names(domains)

    def stream(wanted: Sequence[str] | None) -> TaskSet:
        return load_tasks(tasks, wanted, domains=named, difficulty=difficulty or None)

    plain = stream(_names(categories))
    combined = count // _COMBINED_SHARE if categories is None and tasks == "generated" else 0
    if plain.is_finite:
        count = min(count, len(plain))
    work = _jobs(plain, count - combined)
    if combined:
        work += _jobs(stream(_COMBINED), combined)
    begun = time.perf_counter()
    with progress("second proof", count) as advance:
        records = list(_records(work, jobs, advance))
    _report(records, time.perf_counter() - begun, as_json)
    if any(record.faults for record in records):
        raise typer.Exit(1)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _report(records: Sequence[_Record], seconds: float, as_json: bool) -> None:
    faults = [fault for record in records for fault in record.faults]
    making = sum(record.making for record in records) / len(records)
    checking = sum(record.checking for record in records) / len(records)
    made: Counter[str] = sum((record.counts for record in records), Counter())
    failed = Counter(fault.check for fault in faults)
    groups = {name: _grouped(records, name) for name in ("category", "domain")}
    if as_json:
        print_json(
            {
                "tasks": len(records),
                "faulty_tasks": sum(bool(record.faults) for record in records),
                "seconds": round(seconds, 2),
                "seconds_a_task": {"making": round(making, 5), "checking": round(checking, 5)},
                **{name: {key: {"tasks": n, "faults": bad} for key, n, bad in rows} for name, rows in groups.items()},
                "checks": {name: {"made": made[name], "failed": failed[name]} for name in CHECKS},
                "faults": [asdict(fault) for fault in faults],
            }
        )
        return
    for name, rows in groups.items():
        print_table(f"By {name if name == 'category' else 'first domain'}", (name, "tasks", "faults"), rows)
    print_table(
        "By check",
        ("fault", "asserted", "made", "failed"),
        [(name, text, made[name], failed[name]) for name, text in CHECKS.items()],
    )
    for fault in faults[:_SHOWN]:
        print_line(f"{fault.task_id}: {fault.check}: {fault.detail}")
    print_line(
        f"{len(records):,} tasks, {len(faults):,} faults in {seconds:.1f} s; "
        f"processor time {1000 * making:.1f} ms to make a task, {1000 * checking:.1f} ms to check it"
    )


def _grouped(records: Sequence[_Record], attribute: str) -> list[tuple[str, int, int]]:
    names = sorted({getattr(record, attribute) for record in records})
    chosen = {name: [record for record in records if getattr(record, attribute) == name] for name in names}
    return [(name, len(some), sum(len(record.faults) for record in some)) for name, some in chosen.items()]


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(epilog=examples("python benchmarks/second_proof.py --count 100000 --jobs 2"))(main)
    try:
        app()
    except EnvtuneError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
