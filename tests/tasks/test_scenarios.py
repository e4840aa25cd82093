import pytest

from envtune_gym import load_tasks
from envtune_gym.tasks.scenarios import scenario_of


@pytest.mark.bfcl
def test_an_official_scenario_has_a_task_in_each_category():
    scenarios = {}
    for task in load_tasks("bfcl"):
        scenarios.setdefault(scenario_of(task.id, f"{task.source} {task.source_version}"), set()).add(task.category)
    assert len(scenarios) == 200
    assert all(len(categories) == 4 for categories in scenarios.values())


def test_generated_variants_share_a_scenario():
    names = [f"gen-TravelAPI-{kind}-test-3" for kind in ("base-t3g2d1", "long_context-t3g2d1f8", "miss_func-t3g2d1")]
    assert len({scenario_of(name, "generated 2") for name in names}) == 1
    assert scenario_of("gen-TravelAPI-base-t3g2d1-test-4", "generated 2") != scenario_of(names[0], "generated 2")


def test_any_other_task_is_its_own():
    assert scenario_of("multi_turn_base_4", "custom") == "multi_turn_base_4"
    assert scenario_of("odd", "bfcl 2026.3.23") == "odd"
