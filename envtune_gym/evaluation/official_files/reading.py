"""Official result files as episodes, with the official verdict, to be counted, compared and looked at.

Replies are decoded as the official handlers of OpenAI's models decode them, and those of most models in the prompting
mode. A model family that has a decoder of its own in the official package writes its steps in other forms, which do not
decode here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from envtune_gym.calls import render_answer
from envtune_gym.errors import DataError, EnvtuneError
from envtune_gym.evaluation.official_files.layout import find_files, model_of
from envtune_gym.evaluation.official_files.scoring import ResultStep, is_native, read_turns
from envtune_gym.evaluation.playback import play_again
from envtune_gym.evaluation.run_logs import read_lines
from envtune_gym.evaluation.runs.episode import new_record
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.scoring import FORCE_TERMINATED, score_trajectory
from envtune_gym.tasks import Task, load_tasks

__all__ = ["read_results"]

INFERENCE_ERROR = "multi_turn:inference_error"
"""The benchmark's name of a task to which the model gave no list of replies."""
_REASON_LENGTH = 500


def read_results(path: Path, on_episode: Callable[[], object] = lambda: None) -> dict[str, list[EvaluatedEpisode]]:
    """Return the scored episodes of result files by model.

    Args:
        path: A file, or a folder that holds some: of a model, or of many.
        on_episode: Called after each episode, for progress bars.

    Raises:
        DataError: If there is no such file, one cannot be read, a line is broken or names no official task, or the
            official data is missing.
    """
    episodes: dict[str, list[EvaluatedEpisode]] = {}
    for file in find_files(path):
        own = episodes.setdefault(model_of(file), [])
        seen = {episode.task_id for episode in own}
        for episode in _read_file(file):
            if episode.task_id in seen:
                raise DataError(f"{file}: task {episode.task_id!r} stands there, or in a file beside it, twice")
            seen.add(episode.task_id)
            own.append(episode)
            on_episode()
    return episodes


def _read_file(file: Path) -> Iterator[EvaluatedEpisode]:
    tasks = load_tasks("bfcl")
    lines = [(place, line, _task_of(line, tasks.get, place)) for place, line in read_lines(file)]
    native = any(is_native(line["result"]) for _, line, _ in lines)
    run = RunSettings(
        policy=f"official file: {model_of(file)}", action_format="openai" if native else "python", decoder="official"
    )
    for place, line, task in lines:
        yield _score(task, line["result"], run, place)


def _task_of(line: Any, find: Callable[[str], Task], place: str) -> Task:
    """Return the task of a line.

    Raises:
        DataError: If the line is no entry of a result file, or the task is not an official one.
    """
    if not isinstance(line.get("id"), str) or "result" not in line:
        raise DataError(f"{place}: no entry of a result file, which has 'id' and 'result'")
    try:
        return find(line["id"])
    except EnvtuneError as error:
        raise DataError(f"{place}: {error}") from None


def _score(task: Task, result: Any, run: RunSettings, place: str) -> EvaluatedEpisode:
    """Return the scored episode of an entry."""
    record = new_record(task, 0, run)
    if not isinstance(result, list):
        text = result if isinstance(result, str) else json.dumps(result)
        broken = " ".join(text.split())[:_REASON_LENGTH] or "no replies"
        return record.model_copy(update={"error_type": INFERENCE_ERROR, "broken": broken})
    if not all(isinstance(steps, list) for steps in result):
        raise DataError(f"{place}: result: it is a list (turns) of lists (steps)")
    turns = read_turns(result, run.action_format == "openai")
    verdict = score_trajectory(task, [[step.calls for step in steps if step.calls] for steps in turns])
    messages = [message for steps in turns[: task.num_turns] for message in _messages(steps, run)]
    results = [one for turn in play_again(task, messages, run).turns for step in turn.steps for one in step.results]
    replies = [step.reply for steps in turns for step in steps]
    is_cut = verdict.error_type == FORCE_TERMINATED and len(turns) < task.num_turns
    return record.model_copy(
        update={
            "turns": len(verdict.turns),
            "turns_passed": sum(turn.passed for turn in verdict.turns),
            "num_steps": len(replies),
            "calls": sum(len(reply.calls) for reply in replies),
            "errors": sum(bool(one.error) for one in results),
            "format_errors": sum(not reply.format_ok for reply in replies),
            "success": verdict.valid,
            "error_type": verdict.error_type,
            "progress": verdict.progress,
            "reward": float(verdict.valid),
            "truncated_by": "env" if is_cut and _is_long(turns[-1:], run) else "",
            "messages": messages,
        }
    )


def _is_long(turns: Sequence[Sequence[ResultStep]], run: RunSettings) -> bool:
    """Tell whether a turn took so many steps that the official harness stops the run."""
    return any(sum(bool(step.calls) for step in steps) > run.max_steps_per_turn for steps in turns)


def _messages(steps: Sequence[ResultStep], run: RunSettings) -> Iterator[str]:
    """Yield the messages that play a turn: steps that officially are dropped would end it, but for the last."""
    last = len(steps) - 1
    yield from (step.message for index, step in enumerate(steps) if step.calls or index == last)
    if (not steps or steps[-1].calls) and not _is_long([steps], run):
        yield render_answer("", run.action_format)
