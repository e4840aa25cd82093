import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

import torch
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


def test_padding_changes_nothing(sft, tokenizer, tmp_path):  # noqa: F811
    model, rng = tiny_model(tokenizer), random.Random(0)
    rows = []
    for length in (9, 40, 23, 31):
        ids = [rng.randrange(5, len(tokenizer)) for _ in range(length)]
        rows.append({"input_ids": ids, "labels": [-100] * 4 + ids[4:]})
    told = [model(torch.tensor([row["input_ids"]])).logits[0, 3:-1].log_softmax(-1) for row in rows]
    wanted = [torch.tensor(row["labels"][4:])[:, None] for row in rows]
    expected = -torch.cat([one.gather(1, ids) for one, ids in zip(told, wanted, strict=True)]).mean()
    args = sft.Args(steps=1, batch=4, micro_batch=4, out=str(tmp_path))
    masks = []
    model.get_decoder().register_forward_pre_hook(
        lambda _, __, options: masks.append(options["attention_mask"]), with_kwargs=True
    )
    with sft.progress_bars(Console(quiet=True)) as bars:
        done = sft.fine_tune(model, tokenizer, sft.Rows(rows), args, bars)
    assert masks == [None]
    assert done["losses"] == [pytest.approx(expected.item(), abs=1e-4)]
