"""`envtune hints propose`: ask a language model for hints on what failed in recorded runs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from envtune_gym.calls import ActionFormat
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_table, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.commands.server import (
    KeyVariable,
    MaxTokens,
    Retries,
    Temperature,
    Timeout,
    check_server,
)
from envtune_gym.env import Offer
from envtune_gym.errors import ConfigurationError, ServerError
from envtune_gym.evaluation.recorded import read_episodes
from envtune_gym.feedback.proposing import (
    ChatModel,
    Entry,
    FailureGroup,
    ModelSettings,
    Outcome,
    collect_failures,
    propose_all,
)
from envtune_gym.feedback.proposing.bookfile import Cause
from envtune_gym.feedback.proposing.journal import Journal
from envtune_gym.feedback.proposing.prompts import generator_messages
from envtune_gym.tasks import Task

__all__ = ["EXAMPLES", "propose_command"]

_T = TypeVar("_T")

EXAMPLES = examples(
    "envtune hints propose --from runs/replay.jsonl --tasks bfcl --model qwen3-32b --base-url http://localhost:8000/v1 "
    "--out hints.yaml",
    "envtune hints propose --from runs/replay.jsonl --tasks bfcl --dry-run",
)


@takes_selection
def propose_command(
    selection: Selection,
    recorded: Annotated[
        Path,
        typer.Option("--from", metavar="FILE", help="Recorded runs (.jsonl), as replay --out and training write them."),
    ],
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model's name at the server. [required without --dry-run]")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server. [required without --dry-run]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The hint book (.yaml); what it has already is kept. [required without --dry-run]",
        ),
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another model of the server to judge; the same by default.")
    ] = None,
    key_variable: KeyVariable = "OPENAI_API_KEY",
    causes: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most N causes, the most frequent.")] = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = 2_048,
    timeout: Timeout = 120.0,
    retries: Retries = 6,
    concurrency: Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Causes in work at a time.")] = 4,
    action_format: Annotated[ActionFormat, typer.Option(help="Format of the recorded messages.")] = "tool_call",
    offer: Annotated[
        Offer | None, typer.Option(help="What becomes of withheld and excluded tools; by default as the source says.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be asked, and ask nobody.")] = False,
    as_json: Json = False,
) -> None:
    """Propose a hint for each cause of failure in recorded runs, let a judge decide, and write a book to review.

    The runs are played again to learn what failed. For each cause the model proposes a hint; a leak check and a judge
    that sees the ground truth approve or reject it, with reasons that go back to the model, at most three times.
    AugmentedFeedbackWrapper(env, hints=FILE) uses the approved ones. Each finished cause is kept at once: the same
    command goes on where an interrupted one stopped. --limit chooses tasks, --seed also goes to the server.
    """
    if dry_run:
        _print_requests(_collect(selection, recorded, action_format, offer)[:causes], as_json)
        return
    model, base_url = _given("--model", model), _given("--base-url", base_url)
    book = _given("--out", out)
    settings = ModelSettings(
        model=model,
        base_url=base_url,
        temperature=temperature,
        seed=selection.seed,
        max_tokens=max_tokens,
        timeout=timeout,
        retries=retries,
        key_variable=key_variable,
    )
    groups = _collect(selection, recorded, action_format, offer)[:causes]
    run = _Run(settings, replace(settings, model=judge_model or model), concurrency)
    with Journal(book) as journal:
        _ask(run, groups, journal)
    _print_book(journal, groups, as_json)


def _given(flag: str, value: _T | None) -> _T:
    """Return the value of a flag without which nobody can be asked.

    Raises:
        ConfigurationError: If it was not given.
    """
    if value is None:
        raise ConfigurationError(f"{flag} is missing; only --dry-run, which asks nobody, goes without it")
    return value


@dataclass(frozen=True)
class _Run:
    generator: ModelSettings
    judge: ModelSettings
    concurrency: int

    async def ask(self, groups: Sequence[FailureGroup], on_entry: Callable[[Entry], object]) -> Outcome[Cause]:
        async with ChatModel(self.generator) as generator, ChatModel(self.judge) as judge:
            return await propose_all(groups, generator, judge, on_entry, concurrency=self.concurrency)


def _collect(selection: Selection, path: Path, action_format: ActionFormat, offer: Offer | None) -> list[FailureGroup]:
    """Return what failed in the recorded runs of the chosen tasks.

    Raises:
        ConfigurationError: If nothing did.
    """
    episodes = read_episodes(path)
    tasks = {task.id: task for task in selection.load_recorded(dict.fromkeys(line.task_id for _, line in episodes))}
    runs: list[tuple[Task, list[str]]] = [
        (tasks[line.task_id], line.play(tasks[line.task_id], action_format, where))
        for where, line in episodes
        if line.task_id in tasks
    ]
    with progress("replay", len(runs)) as advance:
        groups = collect_failures(runs, action_format=action_format, offer=offer, on_run=advance)
    if not groups:
        raise ConfigurationError(f"nothing fails in the chosen runs of {path}, so that there is nothing to explain")
    return groups


def _ask(run: _Run, groups: Sequence[FailureGroup], journal: Journal) -> None:
    """Ask about the causes that have no entry yet.

    Raises:
        ServerError: If there is no server, or some are left open; the others are in the journal.
    """
    waiting = [group for group in groups if group.cause not in journal]
    if waiting:
        check_server(run.generator.base_url)
    with progress("causes", len(groups)) as advance:
        for _ in range(len(groups) - len(waiting)):
            advance()

        def keep(entry: Entry) -> None:
            journal.add(entry)
            advance()

        try:
            outcome = asyncio.run(run.ask(waiting, keep))
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"interrupted: {_standing(groups, journal)}\n")
            raise
    if outcome.unanswered:
        raise ServerError(f"{next(iter(outcome.unanswered.values()))}; {_standing(groups, journal)}")


def _standing(groups: Sequence[FailureGroup], journal: Journal) -> str:
    done = sum(group.cause in journal for group in groups)
    return f"{done} of {len(groups)} causes are done and kept in {journal.book}; the same command goes on from there"


def _print_requests(groups: Sequence[FailureGroup], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {**group.cause.model_dump(), "failures": group.count, "messages": generator_messages(group)}
                for group in groups
            ]
        )
        return
    for group in groups:
        print_line(f"=== {group.cause}: {group.count} failures")
        for message in generator_messages(group):
            print_line(f"--- {message['role']}\n{message['content']}")
    print_line(f"=== {len(groups):,} causes; each takes 1 to 3 proposals, and a judge's decision on most of them")


def _print_book(journal: Journal, groups: Sequence[FailureGroup], as_json: bool) -> None:
    asked = {group.cause for group in groups}
    entries = sorted(
        (entry for entry in journal.entries if entry.cause in asked), key=lambda entry: entry.cause.sort_key
    )
    counts = Counter(entry.status for entry in entries)
    if as_json:
        print_json(
            {
                "book": str(journal.book),
                "approved": counts["approved"],
                "rejected": counts["rejected"],
                "entries": [entry.model_dump(mode="json") for entry in entries],
            }
        )
        return
    rows = [
        (
            entry.cause.domain,
            entry.cause.code,
            " ".join(filter(None, (entry.cause.tool, entry.cause.argument))),
            entry.failures,
            entry.status,
            len(entry.attempts),
        )
        for entry in entries
    ]
    columns = ("domain", "error", "tool and argument", "failures", "status", "attempts")
    print_table(f"Hint book {journal.book}", columns, rows)
    print_line(f"{counts['approved']:,} approved, {counts['rejected']:,} rejected; review them before use")
