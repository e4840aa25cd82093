"""`envtune play`: a person plays an episode in the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from envtune_gym.commands.output import examples
from envtune_gym.commands.selection import Selection, takes_selection
from envtune_gym.env import Offer
from envtune_gym.evaluation.playing import Kind, PlayedByHand, Shown
from envtune_gym.evaluation.rollout_reading import visible
from envtune_gym.feedback import FeedbackLevel

__all__ = ["EXAMPLES", "play_command"]

EXAMPLES = examples(
    "envtune play",
    "envtune play --tasks bfcl --task multi_turn_base_0",
    "envtune play --categories miss_func --domains TravelAPI --seed 7 --feedback diagnostic",
)

_STYLES: dict[Kind, str] = {
    "request": "bold",
    "result": "cyan",
    "hint": "yellow",
    "outcome": "bold magenta",
    "difference": "red",
    "note": "dim",
}
_SPEAKERS: dict[Kind, str] = {"request": "user: ", "hint": "hint: "}


@takes_selection
def play_command(
    selection: Selection,
    task: Annotated[
        str | None, typer.Option(metavar="ID", help="The task to play; else the first that is selected.")
    ] = None,
    feedback: Annotated[FeedbackLevel, typer.Option(help="Level of the hints.")] = "actionable",
    hints: Annotated[
        str | None, typer.Option(metavar="FILE", help="A hint book to use before the package's hints, or 'automatic'.")
    ] = None,
    offer: Annotated[
        Offer | None, typer.Option(help="What becomes of withheld and excluded tools; by default as the source says.")
    ] = None,
    max_steps_per_turn: Annotated[int, typer.Option(min=1, metavar="N", help="Steps that a turn may take.")] = 20,
) -> None:
    """Play an episode yourself: read requests, call tools, and see results, hints and the verdict.

    Calls are typed in Python syntax; lines that begin with / list tools, end a turn or leave (/help). In the end, the
    state is compared with the ground truth's.
    """
    chosen = selection.load()[0] if task is None else selection.find(selection.open(), task)
    played = PlayedByHand(chosen, feedback=feedback, hints=hints, offer=offer, max_steps_per_turn=max_steps_per_turn)
    with contextlib.suppress(ImportError):  # where there is such a thing, lines can be edited and called back
        import readline  # noqa: F401
    console = Console(highlight=False)
    _show(console, played.begin())
    while not played.is_over:
        try:
            line = input(f"{played.place}> ")
        except EOFError:
            console.print()
            break
        if line.strip() in ("/quit", "/exit"):
            break
        _show(console, played.type(line))
    _show(console, played.end())


def _show(console: Console, lines: Iterable[Shown]) -> None:
    for one in lines:
        text = Text(visible(f"{_SPEAKERS.get(one.kind, '')}{one.text}"), style=_STYLES[one.kind])
        console.print(text, soft_wrap=True)
