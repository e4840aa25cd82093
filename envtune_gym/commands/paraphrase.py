"""`envtune tasks paraphrase`: have a language model put what users say into other words."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from envtune_gym.asking import ChatModel, JournalFile, ModelSettings, Outcome, ask_all
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_table, progress
from envtune_gym.commands.server import (
    BaseUrl,
    KeyVariable,
    MaxTokens,
    ModelName,
    Retries,
    Temperature,
    Timeout,
    check_server,
)
from envtune_gym.errors import ConfigurationError, ServerError
from envtune_gym.tasks import Task, load_tasks, save_jsonl
from envtune_gym.tasks.paraphrase import TaskRecord, paraphrase_task, rewritten

__all__ = ["EXAMPLES", "paraphrase_command"]

EXAMPLES = examples(
    "envtune tasks generate --count 200 --out tasks.jsonl",
    "envtune tasks paraphrase --from tasks.jsonl --model qwen3-32b --base-url http://localhost:8000/v1 --out new.jsonl",
)


def paraphrase_command(
    source: Annotated[Path, typer.Option("--from", metavar="FILE", help="The tasks (.jsonl).")],
    model: ModelName,
    base_url: BaseUrl,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the tasks go (.jsonl).")],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most N tasks.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Of manners and sampling; it becomes part of the ids.")
    ] = None,
    key_variable: KeyVariable = "OPENAI_API_KEY",
    temperature: Temperature = None,
    max_tokens: MaxTokens = 1_024,
    timeout: Timeout = 120.0,
    retries: Retries = 6,
    concurrency: Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Tasks in work at a time.")] = 4,
    as_json: Json = False,
) -> None:
    """Put the user's messages of tasks into other words, with the help of a language model.

    A paraphrase is taken only if every value that the original says is still in it, nothing that looks like a value is
    new, it is not much longer, and the task still passes the proof of fairness. Else it is asked for again, at most
    three times, and then the original stays. Tasks with a paraphrase get an id that says so; calls, states and source
    stay. Each finished task is kept in FILE.journal at once: the same command goes on where an interrupted one stopped,
    and FILE is written when all are done. The journal also says why a message stayed; remove it to begin anew.
    """
    settings = ModelSettings(
        model=model,
        base_url=base_url,
        temperature=temperature,
        seed=seed,
        max_tokens=max_tokens,
        timeout=timeout,
        retries=retries,
        key_variable=key_variable,
    )
    source, out = source.expanduser(), out.expanduser()
    if source.resolve() == out.resolve():
        raise ConfigurationError("--out must be another file than --from, which stays as it is")
    tasks = list(load_tasks(source)[:limit])
    records = _Records(out, seed)
    try:
        _ask(settings, concurrency, tasks, records)
    finally:
        records.close()
    save_jsonl((rewritten(task, records.of(task)) for task in tasks), out)
    _print_report(tasks, records, out, as_json)


class _Records:
    """The records of a run's tasks, old and new.

    Args:
        out: The file that the tasks go to; the journal is beside it.
        seed: The run's seed.
    """

    def __init__(self, out: Path, seed: int | None) -> None:
        path = out.with_name(f"{out.name}.journal")
        self._journal = JournalFile(path, TaskRecord, "remove the line to have its task paraphrased again")
        self._seed = seed
        self._records = {record.task_id: record for record in self._journal.recovered if record.seed == seed}

    def __contains__(self, task: Task) -> bool:
        """Tell whether a task is done."""
        record = self._records.get(task.id)
        return record is not None and record.concerns(task, self._seed) and len(record.messages) == task.num_turns

    def of(self, task: Task) -> TaskRecord:
        """Return the record of a task that is done."""
        return self._records[task.id]

    def add(self, record: TaskRecord) -> None:
        """Keep a new record."""
        self._journal.add(record)
        self._records[record.task_id] = record

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def standing(self, tasks: Sequence[Task]) -> str:
        """Return how far the run has come, as words."""
        done = sum(task in self for task in tasks)
        return f"{done} of {len(tasks)} tasks are done and kept in {self._journal.path}; the same command goes on there"


def _ask(settings: ModelSettings, concurrency: int, tasks: Sequence[Task], records: _Records) -> None:
    """Paraphrase the tasks that have no record yet.

    Raises:
        ServerError: If there is no server, or some are left open; the others are in the journal.
    """
    waiting = [task for task in tasks if task not in records]
    if waiting:
        check_server(settings.base_url)
    with progress("tasks", len(tasks)) as advance:
        for _ in range(len(tasks) - len(waiting)):
            advance()

        def keep(record: TaskRecord) -> None:
            records.add(record)
            advance()

        try:
            outcome = asyncio.run(_ask_all(settings, concurrency, waiting, keep))
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"interrupted: {records.standing(tasks)}\n")
            raise
    if outcome.unanswered:
        raise ServerError(f"{next(iter(outcome.unanswered.values()))}; {records.standing(tasks)}")


async def _ask_all(
    settings: ModelSettings, concurrency: int, tasks: Sequence[Task], keep: Callable[[TaskRecord], object]
) -> Outcome[str]:
    async with ChatModel(settings) as model:

        async def paraphrase(task: Task) -> TaskRecord:
            return await paraphrase_task(task, model)

        return await ask_all(tasks, paraphrase, lambda task: task.id, keep, concurrency=concurrency)


def _print_report(tasks: Sequence[Task], records: _Records, out: Path, as_json: bool) -> None:
    messages = [message for task in tasks for message in records.of(task).messages]
    kept = Counter(message.kept for message in messages if message.kept is not None)
    changed = sum(any(message.paraphrase is not None for message in records.of(task).messages) for task in tasks)
    report: dict[str, Any] = {
        "out": str(out),
        "tasks": len(tasks),
        "tasks_paraphrased": changed,
        "messages": len(messages),
        "paraphrased": len(messages) - kept.total(),
        "kept": dict(kept.most_common()),
        "replies": sum(message.attempts for message in messages),
    }
    if as_json:
        print_json(report)
        return
    rows = [("paraphrased", "", report["paraphrased"]), *(("kept", why, number) for why, number in kept.most_common())]
    print_table(f"Messages ({len(messages):,}; {report['replies']:,} replies)", ("outcome", "why", "messages"), rows)
    print_line(f"{len(tasks):,} tasks written to {out}, {changed:,} of them paraphrased")
