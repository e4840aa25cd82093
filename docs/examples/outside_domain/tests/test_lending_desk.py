"""LendingDesk: what is asked of every domain, and what this one promises."""

import json

import lending_desk
import pytest

from envtune_gym import World
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

CONFIG = {
    "books": {
        "B1": {"title": "The Salt Road", "author": "Ines Marchetti", "copies": 1},
        "B2": {"title": "Harbour Lights", "author": "Ruth Vasquez", "copies": 2},
    },
    "cards": {"1001": {"name": "Mara Adler"}, "1002": {"name": "Jon Brook"}},
    "loans": [{"card": "1001", "book_id": "B1", "due": "2026-03-27"}],
    "reservations": {},
}


class TestDomain(DomainSuite, TaskSuite, HintSuite):
    domain = "LendingDesk"
    configs = (CONFIG, {})
    tasks = lending_desk.TASKS
    played = 20


class TestGeneratedTasks(TaskSuite, HintSuite):
    domain = "LendingDesk"
    tasks = "generated"
    played = 40


@pytest.fixture
def desk():
    return World(["LendingDesk"], {"LendingDesk": CONFIG})


def read(result):
    return json.loads(result.content)


def test_a_loan_from_search_to_return(desk):
    assert read(desk.call("find_books", {"text": "harbour"})) == {"book_ids": ["B2"]}
    assert read(desk.call("lend_book", {"card": "1002", "book_id": "B2"})) == {"due": "2026-04-13"}
    assert read(desk.call("show_book", {"book_id": "B2"}))["on_shelf"] == 1
    assert read(desk.call("list_loans", {"card": "1002"})) == {"loans": [{"book_id": "B2", "due": "2026-04-13"}]}
    assert read(desk.call("return_book", {"card": "1002", "book_id": "B2"})) == {"returned": True, "waiting": []}


def test_who_waits_is_told_when_the_book_comes_back(desk):
    assert read(desk.call("reserve_book", {"card": "1002", "book_id": "B1"})) == {"place": 1}
    again = desk.call("reserve_book", {"card": "1002", "book_id": "B1"})
    assert (again.error, again.silent.code) == (None, "reserved_already")
    assert read(desk.call("return_book", {"card": "1001", "book_id": "B1"}))["waiting"] == ["1002"]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("show_book", {"book_id": "The Salt Road"}, "unknown_book"),
        ("list_loans", {"card": "Mara Adler"}, "unknown_card"),
        ("find_card", {"name": "Mara"}, "unknown_member"),
        ("issue_card", {"name": " "}, "empty_name"),
        ("issue_card", {"name": "Jon Brook"}, "has_card"),
        ("lend_book", {"card": "1002", "book_id": "B2", "weeks": 7}, "bad_weeks"),
        ("lend_book", {"card": "1002", "book_id": "B1"}, "all_lent"),
        ("lend_book", {"card": "1001", "book_id": "B1"}, "has_book"),
        ("return_book", {"card": "1002", "book_id": "B1"}, "not_lent"),
        ("reserve_book", {"card": "1002", "book_id": "B2"}, "on_shelf"),
    ],
)
def test_failures_have_a_code(desk, name, arguments, code):
    assert desk.call(name, arguments).error.code == code


def test_nobody_has_more_than_three_books():
    books = {f"B{number}": {"title": "T", "author": "A", "copies": 1} for number in range(4)}
    desk = World(["LendingDesk"], {"LendingDesk": {"books": books, "cards": {"1001": {"name": "Mara Adler"}}}})
    codes = [desk.call("lend_book", {"card": "1001", "book_id": book_id}).error for book_id in books]
    assert [code and code.code for code in codes] == [None, None, None, "loan_limit"]
