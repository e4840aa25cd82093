import hashlib

import pytest

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.tasks import TaskSet, load_tasks, save_jsonl
from envtune_gym.tasks.bfcl import BfclSource, bfcl_source


def test_official_splits_share_no_scenario(official):
    scenarios = {}
    for split, size in (("train", 400), ("val", 100), ("test", 300)):
        tasks = load_tasks("bfcl", split=split)
        assert len(tasks) == size
        scenarios[split] = {task_id.rsplit("_", 1)[1] for task_id in tasks.ids}
    assert len(set.union(*scenarios.values())) == sum(map(len, scenarios.values())) == 200
    listed = {split: " ".join(sorted(names, key=int)) for split, names in scenarios.items()}
    digests = [hashlib.sha256(listed[split].encode()).hexdigest()[:16] for split in ("train", "val")]
    assert digests == ["20b56eebce8cbd54", "ceaad4be216a1538"]  # of the paper's lists


def test_domains_means_any_of():
    either = load_tasks("bfcl", categories="base", domains=["MathAPI", "TravelAPI"])
    assert {"MathAPI", "TravelAPI"}.isdisjoint(set.union(*map(set, (t.domains for t in either)))) is False
    assert all({"MathAPI", "TravelAPI"} & set(task.domains) for task in either)
    assert len(load_tasks("bfcl", domains=["TravelAPI"])) == 200
    assert load_tasks(either, domains="MathAPI").ids == [t.id for t in either if "MathAPI" in t.domains]


def test_official_categories_and_the_message_of_returned_tools():
    tasks = load_tasks("bfcl", categories=("miss_func", "long_context"))
    assert tasks.categories == ("miss_func", "long_context")
    assert len(tasks) == 400
    task = tasks.get("multi_turn_miss_func_0")
    assert task.turns[3] == "I have updated some more functions you can choose from. What about now?"
    assert not task.long_context
    assert tasks.get("multi_turn_long_context_0").long_context
    assert (task.source, task.source_version) == ("bfcl", "2026.3.23")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "bfvl"}, "unknown task source 'bfvl'; known: 'generated', 'bfcl', the path"),
        ({"source": "bfcl", "categories": ["easy"]}, "unknown category 'easy'; known: base, miss_func"),
        ({"source": "bfcl", "categories": []}, "categories is empty"),
        ({"source": "bfcl", "split": "dev"}, "unknown split 'dev'; known: train, val, test, all"),
        ({"source": "bfcl", "domains": ["Maths"]}, "unknown domain 'Maths'; known: GorillaFileSystem"),
        ({"source": "bfcl", "difficulty": "easy"}, "difficulty applies to tasks='generated' only"),
    ],
)
def test_mistakes_name_what_is_known(arguments, message):
    with pytest.raises(ConfigurationError) as caught:
        load_tasks(**arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_changed_or_incomplete_official_data_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("envtune_gym.tasks.bfcl.data_folder", lambda: tmp_path)
    with pytest.raises(DataError, match=r"incomplete.*pip install"):
        bfcl_source.__wrapped__()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/BFCL_v4_multi_turn_base.json").write_text("{}")
    with pytest.raises(DataError, match=r"not that of version 2026\.3\.23; run: pip install"):
        bfcl_source.__wrapped__()


def test_official_tasks_are_made_once(official):
    assert isinstance(bfcl_source(), BfclSource)
    assert official[5] is load_tasks("bfcl", categories="base")[5]


def test_a_file_is_not_split(four_lines):
    with pytest.raises(ConfigurationError, match="not split"):
        load_tasks(four_lines, split="train")


@pytest.fixture
def four_lines(tmp_path, make_task):
    save_jsonl(TaskSet([make_task(id=name) for name in "abcd"]), tmp_path / "tasks.jsonl")
    return str(tmp_path / "tasks.jsonl")
