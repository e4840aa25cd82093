from math import comb

import pytest

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.numbers.comparison import compare, mcnemar

from .runs import RUN, episode
from .test_summary import printed


def runs(outcomes):
    """Return two runs from the pairs of their outcomes."""
    return tuple(
        [episode(f"multi_turn_base_{number}", pair[which]) for number, pair in enumerate(outcomes)] for which in (0, 1)
    )


def test_what_flipped_is_named():
    found = compare(*runs([(True, True), (False, True), (True, False), (False, False), (False, True)]))
    assert [flip.task_id for flip in found.gained] == ["multi_turn_base_1", "multi_turn_base_4"]
    assert [(flip.task_id, flip.error_type) for flip in found.lost] == [
        ("multi_turn_base_2", "multi_turn:instance_state_mismatch")
    ]
    total = found.total
    assert (total.pairs, total.both, total.gained, total.lost, total.neither) == (5, 1, 2, 1, 1)
    assert total.accuracy == (0.4, 0.6)
    assert total.difference.value == pytest.approx(0.2)


def test_the_test_is_exact():
    assert mcnemar(0, 0) == mcnemar(4, 4) == 1.0
    assert mcnemar(10, 0) == pytest.approx(2 / 2**10)
    assert mcnemar(3, 9) == mcnemar(9, 3) == pytest.approx(2 * sum(comb(12, count) for count in range(4)) / 2**12)


def test_equal_runs_differ_in_nothing():
    run, _ = runs([(True, True), (False, False)])
    found = compare(run, run).to_dict()
    assert (found["gained"], found["lost"], found["total"]["p_value"]) == ([], [], 1.0)
    assert found["total"]["difference"] == {"value": 0.0, "low": 0.0, "high": 0.0}


def test_pairs_are_of_the_same_task_and_sample():
    old = [episode("multi_turn_base_1", False), episode("multi_turn_base_1", True, sample=1)]
    new = [episode("multi_turn_base_1", True, sample=1), episode("multi_turn_base_2", True)]
    found = compare(old, new, ("old", "new"))
    assert (len(found.pairs), found.alone) == (1, (1, 1))
    assert "1 episodes of old are not in the other run" in printed(found.tables())


def test_settings_that_differ_are_named():
    helped = RUN.model_copy(update={"feedback": "actionable", "policy": "other", "max_steps_per_turn": 5})
    found = compare([episode("multi_turn_base_1", False)], [episode("multi_turn_base_1", True, run=helped)])
    assert found.different_settings == {"feedback": ("off", "actionable"), "max_steps_per_turn": ("20", "5")}
    assert "not alike: feedback off in a, actionable in b" in printed(found.tables())


def test_other_tasks_are_refused():
    with pytest.raises(ConfigurationError, match="no task in common"):
        compare([episode("multi_turn_base_1", True)], [episode("multi_turn_base_2", True)])
    with pytest.raises(DataError, match="another one in the second run"):
        compare([episode("a", True, fingerprint="12")], [episode("a", True, fingerprint="34")])
    with pytest.raises(DataError, match="another one"):
        compare([episode("a", True)], [episode("a", True, source="generated 1")])
