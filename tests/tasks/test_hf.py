import json
import sys

import pytest

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.tasks.difficulty import measure_difficulty

datasets = pytest.importorskip("datasets")


@pytest.fixture
def tasks(ticket_task, withheld_task, make_task):
    """Among them one with an outline of its own and one with nothing that a column's type could be told from."""
    outlined = make_task(path=["MathAPI.add"], source="mine", source_version="3")
    return TaskSet([outlined, make_task(id="idle", turns=["Hi."], ground_truth=[[]]), ticket_task, withheld_task])


def test_there_and_back(tasks):
    assert list(TaskSet.from_hf_dataset(tasks.to_hf_dataset())) == list(tasks)


def test_through_a_file(tasks, tmp_path):
    path = tmp_path / "tasks.parquet"
    tasks.to_hf_dataset().to_parquet(str(path))
    read = datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert list(TaskSet.from_hf_dataset(read)) == list(tasks)


def test_the_columns(tasks, ticket_task):
    dataset = tasks.to_hf_dataset()
    assert dataset.column_names[:6] == ["id", "category", "domains", "turns", "ground_truth", "initial_config"]
    row = dataset[2]
    assert (row["id"], row["domains"], row["turns"]) == ("ticket", ["TicketAPI", "MathAPI"], list(ticket_task.turns))
    assert row["ground_truth"][1] == ["close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])"]
    assert json.loads(row["initial_config"]) == ticket_task.initial_config
    assert (dataset[0]["source"], dataset[0]["version"]) == ("mine", "3")
    for name, value in measure_difficulty(ticket_task)._asdict().items():
        assert row[f"difficulty_{name}"] == value


def test_a_dataset_that_was_filtered_and_widened_is_read_too(tasks):
    dataset = tasks.to_hf_dataset().filter(lambda row: row["difficulty_calls"] > 2).map(lambda row: {"mine": 1})
    assert [task.id for task in TaskSet.from_hf_dataset(dataset)] == ["ticket", "withheld"]


def test_what_is_not_ours_is_named(tasks):
    dataset = tasks.to_hf_dataset()
    with pytest.raises(DataError, match="no column 'turns'"):
        TaskSet.from_hf_dataset(dataset.remove_columns("turns"))
    with pytest.raises(DataError, match="row 0 of the dataset: initial_config: not JSON"):
        TaskSet.from_hf_dataset(dataset.map(lambda row: {"initial_config": "{"}))
    with pytest.raises(DataError, match="row 1 of the dataset: task 'idle': category"):
        TaskSet.from_hf_dataset(dataset.map(lambda row: {"category": "odd" if row["id"] == "idle" else "base"}))


def test_an_endless_set_is_sliced_first():
    from envtune_gym import load_tasks

    with pytest.raises(ConfigurationError, match="slice it"):
        load_tasks("generated", domains=["MathAPI"]).to_hf_dataset()


def test_without_the_library_the_extra_is_named(tasks, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigurationError, match=r"envtune-gym\[train\]"):
        tasks.to_hf_dataset()


@pytest.mark.bfcl
def test_official_tasks(official):
    some = official.shuffle(0)[:12]
    assert list(TaskSet.from_hf_dataset(some.to_hf_dataset())) == list(some)
