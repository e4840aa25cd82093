import re

import pytest

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.errors import ConfigurationError, TaskError
from envtune_gym.tasks.families import MAX_TURNS, Draft, families, family
from envtune_gym.tasks.families.base import REGISTRY
from envtune_gym.tasks.families.rng import Rng

EACH_FAMILY = pytest.mark.parametrize("drawn", families(), ids=lambda drawn: drawn.name)
SEEDS = [f"seed {number}" for number in range(25)]


@EACH_FAMILY
def test_a_seed_decides_the_scenario_and_seeds_differ(drawn):
    drafts = [drawn.draft(seed) for seed in SEEDS]
    again = drawn.draft(SEEDS[0])
    assert (again.config, again.turns) == (drafts[0].config, drafts[0].turns)
    assert len({draft.key for draft in drafts}) > len(SEEDS) / 2
    for turns in zip(*(draft.turns for draft in drafts), strict=True):
        assert len({turn.request for turn in turns}) > 5


@EACH_FAMILY
def test_every_turn_has_calls_and_each_category_is_possible_within_two_turns(drawn):
    for draft in map(drawn.draft, SEEDS):
        assert len(draft.turns) == MAX_TURNS
        assert all(turn.calls for turn in draft.turns)
        first, second = draft.turns[:2]
        names = [call.name for call in first.calls]
        free = [*first.withhold, *(tool for tool in second.withhold if tool not in names)]
        assert bool(free) or "miss_func" not in drawn.categories
        assert bool(first.vague or second.vague) == ("miss_param" in drawn.categories)


@EACH_FAMILY
def test_tools_to_withhold_are_used_in_their_turn(drawn):
    for turn in drawn.draft("any").turns:
        assert set(turn.withhold) <= {call.name for call in turn.calls}


@EACH_FAMILY
def test_no_harmless_read_draws_random_numbers(drawn):
    reads = {"get_outside_temperature_from_google", "get_current_speed"}
    assert not reads & {call.name for turn in drawn.draft("any").turns for call in turn.calls}
    random_tools = set().union(*(domain_class(name).random_tools for name in drawn.domains))
    for turn in drawn.draft("any").turns:
        assert sum(call.name in random_tools for call in turn.calls) < 2, "their order would matter"


@EACH_FAMILY
def test_the_answer_to_a_vague_request_says_what_was_left_out(drawn):
    for draft in map(drawn.draft, SEEDS):
        for turn in filter(lambda turn: turn.vague, draft.turns):
            left_out = _words(turn.request) - _words(turn.vague)
            assert left_out & _words(turn.answer), (turn.request, turn.vague, turn.answer)


@EACH_FAMILY
def test_filler_leaves_the_solution_as_it_is(drawn):
    if "long_context" not in drawn.categories:
        pytest.skip("no domain of this family has room for filler")
    for seed in SEEDS[:5]:
        plain, padded = drawn.draft(seed), drawn.draft(seed, long_context=True)
        assert padded.turns == plain.turns
        assert len(str(padded.config)) > len(str(plain.config)) + 5_000


def test_each_domain_has_two_families_of_its_own_and_some_families_join_two():
    for domain in BUILTIN_DOMAINS:
        assert sum(drawn.domains == (domain,) for drawn in families([domain])) >= 2
    assert sum(len(drawn.domains) > 1 for drawn in families()) >= 2
    assert [f.name for f in families(["MathAPI"])] == [f.name for f in families() if "MathAPI" in f.domains]


def test_a_broken_family_is_told():
    draft = Draft(("MathAPI",), "any")
    draft.start(MathAPI={})
    draft.ask("Divide 1 by 0.")
    with pytest.raises(TaskError, match="a family's own call divide\\(a=1, b=0\\) fails: division_by_zero"):
        draft.call("divide", a=1, b=0)


def test_repeated_results_of_a_tool_without_state_are_noticed():
    draft = Draft(("MathAPI",), "any")
    draft.start(MathAPI={})
    draft.ask("Add 2 and 3, then 1 and 4.")
    draft.call("add", a=2, b=3)
    assert not draft.indistinct
    draft.call("add", a=1, b=4)
    assert draft.indistinct


def test_names_of_families_are_unique_and_categories_known():
    def laboratory(draft: Draft) -> None: ...

    with pytest.raises(ConfigurationError, match="'laboratory' exists already"):
        family("MathAPI")(laboratory)
    with pytest.raises(ConfigurationError, match="unknown category 'easy'"):
        family("MathAPI", categories=["easy"])
    assert REGISTRY["laboratory"].write is not laboratory


def test_the_generator_draws_within_bounds():
    rng = Rng("bounds")
    assert {rng.between(3, 9, 3) for _ in range(60)} == {3, 6, 9}
    assert sorted(rng.sample("abcd", 4)) == list("abcd")
    assert all(len(rng.digits(3)) == 3 and round(rng.price(1, 2) % 1, 2) for _ in range(60))


def _words(text):
    return set(re.findall(r"[\w.]*\w", text)) - {"The", "the", "a", "is", "it", "It", "of", "to", "To", "and", "in"}
