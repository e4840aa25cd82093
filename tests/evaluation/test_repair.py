import json

import gymnasium as gym
import pytest

import envtune_gym  # noqa: F401 (registers the environments)
from envtune_gym import load_tasks
from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.corruption import Corruption
from envtune_gym.evaluation.repair import draw_corruptions, is_repaired, repair_rate
from envtune_gym.evaluation.scenes import scenes
from envtune_gym.tasks import TaskSet


def _make(tasks):
    return gym.make("EnvTune/MultiDomain-v0", tasks=tasks, offer="strict", disable_env_checker=True)


class _Advice(gym.Wrapper):
    """Adds one sentence to every observation that has an error in it."""

    def __init__(self, env, advice):
        super().__init__(env)
        self.advice = advice

    def step(self, action):
        observation, *rest = self.env.step(action)
        if "rror" in observation:
            result = json.loads(observation)[-1]
            observation = json.dumps([{**result, "content": f"{result['content']} {self.advice}"}])
        return observation, *rest


@pytest.fixture
def tasks():
    return load_tasks("generated", split="train")[:80]


def _corruption(task, *turns):
    return Corruption("custom", task, turns, "error")


def test_a_plan_without_mistakes_counts_as_repaired(tasks):
    env = _make(tasks)
    for task in list(tasks)[:20]:
        last = list(scenes(task))[-1]
        assert is_repaired(env, _corruption(task, *last.turns))


def test_a_plan_that_leaves_a_call_out_does_not(ticket_task):
    env = _make(TaskSet([ticket_task]))
    ticket = Call("create_ticket", {"title": "Lamp", "description": "The lamp is broken."})
    assert is_repaired(env, _corruption(ticket_task, (ticket,)))
    assert not is_repaired(env, _corruption(ticket_task, ()))
    assert not is_repaired(env, _corruption(ticket_task, (ticket,), (Call("close_ticket", {"ticket_id": 7}),)))


def test_a_side_effect_of_a_wrong_try_counts_against_it(ticket_task):
    env = _make(TaskSet([ticket_task]))
    ticket = Call("create_ticket", {"title": "Lamp", "description": "The lamp is broken."})
    assert not is_repaired(env, _corruption(ticket_task, (ticket, ticket)))


def test_an_unsolvable_turn_is_repaired_by_saying_so_alone(withheld_task):
    [case] = draw_corruptions([withheld_task], "withheld_tool", 0, 1)
    env = _make(TaskSet([withheld_task]))
    assert not is_repaired(env, case)
    assert is_repaired(_Advice(env, "Tell the user that this tool is missing."), case)


def test_text_that_says_more_is_worth_more(tasks):
    kinds = ("withheld_tool",)
    standard = repair_rate(tasks, kinds, _make, per_kind=5)
    advised = repair_rate(tasks, kinds, lambda served: _Advice(_make(served), "Tell the user."), per_kind=5)
    assert standard.total.share == 0
    assert advised.total.share == 1
    assert standard.by_kind["withheld_tool"].cases == 5


def test_the_same_seed_gives_the_same_report(tasks):
    kinds = ("id_off_by_one", "missing_argument", "python_syntax")
    report = repair_rate(tasks, kinds, _make, 3, per_kind=6)
    assert repair_rate(tasks, kinds, _make, 3, per_kind=6) == report
    assert set(report.by_kind) == set(kinds)
    for rate in (report.total, *report.by_kind.values()):
        assert 0 <= rate.low <= rate.share <= rate.high <= 1
    assert draw_corruptions(tasks, kinds[0], 3, 6) != draw_corruptions(tasks, kinds[0], 4, 6)


def test_an_unknown_kind_is_named(tasks):
    with pytest.raises(ConfigurationError, match="unknown kind of corruption 'typo'"):
        repair_rate(tasks, ("typo",), _make)


def test_kinds_that_apply_nowhere_are_an_error(ticket_task):
    with pytest.raises(ConfigurationError, match="no corruption applies"):
        repair_rate([ticket_task], ("withheld_tool",), _make)
