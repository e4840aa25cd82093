"""`envtune hints measure`: how often a scripted learner repairs a call, with each feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import gymnasium as gym
import typer

from envtune_gym.commands.output import Json, examples, percent, print_json, print_table, progress
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.corruption import DEVELOPMENT, HELD_OUT, KINDS
from envtune_gym.evaluation.repair import MakeEnv, Rate, repair_rate
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["EXAMPLES", "measure_command"]

EXAMPLES = examples(
    "envtune hints measure --tasks bfcl --split train --kinds development",
    "envtune hints measure --feedback off,written --kinds wrong_case,path_for_name --json",
)

_FEEDBACK: dict[str, dict[str, Any]] = {
    "off": {"level": "off"},
    "error": {"level": "error"},
    "automatic": {"level": "actionable", "hints": "automatic"},
    "written": {"level": "actionable"},
}


@takes_selection
def measure_command(
    selection: Selection,
    kinds: Annotated[
        str,
        typer.Option(metavar="NAMES", help="'development', 'held-out', or comma-separated kinds of corruption."),
    ] = "development",
    feedback: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Comma-separated, of: {', '.join(_FEEDBACK)}.")
    ] = "off,automatic,written",
    per_kind: Annotated[int, typer.Option(min=1, metavar="N", help="Cases of a kind, at most.")] = 30,
    as_json: Json = False,
) -> None:
    """Corrupt calls of ground truths, and measure how many a scripted learner repairs within three further steps.

    The learner knows only what observations and schemas say. Feedback: off is the benchmark's own text, error and
    written are the rules of this package at the levels error and actionable, automatic is made from schemas and the
    conversation alone. The seed is that of the corruptions too; intervals are 95 %, by bootstrap over scenarios.
    """
    chosen, names = _kinds(kinds), _names(feedback, tuple(_FEEDBACK), "feedback")
    tasks, seed = list(selection.load()), selection.seed or 0
    with progress("measure", len(names)) as advance:
        reports = {}
        for name in names:
            reports[name] = repair_rate(tasks, chosen, _maker(name), seed, per_kind=per_kind)
            advance()
    if as_json:
        settings = {"tasks": len(tasks), "seed": seed, "kinds": list(chosen), "per_kind": per_kind}
        print_json({**settings, "feedback": {name: report.to_dict() for name, report in reports.items()}})
        return
    first = reports[names[0]]
    rows = [
        (kind, rate.cases, *(_shown(report.by_kind[kind]) for report in reports.values()))
        for kind, rate in first.by_kind.items()
    ]
    total = ("all", first.total.cases, *(_shown(report.total) for report in reports.values()))
    print_table(f"Repaired calls, {len(tasks):,} tasks", ("kind", "cases", *reports), [*rows, total])


def _maker(feedback: str) -> MakeEnv:
    def make(tasks: TaskSet) -> gym.Env[str, str]:
        env = gym.make(MULTI_DOMAIN_ID, tasks=tasks, offer="strict", disable_env_checker=True)
        return AugmentedFeedbackWrapper(env, **_FEEDBACK[feedback])

    return make


def _kinds(text: str) -> tuple[str, ...]:
    halves = {"development": DEVELOPMENT, "held-out": HELD_OUT}
    return halves[text] if text in halves else _names(text, tuple(KINDS), "kind of corruption")


def _names(text: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in known:
            raise ConfigurationError(f"unknown {what} {name!r}; known: {', '.join(known)}")
    if not names:
        raise ConfigurationError(f"name at least one {what}: {', '.join(known)}")
    return names


def _shown(rate: Rate) -> str:
    return f"{percent(rate.share)} [{percent(rate.low)}, {percent(rate.high)}]"
