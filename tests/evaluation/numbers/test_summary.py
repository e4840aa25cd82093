import io

import pytest
from rich.console import Console

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.numbers.summary import summarise

from .runs import RUN, episode


def printed(renderables):
    console = Console(file=io.StringIO(), width=200)
    for one in renderables:
        console.print(one)
    return console.file.getvalue()


def run_of_two_categories():
    """Return three base tasks of which two are solved, and a miss_func task that is not."""
    return [
        episode("multi_turn_base_1", True, domains=["TicketAPI", "MathAPI"], calls=4),
        episode("multi_turn_base_2", True, num_turns=3, turns=3),
        episode("multi_turn_base_3", False, progress=0.5),
        episode("multi_turn_miss_func_1", False),
    ]


def test_average_is_the_unweighted_mean_of_the_categories():
    found = summarise(run_of_two_categories()).to_dict()
    assert found["accuracy"] == pytest.approx({"base": 2 / 3, "miss_func": 0, "average": 1 / 3})
    assert found["progress"]["base"] == pytest.approx(2.5 / 3)
    assert found["leaderboard"]["multi_turn"] == pytest.approx(2 / 3 / 4)  # two categories were not run
    assert found["leaderboard"]["complete"] is False
    assert found["error_types"] == {"multi_turn:instance_state_mismatch": 2}
    assert found["total"]["accuracy"]["value"] == 0.5


def test_groups_by_domain_and_by_turns():
    found = summarise(run_of_two_categories())
    assert [(group.name, group.tasks, group.calls) for group in found.domains] == [
        ("MathAPI", 1, 4),
        ("TicketAPI", 4, 4),
    ]
    assert [(group.name, group.tasks, group.accuracy.value) for group in found.by_turns] == [
        ("2", 3, pytest.approx(1 / 3)),
        ("3", 1, 1.0),
    ]


def test_samples_of_a_task_are_attempts():
    samples = [episode("multi_turn_base_1", number < 1, sample=number) for number in range(4)]
    samples += [episode("multi_turn_base_2", number < 3, sample=number) for number in range(4)]
    found = summarise(samples).to_dict()
    assert (found["episodes"], found["distinct_tasks"]) == (8, 2)
    assert found["accuracy"]["base"] == found["pass@k"]["1"]["base"] == found["pass^k"]["1"]["base"] == 0.5
    assert found["pass@k"]["2"]["base"] == pytest.approx((0.5 + 1) / 2)
    assert found["pass^k"]["2"]["average"] == pytest.approx((0 + 0.5) / 2)
    assert found["pass@k"]["4"]["base"] == 1.0
    assert "pass^k" in printed(summarise(samples).tables())


def test_one_attempt_has_no_pass_at_k():
    assert summarise(run_of_two_categories()).to_dict()["pass@k"] == {}


def test_variants_of_a_scenario_narrow_no_interval():
    base = [episode(f"multi_turn_base_{number}", number % 2 == 0) for number in range(40)]
    variants = [episode(f"multi_turn_miss_param_{number}", number % 2 == 0) for number in range(40)]
    others = [episode(f"multi_turn_miss_param_{number + 40}", number % 2 == 0) for number in range(40)]
    one, alike, apart = (summarise(run).total.accuracy for run in (base, base + variants, base + others))
    assert (alike.low, alike.high) == (one.low, one.high)
    assert apart.high - apart.low < one.high - one.low
    assert one.low < 0.5 < one.high


def test_quarantined_tasks_are_named_and_left_out_beside():
    found = summarise([episode("multi_turn_base_178", False), episode("multi_turn_base_1", True)]).to_dict()
    assert found["quarantined"] == ["multi_turn_base_178"]
    assert found["accuracy"]["average"] == 0.5
    assert found["without_quarantined"]["average"] == 1.0
    assert summarise([episode("multi_turn_base_178", False)]).to_dict()["without_quarantined"] == {}


def test_the_level_of_feedback_is_always_stated():
    helped = RUN.model_copy(update={"feedback": "actionable"})
    found = summarise([episode("multi_turn_base_1", True), episode("multi_turn_base_2", True, run=helped)])
    assert found.to_dict()["feedback"] == "off, actionable"
    text = printed(found.tables())
    assert "feedback off, actionable" in text
    assert "offer official" in text
    assert "quarantined: none" in text


def test_other_tasks_have_no_place_on_the_leaderboard():
    found = summarise([episode("mine", True, category="base", source="custom")])
    assert found.leaderboard is None
    assert found.accuracy["average"].value == 1.0


def test_text_of_a_file_cannot_act_on_the_terminal():
    found = summarise([episode("mine", True, category="base\x1b[2J", source="cus\x07tom")])
    assert "\x1b" not in printed(found.tables())


def test_what_is_no_run_is_refused():
    with pytest.raises(ConfigurationError, match="no episode"):
        summarise([])
    with pytest.raises(DataError, match="sample 0 twice"):
        summarise([episode("multi_turn_base_1", True), episode("multi_turn_base_1", False)])
    with pytest.raises(DataError, match="do not mix"):
        summarise([episode("a", True), episode("a", True, sample=1, source="custom 2")])
