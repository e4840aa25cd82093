"""`envtune tasks ladder`: whether generated tasks get harder as their difficulty says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args

import gymnasium as gym
import typer

from envtune_gym.commands.output import Json, examples, percent, print_json, print_table, progress
from envtune_gym.commands.pages import Page, check_page, markdown_table, write_page
from envtune_gym.commands.selection import Selection
from envtune_gym.evaluation.ladder import Ladder, Rung, climb
from envtune_gym.evaluation.paired import Interval
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.feedback.levels import check_level
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import TaskSet
from envtune_gym.tasks.generation.shape import DIFFICULTIES
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["EXAMPLES", "ladder_command"]

EXAMPLES = examples(
    "envtune tasks ladder --limit 480",
    "envtune tasks ladder --limit 1000 --seed 7 --feedback off --json",
)

_SPLIT = "test"


def ladder_command(
    limit: Annotated[
        int, typer.Option(min=len(DIFFICULTIES), metavar="N", help="At most N tasks, as many of each level.")
    ] = 320,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of tasks, mistakes and bootstrap.")] = 0,
    feedback: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"What failures say: {', '.join(get_args(FeedbackLevel))}.")
    ] = "actionable",
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Let an oracle, a scripted learner and a random agent play generated test tasks of each difficulty.

    The oracle plays the ground truth and must reach 100 %. The learner makes one mistake a turn and repairs it by
    reading the feedback, in at most three further calls; it should fall with difficulty. The random agent calls offered
    tools with random arguments that fit their schemas. Success is the benchmark's verdict, progress the share of turns
    passed (R_P); intervals are 95 %, by bootstrap over scenarios. A limit that is a multiple of 160 takes as many tasks
    of each domain and category, too.
    """
    level = check_level(feedback)
    if page is not None:
        check_page(page, "ladder")
    each = limit // len(DIFFICULTIES)
    tasks = {
        difficulty: Selection(split=_SPLIT, difficulty=[str(difficulty)], limit=each, seed=seed).load()
        for difficulty in DIFFICULTIES
    }

    def make(served: TaskSet) -> gym.Env[str, str]:
        env = gym.make(MULTI_DOMAIN_ID, tasks=served, disable_env_checker=True)
        return AugmentedFeedbackWrapper(env, level=level)

    with progress("ladder", each * len(DIFFICULTIES)) as advance:
        ladder = climb(tasks, make, seed, on_task=advance)
    version = tasks[DIFFICULTIES[0]][0].source_version
    setting = f"{ladder.total.tasks:,} generated tasks ({version}), split {_SPLIT}, feedback {level}, seed {seed}"
    if page is not None:
        write_page(
            page, "ladder", "\n\n".join(f"{t}:\n\n{markdown_table(c, r)}" for t, c, r in _tables(ladder, setting))
        )
    if as_json:
        settings = {"tasks": ladder.total.tasks, "split": _SPLIT, "source_version": version, "seed": seed}
        print_json({**settings, "feedback": level, **ladder.to_dict()})
        return
    for title, columns, rows in _tables(ladder, setting):
        print_table(title, columns, rows)


def _tables(ladder: Ladder, setting: str) -> list[tuple[str, Sequence[str], list[Sequence[Any]]]]:
    """Return titles, columns and rows."""
    rungs = [
        *((f"difficulty {rung.name}", rung) for rung in ladder.levels),
        *((rung.name, rung) for rung in (*ladder.categories, ladder.total)),
    ]
    columns = ("tasks of", "tasks", *ladder.total.success)
    return [
        (f"Success: {setting}", columns, [_row(name, rung, rung.success) for name, rung in rungs]),
        (f"Progress: {setting}", columns, [_row(name, rung, rung.progress) for name, rung in rungs]),
    ]


def _row(name: str, rung: Rung, figures: dict[str, Interval]) -> Sequence[Any]:
    return name, rung.tasks, *map(_shown, figures.values())


def _shown(figure: Interval) -> str:
    return f"{percent(figure.value)} [{percent(figure.low)}, {percent(figure.high)}]"
