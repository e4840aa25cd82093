from dataclasses import asdict

import pytest

pytest.importorskip("trl")

from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.integrations.rollout import RolloutRecord
from envtune_gym.integrations.statistics import rollout_statistics, share_without_spread
from envtune_gym.wrappers import FormatRewardWrapper, ToolRLRewardWrapper

from .helpers import SOLUTION, answer, call

RECORDS = [
    RolloutRecord(
        task_id="a", category="base", domains=["MathAPI"], stage="one", reward=2.0, success=True, progress=1.0,
        num_turns=1, passed=[True], num_steps=4, format_errors=1, errors=2, hints=1,
    ),
    RolloutRecord(
        task_id="b", category="miss_func", domains=["MathAPI", "TicketAPI"], stage="one", reward=0.0, progress=0.5,
        num_turns=10, passed=[False, True], num_steps=2, format_errors=2, errors=2, hints=2, truncated_by="tokens",
    ),
    RolloutRecord(broken="ValueError: no"),
]  # fmt: skip


def test_figures_are_means_over_the_rollouts_they_are_of():
    figures = rollout_statistics([asdict(record) for record in RECORDS])
    assert figures["rollout/success"] == pytest.approx(1 / 3)
    assert figures["rollout/hint_rate"] == pytest.approx(3 / 4)
    assert figures["rollout/truncated_by_tokens"] == pytest.approx(1 / 3)
    assert figures["rollout/broken"] == pytest.approx(1 / 3)
    assert figures["component/progress"] == pytest.approx(0.5)
    assert figures["component/format"] == pytest.approx(0.75 / 3)
    assert figures["category/base/reward"] == 2.0
    assert figures["domain/MathAPI/progress"] == pytest.approx(0.75)
    assert figures["domain/TicketAPI/verdict"] == 0.0
    assert figures["stage/one/reward"] == pytest.approx(1.0)


def test_a_rollout_that_never_began_belongs_to_no_group():
    figures = rollout_statistics([asdict(RECORDS[2])])
    assert not [name for name in figures if name.startswith(("category/", "domain/", "stage/"))]
    assert figures["rollout/hint_rate"] == 0.0


def test_a_turn_passes_as_often_as_it_does_in_the_rollouts_whose_task_has_it():
    figures = rollout_statistics([asdict(record) for record in RECORDS])
    turns = {name: value for name, value in figures.items() if name.startswith("turn/")}
    assert turns == {"turn/1/passed": 0.5, "turn/2/passed": 1.0, **{f"turn/{n}/passed": 0.0 for n in range(3, 9)}}


def test_a_group_is_without_spread_if_its_rewards_are_equal_up_to_rounding():
    rewards = [1 / 3] * 3, [0.9 / 3 + 0.1, 0.4, 0.1 + 0.9 / 3], [0.0] * 3, [0.95, 0.95, 0.9500001]
    records = [{"reward": reward} for group in rewards for reward in group]
    assert share_without_spread(records, 3) == 0.75
    assert share_without_spread(records, 6) == 0.0


def paid_by(wrapper, run, make_env, *scripts, **limits):
    """Play scripts under a reward wrapper; return the records as dicts."""
    return [asdict(rollout.record) for rollout in run(*scripts, envs=[wrapper(make_env()) for _ in scripts], **limits)]


CLUMSY = (call("close_ticket", ticket_id=99), "<tool_call>[oops", *SOLUTION)


def test_the_share_of_working_calls_is_told_apart_where_it_is_paid(run, make_env):
    records = paid_by(FormatRewardWrapper, run, make_env, SOLUTION, CLUMSY, [answer(), answer()])
    figures = rollout_statistics(records, {"": "format"})
    assert figures["component/tool"] == pytest.approx((1 + 3 / 5 + 0) / 3)
    assert figures["category/base/tool"] == figures["domain/TicketAPI/tool"] == figures["component/tool"]
    for record in records[:2]:
        figures = rollout_statistics([record], {"": "format"})
        assert figures["component/format"] + figures["component/tool"] == pytest.approx(record["reward"])
    assert "component/tool" not in rollout_statistics(records, {"": "progress"})
    assert "component/tool" not in rollout_statistics(records)


def test_a_call_that_only_repeats_changes_neither_the_reward_nor_the_share_of_working_calls(run, make_env):
    [create, *others], fails, look = SOLUTION, CLUMSY[0], call("get_ticket", ticket_id=7)
    scripts = [fails, create, look, *others], [fails, create, *[look] * 4, *others]
    records = paid_by(FormatRewardWrapper, run, make_env, *scripts)
    shares = [rollout_statistics([record], {"": "format"})["component/tool"] for record in records]
    assert shares[0] == shares[1] == 4 / 5
    assert [record["reward"] for record in records] == [1 + 4 / 5] * 2
    assert records[1]["calls"] == records[0]["calls"] + 3


def test_the_share_of_working_calls_is_nothing_where_nothing_is_paid_for_it(run, make_env):
    [cut] = paid_by(FormatRewardWrapper, run, make_env, SOLUTION, max_steps=2)
    assert rollout_statistics([cut], {"": "format"})["component/tool"] == cut["reward"] == 0.0


def test_the_match_of_toolrl_is_told_apart_where_it_is_paid(run, make_env):
    [right, clumsy, idle] = paid_by(ToolRLRewardWrapper, run, make_env, SOLUTION, CLUMSY, [answer(), answer()])
    [cut] = paid_by(ToolRLRewardWrapper, run, make_env, SOLUTION, max_steps=2)
    found = [rollout_statistics([one], {"": "toolrl"})["component/correct"] for one in (right, clumsy, idle, cut)]
    assert (found[0], found[2], found[3]) == (3.0, -3.0, 0.0)  # cut off after the first turn of two
    assert found[1] == pytest.approx(clumsy["reward"] - 3)  # a reply that cannot be read costs all of R_format
    assert 0 < found[1] < 3
    both = [{**right, "stage": "one"}, {**idle, "stage": "two"}]
    figures = rollout_statistics(both, {"one": "toolrl", "two": "progress"})
    assert figures["component/correct"] == figures["stage/one/correct"] == 3.0
    assert "stage/two/correct" not in figures


def test_records_that_do_not_tell_what_they_were_paid_are_left_out_of_it(run, make_env):
    [told, other] = paid_by(FormatRewardWrapper, run, make_env, SOLUTION, SOLUTION)
    untold = {name: value for name, value in other.items() if name != "reward_parts"}
    assert rollout_statistics([told, untold], {"": "format"})["component/tool"] == told["reward_parts"]["tool"]
    assert "component/tool" not in rollout_statistics([untold], {"": "format"})


def test_evaluated_episodes_have_no_stage_and_do_not_tell_turns_apart():
    episode = EvaluatedEpisode(
        task_id="a", category="base", num_turns=2, success=True, run=RunSettings(policy="x"), messages=[]
    )
    figures = rollout_statistics([episode.model_dump()])
    assert figures["category/base/verdict"] == 1.0
    assert not [name for name in figures if name.startswith(("turn/", "stage/"))]
