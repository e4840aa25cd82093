"""The official multi-turn tasks, read from the installed `bfcl-eval` when they are touched."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from envtune_gym.errors import DataError
from envtune_gym.official import BFCL_VERSION, INSTALL_COMMAND, data_folder, load_prompts
from envtune_gym.tasks.source import TaskSource
from envtune_gym.tasks.splits import NUM_SCENARIOS, split_of
from envtune_gym.tasks.task import CATEGORIES, Task

__all__ = ["BfclSource", "bfcl_source"]

_ID = re.compile(r"multi_turn_(base|miss_func|miss_param|long_context)_(0|[1-9]\d{0,2})")

_SHA256 = {
    "data/BFCL_v4_multi_turn_base.json": "1a21a995d06fd6f2",
    "data/BFCL_v4_multi_turn_long_context.json": "78c3268c5cc8e97c",
    "data/BFCL_v4_multi_turn_miss_func.json": "87d28ce10e37d864",
    "data/BFCL_v4_multi_turn_miss_param.json": "f0c66dda3795f5f5",
    "data/possible_answer/BFCL_v4_multi_turn_base.json": "1fee67823b317571",
    "data/possible_answer/BFCL_v4_multi_turn_long_context.json": "e82aa0e839c39d23",
    "data/possible_answer/BFCL_v4_multi_turn_miss_func.json": "69e679b806d1c871",
    "data/possible_answer/BFCL_v4_multi_turn_miss_param.json": "59c442901779e2c3",
    "data/multi_turn_func_doc/gorilla_file_system.json": "c4c1b741c71e2a17",
    "data/multi_turn_func_doc/math_api.json": "83fa31708c89442b",
    "data/multi_turn_func_doc/message_api.json": "4d58ea933a5d2b28",
    "data/multi_turn_func_doc/posting_api.json": "87f9fc404a06e410",
    "data/multi_turn_func_doc/ticket_api.json": "31324e0380782664",
    "data/multi_turn_func_doc/trading_bot.json": "1a7933fd8f0cb8fb",
    "data/multi_turn_func_doc/travel_booking.json": "f17b950c13adddf4",
    "data/multi_turn_func_doc/vehicle_control.json": "0c8a66292844874e",
    "eval_checker/multi_turn_eval/func_source_code/long_context.py": "5c9a5710115609c7",
}
"""First 16 digits of the SHA-256 of each file that tasks depend on, in the pinned version."""


class BfclSource(TaskSource):
    """All 800 official tasks, category after category, in the order of the files."""

    name = "bfcl"
    version = BFCL_VERSION
    categories = CATEGORIES
    size = len(CATEGORIES) * NUM_SCENARIOS

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tasks: dict[int, Task] = {}
        self._lines: dict[str, tuple[list[str], list[str]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the instruction to open the data again."""
        return bfcl_source, ()

    def task(self, index: int) -> Task:
        """Return the task at an index."""
        task = self._tasks.get(index)
        if task is None:
            task = self._tasks[index] = self._make(self.category(index), index % NUM_SCENARIOS)
        return task

    def task_id(self, index: int) -> str:
        """Return the official id of the task at an index."""
        return f"multi_turn_{self.category(index)}_{index % NUM_SCENARIOS}"

    def category(self, index: int) -> str:
        """Return the category of the task at an index."""
        return CATEGORIES[index // NUM_SCENARIOS]

    def split(self, index: int) -> str | None:
        """Return the split of the task's scenario."""
        return split_of(index % NUM_SCENARIOS)

    def index_of(self, task_id: str) -> int | None:
        """Return the index of the task with an official id, or None."""
        match = _ID.fullmatch(task_id)
        if match is None or int(match[2]) >= NUM_SCENARIOS:
            return None
        return CATEGORIES.index(match[1]) * NUM_SCENARIOS + int(match[2])

    def _make(self, category: str, scenario: int) -> Task:
        entries, answers = self._read(category)
        entry = json.loads(entries[scenario])
        added = load_prompts()["DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"]
        return Task(
            id=entry["id"],
            category=category,
            domains=entry["involved_classes"],
            initial_config=entry["initial_config"],
            turns=[messages[0]["content"] if messages else added for messages in entry["question"]],
            ground_truth=json.loads(answers[scenario])["ground_truth"],
            missed_functions=entry.get("missed_function", {}),
            excluded_functions=entry.get("excluded_function", ()),
            long_context=category == "long_context",
            source=self.name,
            source_version=self.version,
            path=entry["path"],
        )

    def _read(self, category: str) -> tuple[list[str], list[str]]:
        """Return the lines of a category's two files; the tasks are decoded one by one, when touched."""
        if category not in self._lines:
            name = f"BFCL_v4_multi_turn_{category}.json"
            data = self._folder / "data"
            self._lines[category] = (_lines(data / name), _lines(data / "possible_answer" / name))
        return self._lines[category]


@lru_cache(maxsize=1)
def bfcl_source() -> BfclSource:
    """Return the source of the official tasks, one for the whole process.

    Raises:
        DataError: If the official data is missing, of another version, or changed.
    """
    folder = data_folder()
    for name, digest in _SHA256.items():
        _check_file(folder / name, digest)
    return BfclSource(folder)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


def _check_file(path: Path, digest: str) -> None:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"bfcl-eval is incomplete ({error}); run: {INSTALL_COMMAND} --force-reinstall") from error
    if not found.startswith(digest):
        raise DataError(
            f"{path.name} of bfcl-eval is not that of version {BFCL_VERSION}; run: {INSTALL_COMMAND} --force-reinstall"
        )
