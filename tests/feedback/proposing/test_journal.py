import pytest

from envtune_gym.errors import DataError
from envtune_gym.feedback.proposing import load_entries, write_entries
from envtune_gym.feedback.proposing.bookfile import Cause
from envtune_gym.feedback.proposing.journal import Journal


@pytest.fixture
def entries(propose):
    first = propose()
    return [first, first.model_copy(update={"cause": Cause(domain="MathAPI", code="empty_list")})]


def test_what_is_added_is_on_the_disk_at_once_and_in_the_book_at_the_end(entries, tmp_path):
    book = tmp_path / "new" / "book.yaml"
    with Journal(book) as journal:
        journal.add(entries[0])
        assert journal.path.read_text().count("\n") == 1
        assert not book.exists()
    assert load_entries(book) == entries[:1]
    assert not journal.path.exists()


@pytest.mark.parametrize("torn", ["", '{"cause": {"dom'])
def test_a_run_that_is_killed_twice_is_taken_up(entries, tmp_path, torn):
    book = tmp_path / "book.yaml"
    for entry in entries:
        killed = Journal(book)
        assert entry.cause not in killed
        killed.add(entry)
        with killed.path.open("a") as file:
            file.write(torn)
        del killed  # the lock ends with the process
    with Journal(book) as journal:
        assert all(entry.cause in journal for entry in entries)
    assert load_entries(book) == [entries[1], entries[0]]


def test_the_reviewers_word_counts(entries, tmp_path):
    book = tmp_path / "book.yaml"
    reviewed = entries[0].model_copy(update={"status": "rejected", "note": "No."})
    write_entries(book, [reviewed])
    before = book.read_text() + "# a comment\n"
    book.write_text(before)
    with Journal(book):
        pass
    assert book.read_text() == before
    with Journal(book) as journal:
        journal.add(entries[1])
    assert load_entries(book) == [entries[1], reviewed]


def test_nothing_is_written_where_nothing_came_out(tmp_path):
    with Journal(tmp_path / "book.yaml"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_not_ours_are_left_alone(tmp_path):
    (tmp_path / "book.yaml").write_text("mine: 1\n")
    with pytest.raises(DataError, match=r"book\.yaml, line 1"):
        Journal(tmp_path / "book.yaml")
    (tmp_path / "other.yaml.journal").write_text("{}\n")
    with pytest.raises(DataError, match="line 1: cause: Field required; remove the line"):
        Journal(tmp_path / "other.yaml")
    with pytest.raises(DataError, match="cannot write"):
        Journal(tmp_path / "book.yaml" / "book.yaml")
