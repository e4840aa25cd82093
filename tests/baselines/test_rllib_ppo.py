import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray.rllib", reason="needs RLlib, in an environment of its own: docs/ray.md", exc_type=ImportError)

SCRIPT = Path(__file__).parents[2] / "baselines/rllib_ppo.py"


@pytest.mark.slow
def test_one_iteration_of_rllibs_ppo(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    _, steps, progress = capsys.readouterr().out.splitlines()[-3:]
    assert steps.startswith("steps: 1024, episodes: ")
    assert progress.startswith("mean progress: 0.")
