"""The documentation tells the truth: its code runs, and the pages that are made from the code are up to date."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import envtune_gym
from envtune_gym.domains import BUILTIN_DOMAINS
from envtune_gym.tasks.goals import base

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(envtune_gym.__path__, "envtune_gym.")
    if not module.name.startswith(("envtune_gym.integrations", "envtune_gym.training"))  # these need torch
)


@pytest.fixture
def own_goals(monkeypatch):
    """Goals that a page registers are gone after it: with them, other tasks would be generated."""
    base.goals_of(BUILTIN_DOMAINS)  # all modules of goals are loaded, and not into the copy
    monkeypatch.setattr(base, "_GOALS", dict(base._GOALS))
    yield
    base.goals_of.cache_clear()


@pytest.mark.bfcl
@pytest.mark.usefixtures("own_goals")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """The blocks of a page run in order, in one namespace, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_hold(module):
    failed, _ = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_the_page_of_environments_is_up_to_date():
    build = runpy.run_path(str(ROOT / "docs/build.py"))
    assert build["PAGE"].read_text(encoding="utf-8") == build["environments_page"](), "run: make docs"


def test_the_tables_of_settings_are_up_to_date():
    build = runpy.run_path(str(ROOT / "docs/build.py"))
    page = build["TRAINING_PAGE"].read_text(encoding="utf-8")
    assert page == build["training_page"](page), "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
