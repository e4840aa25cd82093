import pytest

from envtune_gym.domains import BUILTIN_DOMAINS
from envtune_gym.domains.base import ToolError
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import HintBook, HintRule, default_book
from envtune_gym.feedback.book import domain_rules

CRASHED = ToolError("crashed", "cat")
OWN = HintRule(code="crashed", category="format_mismatch", augmentation="correct_format", error="Mine.")


def test_the_rules_of_a_domain_come_before_the_general_ones():
    book = HintBook({"TravelAPI": [OWN]}).over(default_book())
    assert book.find("TravelAPI", CRASHED) is OWN
    assert book.find("TicketAPI", CRASHED) is default_book().find(None, CRASHED) is not None
    assert book.find("TravelAPI", ToolError("never heard of", "cat")) is None


def test_plain_data_makes_the_same_book():
    book = default_book()
    assert HintBook.from_dict(book.to_dict()).rules == book.rules


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"Nowhere": []}, "unknown domain 'Nowhere'; known: GorillaFileSystem"),
        ({"TravelAPI": "rules"}, "must be a list of rules"),
        ({"TravelAPI": [OWN]}, "each a mapping"),
    ],
)
def test_broken_plain_data_is_refused(data, message):
    with pytest.raises(ConfigurationError, match=message):
        HintBook.from_dict(data)


def test_a_rule_without_its_values_leaves_the_error_to_the_next():
    needs = HintRule(code="crashed", category="format_mismatch", augmentation="correct_format", error="{value}!")
    book = HintBook({"TravelAPI": [needs, OWN]})
    assert book.explain("TravelAPI", CRASHED, ()).rule is OWN
    hint = book.explain("TravelAPI", ToolError("crashed", "cat", "name", "x"), ())
    assert (hint.text, hint.rule) == ("'x'!", needs)
    assert book.explain("TicketAPI", CRASHED, ()) is None


@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_every_domain_has_rules(domain):
    assert domain_rules(domain)


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Install a package that gives hints for a domain of its own, and broken ones for another."""
    (tmp_path / "coffee_hints.py").write_text(
        "from envtune_gym.feedback import HintRule\n"
        "RULES = [HintRule(code='empty', category='resource_unavailable', augmentation='explain_dependency',\n"
        "                  error='No beans.')]\n"
        "BROKEN = ['No beans.']\n"
    )
    info = tmp_path / "coffee-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coffee\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[envtune_gym.hints]\nCoffeeAPI = coffee_hints:RULES\nTeaAPI = coffee_hints:BROKEN\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_an_outside_package_adds_hints(outside):
    assert [rule.error for rule in domain_rules("CoffeeAPI")] == ["No beans."]
    assert domain_rules("WaterAPI") == ()
    with pytest.raises(ConfigurationError, match=r"'TeaAPI' of envtune_gym\.hints is not a sequence of HintRule"):
        domain_rules("TeaAPI")
