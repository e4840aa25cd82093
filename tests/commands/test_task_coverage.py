from collections import Counter

import pytest

from envtune_gym.callsyntax import parse_call
from envtune_gym.domains import domain_class
from envtune_gym.tasks.generated import GeneratedSource
from envtune_gym.tasks.generation.coverage import measure_coverage
from envtune_gym.tasks.goals import goals_of

WORDS = ("tasks", "coverage", "--domains", "MathAPI", "--categories", "base,miss_func", "--difficulty", "2")


def test_figures_are_those_of_the_tasks(envtune_json):
    report = envtune_json(*WORDS, "--limit", "40")
    stream = GeneratedSource(["base", "miss_func"], domains=["MathAPI"], difficulty=2)
    discarded = Counter()
    tasks = [stream.make(index, discarded) for index in range(40)]
    turns = [tuple(tuple(parse_call(call).name for call in calls) for calls in task.ground_truth) for task in tasks]
    assert report["calls"] == {"MathAPI": Counter(name for task in turns for calls in task for name in calls)}
    assert report["distinct_sequences"] == len(set(turns))
    other_split = discarded.pop("other split")
    assert (report["other_split"], report["discarded"]) == (other_split, discarded)
    assert (report["tasks"], report["drafts"]) == (40, 40 + discarded.total())


def test_goals_and_tools_are_either_counted_or_named_as_missing(envtune_json):
    report = envtune_json(*WORDS, "--limit", "5")
    used, unused = set(report["goals"]), set(report["unused_goals"])
    assert used | unused == set(goals_of(("MathAPI",)))
    assert not used & unused
    assert report["distinct_goals"] == len(used)
    missing = {name.removeprefix("MathAPI.") for name in report["unused_tools"]}
    assert missing
    assert missing | set(report["calls"]["MathAPI"]) == set(domain_class("MathAPI").tools)
    # Two turns a task, each with one goal.
    assert sum(report["goals"].values()) == 2 * report["tasks"]


def test_time_is_given_by_category(envtune_json):
    costs = envtune_json(*WORDS, "--limit", "12")["costs"]
    assert costs.keys() == {"base", "miss_func"}
    assert sum(cost["tasks"] for cost in costs.values()) == 12
    for cost in costs.values():
        assert 0 < cost["proving"] < cost["making"]


def test_tables(envtune):
    code, out, _ = envtune(*WORDS, "--limit", "10")
    assert code == 0
    for title in ("Calls by tool", "Goals (", "Discarded of", "Time on one core"):
        assert title in out
    assert "10 tasks, " in out
    assert "tools that never occur: MathAPI." in out


def test_tasks_of_the_selection_alone_are_made():
    stream = GeneratedSource(["base"], "val", ["MathAPI"], 3)
    seen = []
    coverage = measure_coverage(stream, range(6, 9), on_task=lambda: seen.append(1))
    assert (coverage.tasks, coverage.domains, len(seen)) == (3, {"MathAPI"}, 3)
    assert coverage.costs["base"].rate > 1


@pytest.mark.parametrize("words", [("--domains", "Nowhere"), ("--difficulty", "9"), ("--categories", "easy")])
def test_unknown_names_are_one_line_on_stderr(envtune, words):
    code, out, err = envtune("tasks", "coverage", "--limit", "2", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_help_has_an_example(envtune):
    assert "envtune tasks coverage --limit" in envtune("tasks", "coverage", "--help")[1]
