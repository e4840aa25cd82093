from random import Random

import gymnasium as gym
import pytest

import envtune_gym  # noqa: F401 (registers the environments)
from envtune_gym import load_tasks
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.corruption import DEVELOPMENT, KINDS, corrupt
from envtune_gym.evaluation.failing import Judgement, draw_failing_cases, failing_case, judge
from envtune_gym.evaluation.scenes import scenes
from envtune_gym.tasks import TaskSet


def _say(name, **arguments):
    return render_calls([Call(name, arguments)], "tool_call")


def _case(task, tool, kind="misspelt_tool"):
    (scene,) = (scene for scene in scenes(task) if scene.call.name == tool)
    return failing_case(corrupt(scene, kind, Random(0)))


@pytest.fixture
def closing(ticket_task):
    """The call that closes the ticket is misspelt, in the second turn."""
    return _case(ticket_task, "close_ticket")


def test_a_case_is_the_ground_truth_up_to_the_call_that_fails(closing):
    opened = _say("create_ticket", title="Lamp", description="The lamp is broken.")
    assert closing.before == (opened, render_answer("Done.", "tool_call"))
    assert closing.needed == (Call("close_ticket", {"ticket_id": 7}), Call("mean", {"numbers": [1, 2, 6]}))
    assert closing.right == _say("close_ticket", ticket_id=7)
    assert "close_ticket" not in closing.broken


def test_only_the_next_call_of_the_ground_truth_is_right(closing):
    assert judge(closing, closing.right) == Judgement("call", right=True, succeeds=True)
    assert judge(closing, _say("mean", numbers=[1, 2, 6])) == Judgement("call", succeeds=True)
    for other in (_say("get_ticket", ticket_id=7), _say("close_ticket", ticket_id=8), _say("mean", numbers=[1])):
        assert judge(closing, other) == Judgement("call")


def test_what_is_no_call_is_never_right(closing):
    assert judge(closing, closing.broken) == Judgement("call", repeated=True)
    assert judge(closing, "<answer>Done.</answer>") == Judgement("answer")
    assert judge(closing, "<tool_call>[{]</tool_call>").read == "unreadable"
    assert judge(closing, "").read != "call"


def test_the_first_of_several_calls_counts(closing):
    right, other = Call("close_ticket", {"ticket_id": 7}), Call("get_ticket", {"ticket_id": 7})
    assert judge(closing, render_calls([right, other], "tool_call")).right
    assert not judge(closing, render_calls([other, right], "tool_call")).succeeds


def test_a_call_that_comes_to_the_same_succeeds_without_being_right(ticket_task):
    opening = _case(ticket_task, "create_ticket")
    spelt_out = _say("create_ticket", title="Lamp", description="The lamp is broken.", priority=1)
    assert judge(opening, spelt_out) == Judgement("call", succeeds=True)


def test_judging_leaves_no_trace(closing):
    before = closing.world.state()
    assert judge(closing, closing.right) == judge(closing, closing.right)
    assert closing.world.state() == before


def test_a_repeated_message_that_cannot_be_read_is_recognised(ticket_task):
    case = _case(ticket_task, "close_ticket", "list_unclosed")
    assert judge(case, case.broken) == Judgement("unreadable", repeated=True)


@pytest.fixture(scope="module")
def drawn():
    return draw_failing_cases(load_tasks("generated", categories=("base",), split="train")[:60], tuple(KINDS), 0, 60)


def test_kinds_take_turns(drawn):
    counts = [sum(case.kind == kind for case in drawn) for kind in DEVELOPMENT]
    assert len(drawn) == 60
    assert max(counts) <= 4
    assert sum(map(bool, counts)) > 8


def test_corrections_fail_once_and_reach_what_the_turn_is_about(drawn):
    tasks = TaskSet({case.task.id: case.task for case in drawn}.values())
    env = gym.make("EnvTune/MultiDomain-v0", tasks=tasks, offer="strict", disable_env_checker=True)
    for case in drawn:
        env.reset(options={"task_id": case.task.id})
        failed = []
        for message in case.corrected:
            info = env.step(message)[4]
            if "parse_error" in info or any(result["error"] for result in info["tool_results"]):
                failed.append(message)
        assert failed == [case.broken]
        assert info["turn_results"][-1]["state_ok"]


def test_what_does_not_fail_gives_no_case(ticket_task, withheld_task):
    (scene,) = (scene for scene in scenes(withheld_task) if scene.call.name == "close_ticket")
    assert failing_case(corrupt(scene, "withheld_tool", Random(0))) is None  # no call is right yet
