"""Random programs give the official results and states, in every domain and at both context lengths."""

import itertools

import pytest
from hypothesis import HealthCheck, given, seed, settings

from envtune_gym import World
from envtune_gym.domains import BUILTIN_DOMAINS

from .known_differences import KNOWN_DIFFERENCES, known_difference
from .oracle import assert_same_state, official_world
from .programs import is_well_typed, programs, scenarios
from .values import visible_state

WELL_TYPED, ILL_TYPED = 20_000, 10_000
"""Calls to compare over all domains and context lengths; each of the 16 tests does its share."""
PROGRAMS = 10
"""Programs of a round; rounds are added until the share is done. After ten Hypothesis mostly repeats earlier parts."""


@pytest.mark.parametrize("long_context", [False, True], ids=["plain", "long_context"])
@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_random_programs_give_the_official_results_and_states(domain, long_context, figures):
    shares = 2 * len(BUILTIN_DOMAINS)
    place = BUILTIN_DOMAINS.index(domain) * 2 + long_context
    rounds = itertools.count()
    while (
        figures["well-typed random calls"] < WELL_TYPED / shares
        or figures["ill-typed random calls"] < ILL_TYPED / shares
    ):

        @seed(next(rounds) * shares + place)
        @settings(max_examples=PROGRAMS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(scenarios(domain, long_context), programs(domain))
        def compare(scenario, program):
            run(scenario, program, figures)

        compare()
    differing = sum(count for name, count in figures.items() if name.startswith("known difference"))
    assert differing <= 0.01 * figures["ill-typed random calls"]


def run(scenario, program, figures):
    """Run a program in both worlds and compare."""
    ours = World([scenario.domain], scenario.config, scenario.long_context)
    with official_world([scenario.domain], scenario.config, scenario.long_context) as theirs:
        assert_same_state(theirs, ours)
        trace = []
        for step in program:
            call = step.resolve(visible_state(ours, scenario.domain))
            text = call.source()
            official, found = theirs.execute(text)[0], ours.execute(text)
            trace.append(text)
            typed = "well-typed" if is_well_typed(call) else "ill-typed"
            figures[f"{typed} random calls"] += 1
            if found == official:
                figures[f"{typed} random calls, results identical"] += 1
                continue
            known = known_difference(text, official, found)
            assert known, f"{trace}\nofficial: {official}\nours:     {found}"
            assert typed == "ill-typed", f"{text} keeps to the documentation and gives {found} instead of {official}"
            figures[f"known difference: {known.name}"] += 1
            if not known.same_state:
                return
        assert_same_state(theirs, ours)


@pytest.mark.parametrize("row", KNOWN_DIFFERENCES, ids=lambda row: row.name)
def test_each_known_difference_still_differs(row):
    config = {row.domain: row.config} if row.config else {}
    ours = World([row.domain], config)
    with official_world([row.domain], config) as theirs:
        for text in row.calls[:-1]:
            assert ours.execute(text) == theirs.execute(text)[0]
        text = row.calls[-1]
        official, found = theirs.execute(text)[0], ours.execute(text)
        assert official != found
        assert known_difference(text, official, found) is row
        if row.same_state:
            assert_same_state(theirs, ours)
