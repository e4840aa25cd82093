import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.integrations.kept_slots import pack_tokens
from envtune_gym.integrations.shared_prefixes import shared_prefixes

DOCUMENTS, OTHER_DOCUMENTS = [1] * 700, [2] * 650


def grouped(rows):
    return {frozenset(group.rows): group.length for group in shared_prefixes(list(map(pack_tokens, rows)))}


def test_the_rollouts_of_a_group_share_their_prompt_however_they_have_gone_on():
    prompts = [[*documents, *[task] * 200] for documents in (DOCUMENTS, OTHER_DOCUMENTS) for task in (10, 11, 12)]
    rows = [[*prompt, *[20 + number] * 50 * number] for number in range(4) for prompt in prompts]
    expected = {frozenset(range(task, 24, 6)): len(prompt) for task, prompt in enumerate(prompts)}
    assert grouped(rows) == expected


def test_different_tasks_of_a_domain_share_its_tools():
    rows = [[*DOCUMENTS, *[task] * 20] for task in range(5)] + [[*OTHER_DOCUMENTS, 9]]
    assert grouped(rows) == {frozenset(range(5)): 700}


@pytest.mark.parametrize("rows", [[], [[5, 6]], [[5, 6], [5, 6]], [[1] * 300, [2] * 300]])
def test_rows_that_share_next_to_nothing_stay_alone(rows):
    assert grouped(rows) == {}


def test_those_that_save_most_come_first():
    rows = [[1] * 100] * 3 + [[2] * 900] * 3 + [[3] * 300] * 3
    assert [group.rows for group in shared_prefixes(list(map(pack_tokens, rows)))] == [[3, 4, 5], [6, 7, 8], [0, 1, 2]]


def test_a_long_chain_of_rows_that_begin_with_each_other_is_no_trouble():
    [group] = shared_prefixes([pack_tokens([1] * length) for length in range(1, 2001)])
    assert group.saved == 1000 * 1000  # the upper half shares its shortest row


@given(st.data())
def test_rows_of_a_group_begin_with_what_they_share_and_no_row_is_in_two(data):
    beginnings = data.draw(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=4))
    rows = [
        [token for token in [*beginning, *end] for _ in range(40)]
        for beginning, end in data.draw(
            st.lists(st.tuples(st.sampled_from(beginnings), st.lists(st.integers(0, 2), max_size=3)), max_size=12)
        )
    ]
    groups = grouped(rows)
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    for members, length in groups.items():
        assert len(members) > 1
        assert length * (len(members) - 1) > 64
        assert len({tuple(rows[row][:length]) for row in members}) == 1
        assert all(len(rows[row]) >= length for row in members)
