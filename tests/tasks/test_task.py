import json
import pickle

import pytest

from envtune_gym import World
from envtune_gym.errors import TaskError
from envtune_gym.official import data_folder
from envtune_gym.tasks import CATEGORIES, Task


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "two words"}, "id:"),
        ({"id": ""}, "id:"),
        ({"id": "\x07"}, "id:"),
        ({"category": "hard"}, "category: unknown category 'hard'; known: base, miss_func"),
        ({"category": "base+miss_func"}, "category:"),
        ({"category": "miss_func+miss_func"}, "category:"),
        ({"domains": ["MathApi"]}, "domains: unknown domain 'MathApi'; known: GorillaFileSystem"),
        ({"domains": ["MathAPI", "MathAPI"]}, "domains:"),
        ({"domains": []}, "domains:"),
        ({"turns": []}, "turns:"),
        ({"turns": "Add."}, "turns:"),
        ({"turns": ["Add.", ""]}, "turns.1:"),
        ({"turns": ["Add.", "\ud800"]}, "turns.1:"),
        ({"ground_truth": [[]]}, "ground_truth: must have an entry for each of the 2 turns"),
        ({"ground_truth": [["add("], []]}, "ground_truth.0.0:"),
        ({"ground_truth": [[], ["add(a=2, b=3)", "cd(folder='x')"]]}, "ground_truth.1.1: 'cd' is not a tool"),
        ({"ground_truth": [[], ["add(a=[ls()], b=3)"]]}, "ground_truth.1.0: 'ls' is not a tool"),
        ({"missed_functions": {0: ["add"]}}, "missed_functions: turn 0 "),
        ({"missed_functions": {2: ["add"]}}, "missed_functions: turn 2 "),
        ({"missed_functions": {1: ["cd"]}}, "missed_functions.1: 'cd'"),
        ({"excluded_functions": ["cd"]}, "excluded_functions: 'cd'"),
        ({"initial_config": {"MathAPI": {"x": object()}}}, "initial_config.MathAPI.x:"),
        ({"initial_config": {"MathAPI": {"x": float("nan")}}}, "initial_config.MathAPI.x"),
        ({"source": "bfcl", "source_version": "2025.1.1"}, "source_version: BFCL data of version"),
        ({"grund_truth": []}, "grund_truth:"),
    ],
)
def test_mistakes_name_the_task_and_the_field(make_task, changes, message):
    with pytest.raises(TaskError) as caught:
        make_task(**changes)
    assert f"task {changes.get('id', 'sum')!r}: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(TaskError) as again:
        Task.model_validate({**make_task().model_dump(), **changes})
    assert str(again.value) == str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_broken_json_is_a_task_error(text):
    with pytest.raises(TaskError):
        Task.model_validate_json(text)


def test_equal_content_is_equal_and_hashes_alike(make_task):
    one, two, other = make_task(), make_task(), make_task(initial_config={"MathAPI": {"x": 1}})
    assert one == two
    assert len({one, two, other}) == 2
    assert make_task(initial_config={"MathAPI": {"x": 1.0}}) != other
    assert one.model_copy(update={"id": "other"}).fingerprint != one.fingerprint
    with pytest.raises(TaskError):
        one.model_copy(update={"domains": ("Nowhere",)})


def test_nothing_is_shared_with_what_it_was_made_from(make_task):
    config = {"MathAPI": {"list": [1, {"deep": 2}]}}
    task = make_task(initial_config=config)
    config["MathAPI"]["list"][1]["deep"] = 3
    assert task.initial_config == {"MathAPI": {"list": [1, {"deep": 2}]}}
    task.to_bfcl()["initial_config"]["MathAPI"]["list"].clear()
    assert task.initial_config == {"MathAPI": {"list": [1, {"deep": 2}]}}


def test_withheld_tools_come_back_at_their_turn(make_task):
    task = make_task(category="miss_func", missed_functions={1: ["add", "mean"]})
    assert (task.withheld(0), task.withheld(1)) == ({"add", "mean"}, frozenset())
    entry = task.to_bfcl()
    assert entry["question"] == [[{"role": "user", "content": "Add 2 and 3."}], []]
    assert entry["missed_function"] == {"1": ["add", "mean"]}
    assert entry["path"] == ["MathAPI.add", "MathAPI.add"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_official_entries_round_trip(official, category):
    path = data_folder() / f"data/BFCL_v4_multi_turn_{category}.json"
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        task = official.get(entry["id"])
        assert json.dumps(task.to_bfcl()) == json.dumps(entry)
        assert Task.model_validate_json(task.model_dump_json()).fingerprint == task.fingerprint
        assert pickle.loads(pickle.dumps(task)) == task


def test_a_world_leaves_no_trace_in_its_task(official):
    for task in official[::40]:
        before = task.model_dump_json()
        world = World(task.domains, task.initial_config, task.long_context)
        for call in (call for calls in task.ground_truth for call in calls):
            world.execute(call)
        assert task.model_dump_json() == before
