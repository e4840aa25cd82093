"""What the tutorial shows of its package are that package's lines."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/tutorial_domain.md"
EXAMPLE = PAGE.with_name("examples") / "outside_domain"
EXCERPTS = re.findall(r"^```(?:py|toml)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda text: text.strip().splitlines()[0])
def test_an_excerpt_stands_in_the_package(excerpt):
    sources = [path for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".toml")]
    assert any(excerpt in path.read_text(encoding="utf-8") for path in sources)


def test_every_suite_is_in_the_table():
    from envtune_gym import testing

    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in testing.__all__ if name != "Suite")
