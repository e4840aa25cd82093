"""Tasks as a dataset of Hugging Face's `datasets`, and back without loss.

Texts and lists are columns of their own, to be read and filtered; what differs from task to task in shape
(`initial_config`, `missed_functions`) is JSON text. The columns `difficulty_*` are measured and are not read back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from envtune_gym.errors import ConfigurationError, DataError, TaskError
from envtune_gym.tasks.difficulty import Difficulty, measure_difficulty
from envtune_gym.tasks.task import Task

if TYPE_CHECKING:
    from types import ModuleType

    import datasets

__all__ = ["from_dataset", "to_dataset"]

_PREFIX = "difficulty_"
_FIELDS = {
    "id": "id",
    "category": "category",
    "domains": "domains",
    "turns": "turns",
    "ground_truth": "ground_truth",
    "initial_config": "initial_config",
    "missed_functions": "missed_functions",
    "excluded_functions": "excluded_functions",
    "long_context": "long_context",
    "path": "path",
    "source": "source",
    "version": "source_version",
}
"""The task's field behind each column."""
_AS_JSON = ("initial_config", "missed_functions")


def to_dataset(tasks: Iterable[Task]) -> datasets.Dataset:
    """Return tasks as a dataset, one a row.

    Raises:
        ConfigurationError: If `datasets` is not installed.
    """
    library = _library()
    return library.Dataset.from_list([_row(task) for task in tasks], features=_features(library))


def from_dataset(dataset: datasets.Dataset) -> list[Task]:
    """Return the tasks of a dataset with the columns of `to_dataset`; others are left aside.

    Raises:
        DataError: If a column is missing, or a row is not a task; the message names the row and the field.
    """
    missing = [column for column in _FIELDS if column not in dataset.column_names]
    if missing:
        raise DataError(f"the dataset has no column {missing[0]!r}; TaskSet.to_hf_dataset() says which are needed")
    return [_task(number, row) for number, row in enumerate(dataset.select_columns(list(_FIELDS)))]


def _row(task: Task) -> dict[str, Any]:
    data = task.model_dump(mode="json")
    row = {column: data[field] for column, field in _FIELDS.items()}
    row.update({column: json.dumps(row[column]) for column in _AS_JSON})
    row.update({_PREFIX + name: value for name, value in measure_difficulty(task)._asdict().items()})
    return row


def _task(number: int, row: Mapping[str, Any]) -> Task:
    fields = {field: row[column] for column, field in _FIELDS.items()}
    try:
        for column in _AS_JSON:
            fields[column] = json.loads(fields[column])
        return Task.model_validate(fields)
    except (ValueError, TypeError, RecursionError) as error:  # a TaskError is a ValueError
        text = str(error) if isinstance(error, TaskError) else f"{column}: not JSON: {error}"
        raise DataError(f"row {number} of the dataset: {text}") from None


def _features(library: ModuleType) -> Any:
    """Return the types of the columns, which cannot be told from lists that are empty."""
    text, names = library.Value("string"), library.List(library.Value("string"))
    types = dict.fromkeys(_FIELDS, text)
    types.update(domains=names, turns=names, excluded_functions=names, path=names)
    types.update(ground_truth=library.List(names), long_context=library.Value("bool"))
    numbers = {_PREFIX + name: library.Value("int64") for name in Difficulty._fields}
    return library.Features({**types, **numbers})


def _library() -> ModuleType:
    try:
        import datasets
    except ModuleNotFoundError:
        raise ConfigurationError(
            'a dataset of Hugging Face needs datasets; run: pip install "envtune-gym[train]"'
        ) from None
    module: ModuleType = datasets
    return module
