"""Generated requests share no sentence with the official ones, and their scenarios no id."""

import pytest
from language import distinct, ids_of, ngrams, requests_of, shared_ids, variety

from envtune_gym import load_tasks

TASKS = 2000
OFFICIAL_IDS = {
    # One of each kind, as it stands in the official data, to see that the kinds are read at all.
    "user": "Michael Thompson",
    "user id": "USR001",
    "file": "final_report.pdf",
    "ticket": "458219",
    "order": "12446",
    "booking": "flight_001",
    "card": "1234-5678-9012-3456",
    "account": "67890",
}


@pytest.fixture(scope="module")
def generated():
    return list(load_tasks("generated")[:TASKS])


@pytest.fixture(scope="module")
def official():
    return list(load_tasks("bfcl"))


@pytest.mark.bfcl
def test_no_eight_words_in_a_row_are_shared(generated, official):
    ours, theirs = (set(ngrams(requests_of(tasks), 8)) for tasks in (generated, official))
    assert min(len(ours), len(theirs)) > 5000
    assert ours & theirs == set()


@pytest.mark.bfcl
def test_no_id_is_shared(generated, official):
    theirs = ids_of(official)
    for kind, name in OFFICIAL_IDS.items():
        assert name in theirs[kind]
    ours = ids_of(generated)
    assert ours.keys() >= OFFICIAL_IDS.keys() - {"order"}
    assert shared_ids(ours, theirs) == {}


@pytest.mark.bfcl
def test_a_task_shares_everything_with_itself(official):
    [task] = official[:1]
    assert shared_ids(ids_of([task]), ids_of([task]))["user"] == ["analyst_pro"]
    assert set(ngrams(requests_of([task]), 8)) & set(ngrams(requests_of(official), 8))


def test_words_are_compared_without_case_and_punctuation():
    assert list(ngrams(["Don't stop, NOW!"], 3)) == [("dont", "stop", "now")]
    assert list(ngrams(["Too short."], 3)) == []
    assert distinct(["one two", "One, three"], 1) == 0.75


def test_fixed_message_and_repetitions_do_not_count(withheld_task):
    said = requests_of([withheld_task, withheld_task])
    assert said == list(withheld_task.turns[:2])


def test_self_bleu_tells_repetition_from_variety():
    pytest.importorskip("sacrebleu")
    calls = []
    same = variety(["Please close the ticket on the broken lamp."] * 3, lambda: calls.append(1))
    words = ["Where am I now?", "Please close the old ticket today.", "List all files of that folder."]
    assert len(calls) == 3
    assert same.self_bleu == pytest.approx(100)
    assert variety(words, lambda: None).self_bleu < 30
    assert same.distinct_1 == pytest.approx(7 / 24)  # 'the' occurs twice in each
