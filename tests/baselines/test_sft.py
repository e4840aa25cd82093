import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from integrations.conftest import one_thread, tokenizer  # noqa: F401 (fixtures)
from integrations.helpers import tiny_model
from rich.console import Console

BASELINES = Path(__file__).parents[2] / "baselines"


@pytest.fixture(scope="module")
def sft():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BASELINES))
        import sft

        yield sft


def test_the_command_refuses_it_in_a_line_before_a_model_is_loaded(sft, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sft.py", "--tasks", "bfcl", "--split", "test", "--model", "nowhere"])
    with pytest.raises(SystemExit, match=r"^error: the split 'test' of bfcl has"):
        sft.main()


def test_a_model_learns_its_trajectories(sft, tokenizer, tmp_path):  # noqa: F811
    args = sft.Args(
        steps=6,
        batch=2,
        micro_batch=2,
        max_domains=1,
        max_tokens=30_000,
        learning_rate=1e-2,
        out=str(tmp_path),
        action_format="python",
    )
    with sft.progress_bars(Console(quiet=True)) as bars:
        rows = sft.tokenised(sft.demonstrations(sft.training_tasks(args), args), tokenizer, args, bars)
        done = sft.fine_tune(tiny_model(tokenizer), tokenizer, rows, args, bars)
    assert done["losses"][-1] < done["losses"][0]
