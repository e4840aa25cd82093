import pickle

import pytest

from envtune_gym.errors import DataError
from envtune_gym.tasks import load_tasks, save_jsonl


def test_round_trip(tmp_path, official, make_task):
    tasks = [*official[::90], make_task()]
    path = tmp_path / "tasks.jsonl"
    assert save_jsonl(tasks, path) == len(tasks)
    loaded = load_tasks(path)
    assert [task.fingerprint for task in loaded] == [task.fingerprint for task in tasks]
    assert pickle.loads(pickle.dumps(loaded)).ids == loaded.ids


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: task: "),
        ("\x00", "line 2: not JSON"),
        ("[" * 100_000, "line 2: not JSON"),
        ('{"id": "x"}', "line 2: task 'x': category: Field required"),
        ("SAME", "line 2: id: 'sum' stands in line 1 already"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, make_task, line, message):
    path = tmp_path / "tasks.jsonl"
    good = make_task().model_dump_json()
    path.write_text(f"{good}\n{good if line == 'SAME' else line}\n")
    with pytest.raises(DataError) as caught:
        load_tasks(path)
    assert str(caught.value).startswith(f"{path}, {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"\xff\xfe"])
def test_missing_empty_and_binary_files(tmp_path, content):
    path = tmp_path / "tasks.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"tasks\.jsonl"):
        load_tasks(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, make_task):
    path = tmp_path / "tasks.jsonl"
    save_jsonl([make_task()], path)

    def broken():
        yield make_task(id="new")
        raise KeyError

    with pytest.raises(KeyError):
        save_jsonl(broken(), path)
    assert load_tasks(path).ids == ["sum"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_changed_is_not_reopened(tmp_path, make_task):
    path = tmp_path / "tasks.jsonl"
    save_jsonl([make_task()], path)
    data = pickle.dumps(load_tasks(path))
    save_jsonl([make_task(id="other")], path)
    with pytest.raises(DataError, match="has changed"):
        pickle.loads(data)
