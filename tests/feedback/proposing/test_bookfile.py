import gymnasium as gym
import pytest
import yaml

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.feedback import HintBook
from envtune_gym.feedback.proposing import load_entries, write_entries
from envtune_gym.feedback.proposing.bookfile import Cause
from envtune_gym.wrappers import AugmentedFeedbackWrapper


@pytest.fixture
def entry(propose):
    return propose()


@pytest.fixture
def book(entry, tmp_path):
    path = tmp_path / "book.yaml"
    write_entries(path, [entry])
    return path


def test_a_book_is_read_as_it_was_written(entry, tmp_path):
    odd = "It's: a # 'test'\u0085 {value} \u2013 \U0001f40d" + " long" * 40
    others = [
        entry.model_copy(update={"cause": Cause(domain="MathAPI", code=code), "note": odd})
        for code in ("b", "a\n- x: y")
    ]
    path = tmp_path / "book.yaml"
    write_entries(path, [entry, *others])
    first = path.read_bytes()
    entries = load_entries(path)
    assert entries == [others[1], others[0], entry]
    write_entries(path, reversed(entries))
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["book.yaml"]


def test_an_empty_book(tmp_path):
    write_entries(tmp_path / "book.yaml", [])
    assert load_entries(tmp_path / "book.yaml") == []


def test_only_approved_hints_are_used(entry, tmp_path):
    path = tmp_path / "book.yaml"
    write_entries(path, [entry.model_copy(update={"status": "rejected"})])
    assert HintBook.from_file(path).rules == {}


def test_hints_about_one_tool_come_first(entry, tmp_path):
    special = entry.model_copy(update={"cause": Cause(domain="TicketAPI", code="ticket_not_found", tool="zzz")})
    path = tmp_path / "book.yaml"
    write_entries(path, [entry, special])
    assert [rule.tool for rule in HintBook.from_file(path).rules["TicketAPI"]] == ["zzz", None]


def test_the_wrapper_takes_the_path_of_a_book(book, ticket_task):
    env = gym.make("EnvTune/TicketAPI-v0", tasks=TaskSet([ticket_task]), disable_env_checker=True)
    env = AugmentedFeedbackWrapper(env, hints=str(book))
    env.reset(seed=0)
    info = env.step('<tool_call>[{"name": "close_ticket", "arguments": {"ticket_id": 99}}]</tool_call>')[4]
    assert "There is no ticket 99: an id is given when" in info["tool_results"][0]["content"]
    assert "Look the tickets up with `get_user_tickets`." in info["tool_results"][0]["content"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  status: approved",
            "  status: maybe",
            r"line \d+: hints\.0\.status: Input should be 'approved'",
        ),
        ("There is no ticket {value}", "There is {value.__class__}", r"line \d+: hints\.0: .*braces hold a plain name"),
        ("There is no ticket {value}", "There is no {near}", r"\{near\} is not one of its names: argument"),
        ("note: ''", "remark: ''", r"line \d+: hints\.0\.remark: Extra inputs"),
        ("version: 1", "version: 2", r"line \d+: version: "),
        ("code: ticket_not_found", "", r"line \d+: hints\.0\.cause\.code: Field required"),
        ("failures: 1", "failures: [1", r"line \d+: not YAML: "),
        ("failures: 1", "failures: !!python/object:os.system {}", r"line \d+: not YAML: "),
        ("version: 1", "- 1", r"not YAML: "),
    ],
)
def test_a_broken_book_is_refused_in_one_line_that_says_where(book, old, new, message):
    text = book.read_text()
    assert old in text
    book.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message) as caught:
        load_entries(book)
    assert "\n" not in str(caught.value)


def test_the_line_is_that_of_the_field(book):
    lines = book.read_text().splitlines()
    number = next(index for index, line in enumerate(lines, start=1) if "category:" in line)
    lines[number - 1] = lines[number - 1].replace("dependency_missing", "laziness")
    book.write_text("\n".join(lines))
    with pytest.raises(DataError, match=rf"line {number}: hints\.0\.hint\.category: "):
        load_entries(book)


@pytest.mark.parametrize("text", ["", "[" * 5_000, "a: &a [*a]", "\x00", "7"])
def test_what_is_no_book_is_refused(tmp_path, text):
    path = tmp_path / "book.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=r"book\.yaml"):
        load_entries(path)
    with pytest.raises(DataError, match="none"):
        load_entries(tmp_path / "none.yaml")


def test_a_cause_stands_once(book):
    data = yaml.safe_load(book.read_text())
    data["hints"] *= 2
    book.write_text(yaml.safe_dump(data))
    with pytest.raises(DataError, match="TicketAPI ticket_not_found stands in an earlier entry"):
        load_entries(book)


def test_hints_for_an_unknown_domain_are_refused(book):
    book.write_text(book.read_text().replace("domain: TicketAPI", "domain: Nowhere"))
    with pytest.raises(ConfigurationError, match="unknown domain 'Nowhere'"):
        HintBook.from_file(book)
