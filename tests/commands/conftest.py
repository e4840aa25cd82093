import json

import pytest

from envtune_gym.cli import main
from envtune_gym.tasks import save_jsonl


@pytest.fixture
def task_file(tmp_path, ticket_task, withheld_task):
    """A file of two tasks: one plain, one with withheld and excluded tools."""
    path = tmp_path / "tasks.jsonl"
    save_jsonl([ticket_task, withheld_task], path)
    return str(path)


@pytest.fixture
def envtune(capsys):
    """Run a command line; return its exit code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def envtune_json(envtune):
    """Run a command line with `--json` that succeeds; return what it prints."""

    def run(*words):
        code, out, err = envtune(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return run
