"""What is promised of every goal, whichever domain it belongs to."""

from collections import Counter, defaultdict

import pytest

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks.generated import source
from envtune_gym.tasks.goals import Plan, base, goal, goals_of, scenario, scenario_of
from envtune_gym.tasks.goals.wording import count_wordings, names_in

GOALS = goals_of(BUILTIN_DOMAINS)
LEFT_OUT = {"get_outside_temperature_from_weather_com"}  # it always fails


class Used:
    """How a goal was used in a few thousand tasks."""

    def __init__(self):
        self.requests, self.vague, self.answers = set(), set(), set()
        self.tools, self.withheld = set(), set()
        self.values = {}


@pytest.fixture(scope="module")
def used():
    found = defaultdict(Used)
    ask = Plan.ask

    def spy(plan, *requests, vague=(), answer=(), withhold=(), **values):
        goal = found[plan.steps[-1].goal]
        goal.requests.update(requests)
        goal.vague.update(vague)
        goal.answers.update(answer)
        goal.withheld.update(withhold)
        goal.values.update(values)
        ask(plan, *requests, vague=vague, answer=answer, withhold=withhold, **values)

    call = Plan.call

    def spy_on_calls(plan, name, /, **arguments):
        found[plan.steps[-1].goal].tools.add(name)
        return call(plan, name, **arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "ask", spy)
        patch.setattr(Plan, "call", spy_on_calls)
        stream = source(categories=("base",), split="train", difficulty=(3, 4, 5))
        for index in range(1200):
            stream.make(index, Counter())
    return found


def test_there_are_sixty_goals_and_every_one_is_in_the_default_stream(used):
    assert len(GOALS) >= 60
    assert set(GOALS) == set(used)


def test_every_tool_that_can_succeed_is_called_by_a_goal(used):
    tools = {tool for domain in BUILTIN_DOMAINS for tool in domain_class(domain).tools}
    assert set.union(*(goal.tools for goal in used.values())) == tools - LEFT_OUT


@pytest.mark.parametrize("name", GOALS)
def test_a_goal_has_eight_wordings_that_begin_with_words(name, used):
    assert count_wordings(used[name].requests) >= 8
    for template in (*used[name].requests, *used[name].vague):
        assert not template.startswith("{"), "what begins with a value cannot follow 'Then:'"


@pytest.mark.parametrize("name", GOALS)
def test_a_goal_gives_what_its_wordings_speak_of_and_answers_what_it_leaves_out(name, used):
    goal = used[name]
    assert names_in(goal.requests | goal.vague | goal.answers) <= set(goal.values)
    assert bool(goal.vague) == bool(goal.answers)
    assert goal.withheld <= goal.tools
    assert goal.tools <= {tool for domain in GOALS[name].domains for tool in domain_class(domain).tools}


def test_goals_that_join_domains_call_tools_of_each_or_use_what_one_has_given(used):
    joined = [one for one in GOALS.values() if len(one.domains) > 1]
    assert len(joined) >= 8
    for one in joined:
        called = [domain for domain in one.domains if used[one.name].tools & set(domain_class(domain).tools)]
        assert len(called) > 1 or (called and one.needs), one.name


@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_most_goals_of_a_domain_can_leave_something_out_or_miss_a_tool(domain, used):
    own = [used[name] for name, goal in GOALS.items() if goal.domains == (domain,)]
    assert sum(bool(goal.vague) for goal in own) >= 4
    assert sum(bool(goal.withheld) for goal in own) >= 4


def test_names_are_unique_and_a_domain_has_one_scenario():
    def add_to_a_figure(plan): ...

    goals_of(("MathAPI",))
    with pytest.raises(ConfigurationError, match="'add_to_a_figure' exists already"):
        goal("MathAPI")(add_to_a_figure)
    with pytest.raises(ConfigurationError, match="MathAPI has a scenario already"):
        scenario("MathAPI")(lambda plan: {})
    assert scenario_of("MathAPI")(Plan(("MathAPI",), "any")) == {}


def test_a_domain_without_a_scenario_is_told(monkeypatch):
    monkeypatch.delitem(base._SCENARIOS, "MathAPI")
    with pytest.raises(ConfigurationError, match="MathAPI has no scenario"):
        scenario_of("MathAPI")
