import itertools
import re

import pytest

from envtune_gym.domains import domain_class
from envtune_gym.tasks.generation.planner import plan_task
from envtune_gym.tasks.generation.shape import Shape
from envtune_gym.tasks.goals import goals_of

from .planned import plans, told_before

DOMAIN = "GorillaFileSystem"
READING = ("cat", "grep", "wc", "tail", "sort", "diff")


@pytest.fixture(scope="module")
def some_plans():
    return plans(DOMAIN, 400)


def steps_of(plan):
    return [step for turn in plan.turns for step in turn]


def calls_of(plan):
    return [call.source() for step in steps_of(plan) for call in step.calls]


def names_in(entries):
    for name, entry in entries.items():
        yield name
        yield from names_in(entry.get("contents", {}))


def depth(entry):
    return 1 + max((depth(one) for one in entry["contents"].values() if one["type"] == "directory"), default=0)


def test_every_tool_and_every_goal_occurs(some_plans):
    steps = [step for plan in some_plans for step in steps_of(plan)]
    assert {call.name for step in steps for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_the_user_says_where_to_go_unless_a_search_has_shown_it(some_plans):
    seen = set()
    for plan in some_plans:
        for step, name, value in told_before(plan):
            if name == "folder":
                ways = {"..": "one level|up one|a level", "/": "root directory"}
                said = re.search(ways.get(value, rf"\b{re.escape(value)}\b"), step.request)
                assert said or (step.goal == "find_and_read" and f"{value}/" in step.shown), (step.request, value)
                seen.add(value if value in ways else "down")
    assert seen == {"..", "/", "down"}


def test_what_is_kept_from_results_is_in_no_message(some_plans):
    kept = 0
    for plan in some_plans:
        said = ""
        for step, name, value in told_before(plan):
            said += step.request
            if name == "content" and step.goal.startswith(("keep_", "write_down_")):
                assert value in step.shown
                kept += value not in said
    assert kept > 100


def test_nothing_is_read_twice(some_plans):
    for plan in some_plans:
        results = [
            result
            for step in steps_of(plan)
            for call, result in zip(step.calls, step.results, strict=True)
            if call.name in READING
        ]
        assert len(results) == len(set(results)), calls_of(plan)


def test_that_file_is_the_one_of_the_step_before(some_plans):
    found = 0
    for plan in some_plans:
        steps = steps_of(plan)
        for before, step in itertools.pairwise(steps):
            if re.search(r"(that|this|same) file", step.request):
                found += 1
                first = next(one for one in step.calls if set(one.kwargs) & {"file_name", "source"})
                name = first.kwargs.get("file_name", first.kwargs.get("source"))
                assert name in str([one.kwargs for one in before.calls]), (before.request, step.request)
    assert found > 20


def test_added_lines_leave_what_the_user_has_dictated(some_plans):
    added = 0
    for plan in some_plans:
        texts = {}
        for step in steps_of(plan):
            for call in step.calls:
                if call.name == "echo" and "file_name" in call.kwargs:
                    name, text = call.kwargs["file_name"], call.kwargs["content"]
                    if step.goal == "add_a_line":
                        added += 1
                        assert text.splitlines()[:-1] in [one.splitlines() for one in texts.values()]
                        assert f"'{text.splitlines()[-1]}'" in step.request
                    texts[name] = text
    assert added > 5


def test_filler_changes_no_request_and_no_call():
    same = 0
    for number in range(60):
        plain, filled = (
            plan_task((DOMAIN,), Shape(3, goals=2), f"filler/{number}", with_filler, lambda key: True)
            for with_filler in (False, True)
        )
        same += calls_of(plain) == calls_of(filled)
    assert same > 50  # an empty directory that filler lies in is not removed


def test_trees_differ_in_depth_and_subject(some_plans):
    roots = [next(iter(plan.config[DOMAIN]["root"].items())) for plan in some_plans]
    assert len({name for name, _ in roots}) == 20
    assert {depth(root) for _, root in roots} == {2, 3, 4}


def test_names_are_not_those_of_the_official_data(some_plans, official):
    ours = {name for plan in some_plans for name in names_in(plan.config[DOMAIN]["root"])}
    theirs = {
        name
        for task in official
        if "root" in task.initial_config.get(DOMAIN, {})
        for name in names_in(task.initial_config[DOMAIN]["root"])
    }
    assert theirs
    assert not ours & theirs


def test_what_a_result_has_shown_in_full_is_not_read_again(some_plans):
    asked = 0
    for plan in some_plans:
        shown = ""
        for step in steps_of(plan):
            for call, result in zip(step.calls, step.results, strict=True):
                if call.name in {"cat", "tail"}:
                    asked += 1
                    assert result[result.index(": ") + 3 : -2] not in shown, step.request
                shown += result
    assert asked > 100
