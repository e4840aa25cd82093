"""The PPO baseline: its family, its policy, what it writes, and the page's example."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason='needs Stable-Baselines3: pip install ".[classical]"')
pytest.importorskip("sb3_contrib", reason='needs sb3-contrib: pip install ".[classical]"')
pytest.importorskip("sklearn", reason='needs scikit-learn: pip install ".[classical]"')
pytest.importorskip("matplotlib", reason='needs matplotlib: pip install ".[classical]"')
pytest.importorskip("rich", reason='needs rich: pip install ".[classical]"')

import torch

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/classical.md"
LONGEST = 40


@pytest.fixture(scope="module")
def ppo():
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "baselines"))
        import ppo

        yield ppo
    torch.set_num_threads(threads)


@pytest.fixture
def small(ppo):
    return ppo.Args(tasks=100, held_out=20, envs=2, text=32, steps=256, every=128)


def test_the_oracle_solves_the_family_through_the_candidates(ppo, small):
    tasks = ppo.family(small, "test")
    assert len(tasks) == 20
    assert ppo.oracle_progress(small, tasks) == 1.0


def test_held_out_tasks_are_not_trained_on(ppo, small):
    train, test = ppo.family(small, "train"), ppo.family(small, "test")
    assert not {task.id for task in train} & {task.id for task in test}
    assert not {str(task.initial_config) for task in train} & {str(task.initial_config) for task in test}


@pytest.mark.parametrize("algo", ["maskable", "ppo"])
def test_both_algorithms_run_and_write_curve_and_picture(ppo, tmp_path, algo, capsys):
    size = ["--steps", "300", "--every", "128", "--tasks", "100", "--held-out", "10"]
    runs = ["--seeds", "0", "1", "--variants", "plain", "both"]
    ppo.main([*size, *runs, "--algo", algo, "--out", str(tmp_path)])
    data = json.loads((tmp_path / "curve.json").read_text(encoding="utf-8"))
    assert [(run["variant"], run["seed"]) for run in data["runs"]] == [
        ("plain", 0), ("both", 0), ("plain", 1), ("both", 1),
    ]  # fmt: skip
    for run in data["runs"]:
        steps = [step for step, _ in run["curve"]]
        assert steps == sorted(set(steps))
        assert steps[0] == 0
        assert all(0 <= share <= 1 for _, share in run["curve"])
    assert set(data["summary"]) == {"plain", "both"}
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "curves:" in capsys.readouterr().out


def test_a_score_depends_on_the_candidate_and_not_on_its_place(ppo, small):
    """Two rows exchanged in the observation have their scores exchanged."""
    env = ppo.make_env(small, ppo.family(small, "train"))
    observation, _ = env.reset(seed=0)
    scores = ppo._Scores(ppo.Scorer(env.layout))
    given = torch.as_tensor(observation)[None]
    exchanged = given.clone()
    rows = exchanged[:, env.layout.candidates].reshape(1, env.layout.rows, env.layout.width)
    order = [1, 0, *range(2, env.layout.rows)]
    exchanged[:, env.layout.candidates] = rows[:, order].reshape(1, -1)
    assert torch.allclose(scores(exchanged), scores(given)[:, order], atol=1e-5)
    assert scores(given)[0, 0] != scores(given)[0, 1]


def test_steps_to_target_are_those_of_the_first_measurement_that_has_it(ppo):
    run = {"oracle": 1.0, "curve": [(0, 0.1), (100, 0.91), (200, 0.8)], "variant": "plain", "seconds": 1.0}
    never = {**run, "curve": [(0, 0.1)]}
    assert ppo.summary([run])["plain"]["steps_to_target"] == [100]
    assert ppo.summary([run, run, never])["plain"]["median"] == 100
    assert ppo.summary([run, never, never])["plain"]["median"] is None


def test_a_user_mistake_is_one_line(ppo, tmp_path):
    with pytest.raises(SystemExit, match=r"error: .*NoSuchAPI"):
        ppo.main(["--domain", "NoSuchAPI", "--out", str(tmp_path)])


@pytest.mark.slow
def test_a_run_reaches_nine_tenths_of_the_oracle(ppo, tmp_path):
    ppo.main(["--out", str(tmp_path)])
    summary = json.loads((tmp_path / "curve.json").read_text(encoding="utf-8"))["summary"]
    assert summary["plain"]["steps_to_target"] != [None]


def test_the_example_of_the_page_runs(capsys):
    [block] = re.findall(r"^```python classical\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert block.count("\n") <= LONGEST
    exec(compile(block, PAGE.name, "exec"), {})
    assert re.search(r"progress on 50 held-out tasks: \d+%", capsys.readouterr().out)
