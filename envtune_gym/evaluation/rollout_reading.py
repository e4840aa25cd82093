"""What was said in an episode, for a person to read: all of it in order, and harmless where it is shown.

A record has the assistant's messages alone. What the environment said in between, hints included, comes from playing
them again (see `playback`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envtune_gym.calls import ActionFormat
from envtune_gym.evaluation.playback import Playback
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.tasks import TaskSet

__all__ = ["Said", "Stage", "conversation", "visible"]


@dataclass(frozen=True)
class Stage:
    """What the messages of a training run are played in again while it goes on.

    Attributes:
        tasks: Where the tasks are found.
        action_format: How the messages write calls.
        max_steps_per_turn: The limit of a turn.
        hints: As in `AugmentedFeedbackWrapper`.
    """

    tasks: TaskSet
    action_format: ActionFormat = "tool_call"
    max_steps_per_turn: int = 20
    hints: str | None = None

    def run(self, feedback: str) -> RunSettings:
        """Return what messages are played under that had such feedback."""
        settings = {
            "policy": "",
            "action_format": self.action_format,
            "feedback": feedback,
            "hints": self.hints or "",
            "max_steps_per_turn": self.max_steps_per_turn,
        }
        return RunSettings.model_validate(settings)


@dataclass(frozen=True)
class Said:
    """Something that was said.

    Attributes:
        role: `user`, `assistant` or `tool`.
        text: What.
        tool: The tool whose result it is; empty otherwise.
        is_augmented: Whether feedback has been added to it.
    """

    role: str
    text: str
    tool: str = ""
    is_augmented: bool = False


def conversation(playback: Playback | None, messages: Sequence[str]) -> list[Said]:
    """Return all that was said in an episode, without the system prompt.

    Args:
        playback: The episode played again; None if that could not be done.
        messages: The assistant's messages, which are then all that is known.
    """
    return [Said("assistant", text) for text in messages] if playback is None else list(_said(playback))


def visible(text: str) -> str:
    r"""Return text in which nothing acts on a terminal: all but line feeds and what can be printed is escaped.

    Example:
        >>> print(visible("a" + chr(27) + "[2J"))
        a\x1b[2J
    """
    return "".join(
        one if one == "\n" or one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def _said(playback: Playback) -> Iterator[Said]:
    """Yield all that was said, in order."""
    for turn in playback.turns:
        request = f"{turn.request}\n\n{turn.note}" if turn.note else turn.request
        yield Said("user", request, is_augmented=bool(turn.note))
        for step in turn.steps:
            yield Said("assistant", step.message)
            for result in step.results:
                yield Said(result.role, result.text, result.tool, result.is_augmented)
    for message in playback.unsent:
        yield Said("assistant", message)
