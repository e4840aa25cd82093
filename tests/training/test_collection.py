import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("trl")

from envtune_gym.training import grpo

from .conftest import TASKS

CODE = """
import gc
from envtune_gym.training.collection import old_objects_left_alone

kept = [[] for _ in range(30_000)]
with old_objects_left_alone() as again:
    before = gc.get_freeze_count()
    assert before > 30_000
    more = [[] for _ in range(20_000)]
    again()
    assert gc.get_freeze_count() > before + 15_000
    with old_objects_left_alone():
        pass
    assert gc.get_freeze_count() > 30_000  # it was somebody else's
assert gc.get_freeze_count() == 0
try:
    with old_objects_left_alone():
        raise KeyboardInterrupt
except KeyboardInterrupt:
    assert gc.get_freeze_count() == 0
"""


def test_what_stood_before_is_left_out_of_collections_until_the_end():
    """In a process of its own: that of the tests has frozen what it imported."""
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_a_run_leaves_alone_what_its_first_update_has_made(settings, monkeypatch):
    updates = []
    original = grpo.old_objects_left_alone

    @contextmanager
    def watched():
        with original():
            yield lambda: updates.append(len((Path(made.out) / "updates.jsonl").read_text().splitlines()))

    monkeypatch.setattr(grpo, "old_objects_left_alone", watched)
    made = settings()
    grpo.train(made, TASKS, TASKS)
    assert made.batches > 1
    assert len(updates) == 1
    assert updates[0] <= 1
