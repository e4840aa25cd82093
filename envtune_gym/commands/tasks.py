"""`envtune tasks`: look at tasks, check them, and write them to files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from envtune_gym.commands import export, generate, ladder, paraphrase, task_coverage
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_table, progress
from envtune_gym.commands.pages import Page, check_page, write_page
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import Finding, Task, audit_tasks, load_quarantine, write_quarantine
from envtune_gym.tasks.audit import FINDING_KINDS, FindingKind

__all__ = ["app"]

_MEANINGS: dict[FindingKind, str] = {
    "argument_not_stated": "an argument that nothing says or reveals",
    "request_differs": "a request that says another value, or not what that of the base task says",
    "withheld_tool_called": "a call of a tool that is not on offer yet",
    "date_in_past": "an argument that is a date before today",
    "ground_truth_fails": "a call that returns an error; the task is passed nonetheless",
}

app = typer.Typer(help="Generate, list, show, audit and export tasks.", rich_markup_mode=None)
app.command("generate", epilog=generate.EXAMPLES)(generate.generate_command)
app.command("export", epilog=export.EXAMPLES)(export.export_command)
app.command("paraphrase", epilog=paraphrase.EXAMPLES)(paraphrase.paraphrase_command)
app.command("coverage", epilog=task_coverage.EXAMPLES)(task_coverage.coverage_command)
app.command("ladder", epilog=ladder.EXAMPLES)(ladder.ladder_command)


@app.command("list", epilog=examples("envtune tasks list --tasks bfcl --domains TravelAPI --split test --limit 10"))
@takes_selection
def list_command(selection: Selection, as_json: Json = False) -> None:
    """List tasks: id, category, domains, turns and calls."""
    tasks = selection.load()
    with progress("tasks", len(tasks)) as advance:
        rows = [
            {
                "id": task.id,
                "category": task.category,
                "domains": list(task.domains),
                "turns": task.num_turns,
                "calls": sum(map(len, task.ground_truth)),
            }
            for task in _stepping(tasks, advance)
        ]
    if as_json:
        print_json(rows)
        return
    cells = [[", ".join(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in rows]
    print_table(f"Tasks ({len(rows):,})", list(rows[0]), cells)


@app.command(
    "show",
    epilog=examples(
        "envtune tasks show multi_turn_miss_func_7 --tasks bfcl",
        "envtune tasks show --limit 5 --seed 3 --domains TravelAPI --difficulty 3",
    ),
)
@takes_selection
def show_command(
    selection: Selection,
    task_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of tasks; some by default.")
    ] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Show tasks in full: what the user says turn by turn, and the calls that solve it."""
    if page is not None:
        check_page(page, "tasks")
    source = selection.open() if task_ids else selection.load()
    shown = [selection.find(source, task_id) for task_id in task_ids] if task_ids else list(source)
    if page is not None:
        write_page(page, "tasks", "\n\n".join("```text\n" + "\n".join(_described(task)) + "\n```" for task in shown))
    if as_json:
        print_json([task.model_dump(mode="json") for task in shown])
        return
    for task in shown:
        print_line("\n".join(_described(task)))


@app.command(
    "audit", epilog=examples("envtune tasks audit --tasks bfcl", "envtune tasks audit --tasks my_tasks.jsonl --details")
)
@takes_selection
def audit_command(
    selection: Selection,
    details: Annotated[bool, typer.Option("--details", help="Print each finding, not only their numbers.")] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Check the packaged list of unfair official tasks anew, and write it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run each ground truth and report what looks unfair: values that nobody said, withheld tools, past dates.

    Findings are leads for a reader, not failures: the exit code is 0. Official tasks that a reader found unfair stand
    in a list of this package, and --skip-quarantined leaves them out of every command.
    """
    if write and selection != Selection(tasks="bfcl"):
        raise ConfigurationError("--write needs all official tasks; run: envtune tasks audit --tasks bfcl --write")
    tasks = selection.load()
    with progress("audit", len(tasks)) as advance:
        findings = audit_tasks(tasks, on_task=advance)
    if write:
        write_quarantine(findings)
    if as_json:
        print_json({"tasks": len(tasks), "findings": [asdict(finding) for finding in findings]})
        return
    _print_findings(findings, len(tasks))
    if details:
        for finding in findings:
            call = "" if finding.call is None else f", call {finding.call}"
            print_line(f"{finding.task_id}, turn {finding.turn}{call}: {finding.kind}: {finding.detail}")


def _stepping(tasks: Iterable[Task], advance: Callable[..., None]) -> Iterator[Task]:
    for task in tasks:
        yield task
        advance()


def _described(task: Task) -> Iterator[str]:
    """Yield the lines that show a task."""
    yield f"{task.id} ({task.category}; {', '.join(task.domains)}; {task.source} {task.source_version})".rstrip()
    if task.excluded_functions:
        yield f"  excluded: {', '.join(task.excluded_functions)}"
    for turn, (request, calls) in enumerate(zip(task.turns, task.ground_truth, strict=True)):
        if turn in task.missed_functions:
            yield f"  from turn {turn} on, withheld before: {', '.join(task.missed_functions[turn])}"
        yield f"  turn {turn}: {request}"
        yield from (f"    {call}" for call in calls or ("(nothing to call)",))
    quarantined = load_quarantine().get(task.id)
    if quarantined is not None:
        yield f"  unfair ({quarantined.kind}): {quarantined.reason}"


def _print_findings(findings: Sequence[Finding], number: int) -> None:
    quarantined = load_quarantine()
    rows = []
    for kind in FINDING_KINDS:
        found = [finding.task_id for finding in findings if finding.kind == kind]
        unfair = sum(quarantined[task_id].kind == kind for task_id in set(found) & set(quarantined))
        rows.append((kind, len(found), len(set(found)), unfair, _MEANINGS[kind]))
    print_table(f"Audit of {number:,} tasks", ("finding", "findings", "tasks", "quarantined", "what it is"), rows)
