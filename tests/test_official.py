import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from envtune_gym import official
from envtune_gym.errors import DataError

needs_data = pytest.mark.skipif(importlib.util.find_spec("bfcl_eval") is None, reason="bfcl-eval is not installed")


@pytest.fixture
def without_data(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_missing_data_is_reported_with_the_command_that_installs_it(without_data):
    with pytest.raises(DataError, match=r"pip install --no-deps bfcl-eval==2026\.3\.23$"):
        official.data_folder()


@needs_data
@pytest.mark.parametrize(
    ("versions", "named"),
    [
        (["2025.1.1"], "found 2025.1.1"),
        (["2025.1.1", official.BFCL_VERSION], "2025.1.1 and 2026.3.23"),
        ([], "no recorded"),
    ],
)
def test_wrong_or_mixed_versions_are_refused(monkeypatch, versions, named):
    found = [SimpleNamespace(version=version) for version in versions]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda name: found)
    with pytest.raises(DataError, match=named):
        official.data_folder()


@needs_data
def test_prompts_filler_and_documentation_are_read_without_running_the_package():
    code = """
import sys
from envtune_gym import official
assert official.load_prompts()["MAXIMUM_STEP_LIMIT"] == 20
assert len(official.load_filler()["MA_5_EXTENSION"]) == 2000
assert len(official.load_tool_docs("TravelAPI")) == 18
assert "bfcl_eval" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_broken_data_file_is_reported(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"id": 1}) + "\n{")
    with pytest.raises(DataError, match=r"broken\.json of bfcl-eval cannot be read"):
        official.read_jsonl(path)
