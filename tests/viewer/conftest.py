import importlib.util
import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    """The path of Chromium; without one the tests are skipped, or fail where a browser is required."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if importlib.util.find_spec("playwright") is None:
        _missing("playwright is not installed: pip install playwright")
    if path is None:
        _missing("no chromium on the path: apt-get install chromium")
    return path


def _missing(reason):
    if os.environ.get("ENVTUNE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"ENVTUNE_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(reason)
