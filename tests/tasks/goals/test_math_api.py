import re

import pytest

from envtune_gym.domains import domain_class
from envtune_gym.tasks.goals import goals_of

from .planned import plans, told_before

DOMAIN = "MathAPI"
SUBJECTS = "scores|rents|ages|heights|takings|lap times|prices|rainfall|weights|visitors|lengths|marks"
SHORT = r"that (mean|average|sum|total|product|quotient|difference|percentage|power|maximum|minimum|deviation)\b"


@pytest.fixture(scope="module")
def some_plans():
    return plans(DOMAIN, 300)


def steps_of(plan):
    return [step for turn in plan.turns for step in turn]


def test_every_tool_and_every_goal_occurs(some_plans):
    steps = [step for plan in some_plans for step in steps_of(plan)]
    assert {call.name for step in steps for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_what_is_calculated_with_is_said_or_has_been_shown(some_plans):
    reused = 0
    for plan in some_plans:
        said = ""
        for step, name, value in told_before(plan):
            said += step.request
            if name in {"a", "number", "part"}:
                assert str(value) in said or str(value) in step.shown
                reused += str(value) not in said
    assert reused > 100


def test_no_list_is_told_twice_with_other_numbers(some_plans):
    for plan in some_plans:
        subjects = [
            subject
            for step in steps_of(plan)
            if step.goal in {"average_a_series", "add_up_a_series"}
            for subject in re.findall(SUBJECTS, step.request)
        ]
        assert len(subjects) == len(set(subjects))


def test_short_words_stand_for_the_figure_spoken_of_last(some_plans):
    found = 0
    for plan in some_plans:
        steps = steps_of(plan)
        for place, step in enumerate(steps):
            if re.search(SHORT, step.request):
                found += 1
                values = [number for _, number in _numbers(step)]
                before = next(one for one in reversed(steps[:place]) if _result(one) in values or _uses(one, values))
                between = steps[steps.index(before) + 1 : place]
                assert not any(one.calls[0].name in {"logarithm", "square_root"} for one in between), step.request
    assert found > 50


def _numbers(step):
    return [(name, value) for name, value in step.calls[0].kwargs.items() if isinstance(value, (int, float))]


def _result(step):
    shown = re.search(r'"result": (-?[\d.e+-]+)', step.results[0])
    return float(shown[1]) if shown else None


def _uses(step, values):
    return any(value in values for _, value in _numbers(step))
