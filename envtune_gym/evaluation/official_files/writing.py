"""A run as official result files, so that the benchmark's own scorer can judge it.

Under `decoder="official"` the replies stand in the files as they were. What another decoder or format understood is
written anew, so that the official decoder reads the same calls: in the native form for `tool_call` and `openai`, and as
Python text for `python`. A turn that was not finished is left out, which officially fails the task, as it does here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envtune_gym.calls import Reply, parse_action
from envtune_gym.calls.official import DecodeError, execution_strings
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.official_files.layout import result_file, task_number
from envtune_gym.evaluation.official_files.scoring import score_result
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks import Task
from envtune_gym.world import name_arguments

__all__ = ["Exported", "export_run", "official_result"]

Step = str | list[dict[str, str]] | None


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        files: Number of entries by file.
        differing: Ids of the tasks that officially get another verdict than was recorded: those that were played with
            tools refused (`offer="strict"`), say.
    """

    files: dict[Path, int]
    differing: list[str]


def export_run(
    episodes: Iterable[EvaluatedEpisode],
    folder: Path,
    model: str,
    find: Callable[[str, str], Task],
    sample: int = 0,
) -> Exported:
    """Write a run of official tasks in the official layout, over what the files held.

    Args:
        episodes: The episodes.
        folder: The folder that officially is called `result`.
        model: Name of the model, which decides how the official scorer decodes: one that it lists, of the mode that the
            run was played in.
        find: Returns the task with an id and a source.
        sample: Which sample of each task to write, for the files have one.

    Raises:
        ConfigurationError: If there is no such sample of an official task, or the name of the model cannot be used.
        DataError: If a file cannot be written, or an official task is not to be had.
    """
    entries: dict[str, list[dict[str, Any]]] = {}
    differing = []
    for episode in episodes:
        if episode.sample != sample or episode.source.partition(" ")[0] != "bfcl":
            continue
        task = find(episode.task_id, episode.source)
        result = official_result(episode, task)
        if score_result(task, result).valid != episode.success:
            differing.append(episode.task_id)
        entries.setdefault(task.category, []).append(_entry(episode, result))
    if not entries:
        raise ConfigurationError(f"sample {sample} has no episode of an official task; only those can be exported")
    files = {result_file(folder, model, category): found for category, found in entries.items()}
    for file, found in files.items():
        _write(file, sorted(found, key=lambda entry: task_number(entry["id"])))
    return Exported({file: len(found) for file, found in files.items()}, differing)


def official_result(episode: EvaluatedEpisode, task: Task) -> list[list[Step]]:
    """Return the finished turns of an episode as the official files have them: for each the steps.

    Args:
        episode: The episode.
        task: Its task.
    """
    turns: list[list[Step]] = []
    steps: list[Step] = []
    taken = 0
    for message in episode.messages:
        reply = parse_action(message, episode.run.action_format, decoder=episode.run.decoder)
        steps.append(_step(message, reply, episode, task))
        taken += reply.answer is None
        if reply.answer is not None or taken > episode.run.max_steps_per_turn:
            turns.append(steps)
            steps, taken = [], 0
    return turns


def _step(message: str, reply: Reply, episode: EvaluatedEpisode, task: Task) -> Step:
    """Return a reply as the official files have it."""
    run = episode.run
    if run.action_format == "python":
        return message if run.decoder == "official" else _as_python(reply, task)
    if run.action_format == "openai" and run.decoder == "official":
        return _as_sent(reply)
    if reply.calls:
        calls = [name_arguments(call, task.domains) for call in reply.calls]
        return [{call.name: json.dumps(dict(call.kwargs), ensure_ascii=False)} for call in calls]
    return reply.answer if reply.answer is not None else message


def _as_sent(reply: Reply) -> Step:
    """Return the tool calls of a message as they came, or its text."""
    entries = reply.message.get("tool_calls")
    if entries:
        return [{entry["function"]["name"]: entry["function"]["arguments"]} for entry in entries]
    return reply.answer if reply.answer is not None else ""


def _as_python(reply: Reply, task: Task) -> str:
    """Return a reply as the official prompting decoder is to read it."""
    if reply.calls:
        return f"[{', '.join(name_arguments(call, task.domains).source() for call in reply.calls)}]"
    answer = reply.answer or ""
    return "" if _would_run(answer) else answer


def _would_run(answer: str) -> bool:
    """Tell whether the official decoder finds calls in an answer: in a list that was cut off, say."""
    try:
        return bool(execution_strings(answer))
    except DecodeError:
        return False


def _entry(episode: EvaluatedEpisode, result: list[list[Step]]) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": episode.task_id, "result": result}
    if episode.prompt_tokens or episode.completion_tokens:
        entry |= {"input_token_count": episode.prompt_tokens, "output_token_count": episode.completion_tokens}
    return entry


def _write(file: Path, entries: Iterable[dict[str, Any]]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {file}: {error.strerror or error}") from error
