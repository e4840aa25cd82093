"""Episodes as the page has them: a line of the list, and all that is shown when one is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from envtune_gym.evaluation.numbers.failures import failure_class
from envtune_gym.evaluation.playback import Playback, PlayedStep, PlayedTurn, ShownResult
from envtune_gym.evaluation.state_difference import StateDifference
from envtune_gym.tasks import Task
from envtune_gym.viewer.opening import Opened, OpenedRun

__all__ = ["MAX_DIFFERENCES", "ViewedEpisode", "as_json", "detail", "line", "view_episode"]

Keep = Callable[[str], Any]
MAX_DIFFERENCES = 60
"""Places of a turn at which differing states are shown."""
_EXCERPT = 160
_LINE = 72


@dataclass(frozen=True)
class ViewedEpisode:
    """An episode with what is known of it.

    Attributes:
        opened: The record.
        task: Its task, or None if that is not to be had.
        playback: What playing it again showed, or None if that cannot be done.
        failure: Its failure class; empty if it was solved, or if that cannot be told.
        notes: What the reader should know.
    """

    opened: Opened
    task: Task | None = None
    playback: Playback | None = None
    failure: str = ""
    notes: Sequence[str] = ()

    @property
    def category(self) -> str:
        """Its category; where the record does not have it, the task's; `unknown` without either."""
        return self.opened.episode.category or (self.task.category if self.task else "unknown")

    @property
    def domains(self) -> Sequence[str]:
        """Its domains, likewise."""
        return self.opened.episode.domains or (self.task.domains if self.task else ())

    @property
    def texts(self) -> Iterator[str]:
        """All that can be searched for: ids, requests, messages, results."""
        episode = self.opened.episode
        yield from (episode.task_id, *episode.messages)
        for turn in self.playback.turns if self.playback else ():
            yield turn.request
            yield from (result.text for step in turn.steps for result in step.results)


def view_episode(run: OpenedRun, opened: Opened) -> ViewedEpisode:
    """Play an episode again; where that cannot be done, a note says why."""
    seen = run.look_again(opened)
    if seen.task is None:
        return ViewedEpisode(opened, failure="broken" if opened.episode.broken else "", notes=seen.notes)
    return ViewedEpisode(opened, seen.task, seen.playback, failure_class(opened.episode, seen.task), seen.notes)


def line(viewed: ViewedEpisode) -> dict[str, Any]:
    """Return what the list of the page shows of an episode; what is empty is left out."""
    episode = viewed.opened.episode
    turns = viewed.playback.turns if viewed.playback else ()
    data = {
        "id": episode.task_id,
        "sample": episode.sample,
        "category": viewed.category,
        "domains": list(viewed.domains),
        "solved": episode.success,
        "failure": viewed.failure,
        "error": episode.error_type or "",
        "truncated": episode.truncated_by,
        "broken": episode.broken[:_EXCERPT],
        "passed": _passed(viewed),
        "pips": _pips(viewed),
        "num_turns": episode.num_turns or (viewed.task.num_turns if viewed.task else 0),
        "progress": episode.progress,
        "reward": episode.reward,
        "steps": episode.num_steps or len(episode.messages),
        "calls": episode.calls,
        "errors": episode.errors,
        "hints": episode.hints,
        "tokens": episode.prompt_tokens + episode.completion_tokens,
        "seconds": episode.seconds,
        "request": turns[0].request[:_EXCERPT] if turns else "",
        **viewed.opened.extras,
    }
    return {name: value for name, value in data.items() if value not in ("", 0, [], False)}


def detail(viewed: ViewedEpisode, keep: Keep) -> dict[str, Any]:
    """Return all that is shown of an episode.

    Args:
        viewed: The episode.
        keep: Takes each text, and returns what stands for it.
    """
    episode, playback = viewed.opened.episode, viewed.playback
    data: dict[str, Any] = {"notes": [keep(note) for note in viewed.notes]}
    if episode.broken:
        data["broken"] = keep(episode.broken)
    if playback is None:
        data["unsent"] = [keep(message) for message in episode.messages]
        return data
    originals = viewed.task.turns if viewed.task else ()
    data["turns"] = [_turn(turn, original, keep) for turn, original in zip(playback.turns, originals, strict=False)]
    data["unsent"] = [keep(message) for message in playback.unsent]
    data["unreached"] = [keep(request) for request in originals[len(playback.turns) :]]
    return data


def _passed(viewed: ViewedEpisode) -> int:
    if viewed.playback is None:
        return round(viewed.opened.episode.progress * viewed.opened.episode.num_turns)
    return sum(turn.result.passed for turn in viewed.playback.turns if turn.result)


def _pips(viewed: ViewedEpisode) -> str:
    """Return a mark for each turn: 1 passed, 0 not, - not finished."""
    if viewed.task is None or viewed.playback is None:
        return ""
    marks = [str(int(turn.result.passed)) if turn.result else "-" for turn in viewed.playback.turns]
    return "".join(marks).ljust(viewed.task.num_turns, "-")


def _turn(turn: PlayedTurn, original: str, keep: Keep) -> dict[str, Any]:
    """Return a turn; tool documentation that came before the user's words stands by itself."""
    data: dict[str, Any] = {"request": keep(turn.request)}
    if turn.request != original and turn.request.endswith(original):
        data = {"request": keep(original), "tools": keep(turn.request.removesuffix(original).rstrip("\n"))}
    if turn.note:
        data["note"] = keep(turn.note)
    data["expected"] = [keep(call) for call in turn.expected]
    data["steps"] = [_step(step, keep) for step in turn.steps]
    if turn.result is not None:
        result = turn.result
        data |= {"state": result.state_ok, "results": result.response_ok, "passed": result.passed}
        if result.error_type:
            data["error"] = keep(result.error_type)
    if turn.differences:
        shown = turn.differences[:MAX_DIFFERENCES]
        data["differences"] = [_difference(one, keep) for one in shown]
        data["hidden"] = len(turn.differences) - len(shown)
    return data


def _step(step: PlayedStep, keep: Keep) -> dict[str, Any]:
    data: dict[str, Any] = {"message": keep(step.message)}
    if step.calls:
        data["calls"] = [keep(call) for call in step.calls]
    if step.answer is not None:
        data["answer"] = keep(step.answer)
    if step.thought:
        data["thought"] = keep(step.thought)
    if not step.format_ok:
        data["informal"] = True
    if step.results:
        data["results"] = [_result(result, keep) for result in step.results]
    return data


def _result(result: ShownResult, keep: Keep) -> dict[str, Any]:
    data: dict[str, Any] = {"text": keep(result.official)}
    if result.tool:
        data["tool"] = keep(result.tool)
    if result.is_augmented:
        data["hint"] = keep(result.hint)
    if result.error:
        data["error"] = keep(result.error)
    return data


def _difference(difference: StateDifference, keep: Keep) -> list[Any]:
    """Return kind, place, and what was expected and found there; None where there is nothing."""
    expected = None if difference.kind == "extra" else keep(as_json(difference.expected))
    actual = None if difference.kind == "missing" else keep(as_json(difference.actual))
    return [difference.kind, keep(difference.where), expected, actual]


def as_json(value: Any) -> str:
    """Return a value of a state as it is shown."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _LINE else json.dumps(value, ensure_ascii=False, indent=1)
    except (RecursionError, TypeError, ValueError):
        return "(nested too deep to show)"
