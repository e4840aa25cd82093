import pytest

from envtune_gym import Task, TaskSet
from envtune_gym.commands.selection import ENDLESS_LIMIT, Selection
from envtune_gym.errors import ConfigurationError, UnknownTaskError
from envtune_gym.tasks import CATEGORIES, load_quarantine, save_jsonl


@pytest.fixture
def many(tmp_path):
    """A file of twenty tasks, t0 to t19."""
    fields = {
        "category": "base",
        "domains": ["MathAPI"],
        "turns": ["Add 1 and 2."],
        "ground_truth": [["add(a=1, b=2)"]],
    }
    path = tmp_path / "many.jsonl"
    save_jsonl([Task(id=f"t{number}", **fields) for number in range(20)], path)
    return str(path)


def test_limit_takes_evenly_spaced_tasks(many):
    assert Selection(many, limit=3).load().ids == ["t0", "t6", "t13"]
    assert Selection(many, limit=40).load().ids == Selection(many).load().ids


@pytest.mark.bfcl
def test_a_few_official_tasks_are_of_all_chosen_categories():
    chosen = Selection("bfcl", limit=20).load()
    assert [chosen.with_categories([category]).ids[:2] for category in CATEGORIES] == [
        [f"multi_turn_{category}_0", f"multi_turn_{category}_40"] for category in CATEGORIES
    ]
    some = Selection("bfcl", categories=["miss_func,miss_param"], split="test", limit=10).load()
    assert [len(some.with_categories([category])) for category in CATEGORIES] == [0, 5, 5, 0]


def test_seed_shuffles_before_the_limit(many):
    chosen = Selection(many, limit=5, seed=4).load().ids
    assert chosen == Selection(many, seed=4).load().ids[:5] != ["t0", "t1", "t2", "t3", "t4"]
    assert set(Selection(many, seed=4).load().ids) == set(Selection(many).load().ids)


def test_an_endless_source_is_bounded_and_seed_chooses_the_part():
    assert len(Selection().load()) == ENDLESS_LIMIT
    parts = [tuple(Selection(limit=3, seed=seed).load().ids) for seed in (None, 1, 2, 1)]
    assert len(set(parts)) == 3
    assert parts[1] == parts[3]


@pytest.mark.parametrize("domains", [["TravelAPI,MathAPI"], ["TravelAPI", "MathAPI"], [" TravelAPI , MathAPI,"]])
def test_names_are_repeated_or_joined_by_commas(domains):
    tasks = Selection(domains=domains, limit=20).load()
    assert all({"TravelAPI", "MathAPI"} & set(task.domains) for task in tasks)


def test_an_empty_choice_is_refused(many):
    with pytest.raises(ConfigurationError, match="no task"):
        Selection(many, domains=["TravelAPI"]).load()
    with pytest.raises(ConfigurationError, match="no task is left"):
        Selection(many).choose(TaskSet([]))


@pytest.mark.bfcl
def test_quarantined_tasks_are_left_out_before_the_limit():
    unfair = set(load_quarantine())
    chosen = Selection("bfcl", categories=["base"], limit=180, skip_quarantined=True).load().ids
    assert len(chosen) == 180
    assert not unfair & set(chosen)
    assert unfair & set(Selection("bfcl", categories=["base"], limit=180).load().ids)


@pytest.mark.parametrize(
    ("task_id", "flag"),
    [("multi_turn_base_150", "--tasks bfcl"), ("my_task", "--tasks FILE")],
)
def test_an_unknown_task_is_told_with_the_flag_that_finds_it(task_id, flag):
    with pytest.raises(UnknownTaskError, match=rf"among the tasks of generated; .*{flag}$"):
        Selection().load_recorded([task_id])


@pytest.mark.parametrize("task_id", ["t99", "gen-TravelAPI-base-t1g1d1-test-0"])
def test_a_flag_is_named_only_where_it_would_help(many, task_id):
    with pytest.raises(UnknownTaskError) as raised:
        Selection(many).load_recorded(["t1", task_id])
    assert ("--tasks generated" in str(raised.value)) == task_id.startswith("gen-")
