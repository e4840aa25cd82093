"""Sample rollouts of a batch as the rows of a table, for people who watch a run in a tracker.

A record has the model's messages only; what the environment said comes from playing them again (see
`playback`). Trackers render text as Markdown here and there, and what a model wrote must not load a picture or
pass for another speaker: control characters are escaped, and each text is indented, which Markdown shows as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from envtune_gym.evaluation.playback import Playback, look_again
from envtune_gym.evaluation.rollout_reading import Said, Stage, conversation, visible
from envtune_gym.integrations.rollout import RolloutRecord

__all__ = ["COLUMNS", "SampleRollouts", "as_code", "as_markdown"]

COLUMNS = (
    "step",
    "stage",
    "task",
    "category",
    "request",
    "messages",
    "reward",
    "progress",
    "success",
    "hints",
    "ended",
)
"""`request` is the first one; `messages` is what followed. `ended`: what cut the rollout off or broke it, or empty."""

_LONGEST = 20_000
"""Most characters of a text: a single result can be larger than all that the model reads in an episode."""

Row = dict[str, Any]


@dataclass(frozen=True)
class SampleRollouts:
    """Picks rollouts of a batch and makes them readable.

    Attributes:
        stage: What their messages are played in again.
        count: How many of a batch.
    """

    stage: Stage
    count: int

    def rows(self, step: int, records: Sequence[RolloutRecord]) -> list[Row]:
        """Return some rollouts of a batch, evenly spaced so that they come from several groups.

        Args:
            step: The update that they are played for.
            records: The batch.
        """
        count = min(self.count, len(records))
        return [self._row(step, records[index * len(records) // count]) for index in range(count)]

    def _row(self, step: int, record: RolloutRecord) -> Row:
        request, said = "", conversation(self._played_again(record), record.messages)
        if said and said[0].role == "user":
            request = _bounded(visible(said.pop(0).text))
        values = (
            step,
            record.stage,
            visible(record.task_id),
            record.category,
            request,
            _bounded("\n".join(map(_as_text, said))),
            record.reward,
            record.progress,
            record.success,
            record.hints,
            visible(record.broken or record.truncated_by),
        )
        return dict(zip(COLUMNS, values, strict=True))

    def _played_again(self, record: RolloutRecord) -> Playback | None:
        if record.broken:  # whatever broke a rollout might break it again, and no table is worth a run
            return None
        run = self.stage.run(record.feedback)
        return look_again(
            lambda: self.stage.tasks.get(record.task_id),
            record.messages,
            run,
            success=record.success,
            turns=record.turns,
        ).playback


def as_code(text: str) -> str:
    """Return text that Markdown shows as it stands."""
    return "\n".join(f"    {line}" for line in text.split("\n"))


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the rows for a tracker that has text but no tables: one after another, each value under its name."""
    return "\n\n".join(_section(row) for row in rows)


def _section(row: Row) -> str:
    short = [name for name in COLUMNS if name not in ("request", "messages")]
    facts = "\n".join(f"{name}: {row[name]}" for name in short)
    texts = "\n\n".join(f"{name}:\n\n{as_code(row[name])}" for name in ("request", "messages"))
    return f"---\n\n{as_code(facts)}\n\n{texts}"


def _as_text(one: Said) -> str:
    speaker = " ".join(visible(f"{one.role} {one.tool}").split())
    return f"{speaker}{' (with a hint)' if one.is_augmented else ''}:\n{as_code(visible(one.text))}"


def _bounded(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]}\n… {more} characters more"
