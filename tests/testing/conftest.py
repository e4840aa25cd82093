"""An outside package of broken domains, installed for these tests."""

import inspect

import gymnasium as gym
import pytest

from envtune_gym import domains
from envtune_gym.domains import Domain
from envtune_gym.feedback import book, leaks
from envtune_gym.registration import env_id, register_envs

from . import broken_domains

BROKEN = [name for name, value in vars(broken_domains).items() if inspect.isclass(value) and issubclass(value, Domain)]
BROKEN.remove("Domain")


@pytest.fixture(scope="module")
def broken_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    info = folder / "broken_domains-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken_domains\nVersion: 1.0\n")
    points = "".join(f"{name} = {broken_domains.__name__}:{name}\n" for name in BROKEN)
    (info / "entry_points.txt").write_text(f"[envtune_gym.domains]\n{points}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", f"{folder}:{broken_domains.__file__.removesuffix('/testing/broken_domains.py')}")
        _forget()
        register_envs()
        yield
    for name in BROKEN:
        gym.registry.pop(env_id(name))
    _forget()


def _forget():
    """Clear what is kept about the installed packages; outside of tests they do not change while a process runs."""
    for kept in (domains._outside, domains.domain_class, book.default_book, leaks._tool_names):
        kept.cache_clear()
