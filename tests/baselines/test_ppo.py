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
def ppo_results(ppo):
    import ppo_results

    return ppo_results


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
    assert "| both |" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "curves:" in capsys.readouterr().out


def test_a_score_depends_on_the_candidate_and_not_on_its_place(ppo, small):
    """Two rows exchanged in the observation have their scores exchanged."""
    from ppo_policy import Scorer, Scores

    env = ppo.make_env(small, ppo.family(small, "train"))
    observation, _ = env.reset(seed=0)
    scores = Scores(Scorer(env.layout))
    given = torch.as_tensor(observation)[None]
    exchanged = given.clone()
    rows = exchanged[:, env.layout.candidates].reshape(1, env.layout.rows, env.layout.width)
    order = [1, 0, *range(2, env.layout.rows)]
    exchanged[:, env.layout.candidates] = rows[:, order].reshape(1, -1)
    assert torch.allclose(scores(exchanged), scores(given)[:, order], atol=1e-5)
    assert scores(given)[0, 0] != scores(given)[0, 1]


def test_an_agent_that_does_not_answer_is_not_paid_and_its_episode_is_over(ppo, small):
    """The benchmark would pay a last turn that ran into its step limit."""
    env = ppo.make_env(small, ppo.family(small, "train"))
    _, info = env.reset(seed=0)
    harmless = next(place for place, call in enumerate(info["candidates"]) if call.startswith("get_user_id"))
    for _ in range(small.episode - 1):
        assert env.step(harmless)[1:4] == (0.0, False, False)
    assert env.step(harmless)[1:4] == (0.0, True, False)


def run(variant, curve, seed=0):
    return {"oracle": 1.0, "curve": curve, "variant": variant, "seed": seed, "seconds": 1.0}


LUCKY = [(0, 0.1), (100, 0.91), (200, 0.8), (300, 0.9), (400, 0.95)]
NEVER = [(0, 0.1), (900, 0.95)]


def test_steps_to_target_are_those_of_the_first_of_two_measurements_in_a_row_that_have_it(ppo_results):
    assert ppo_results.summary([run("plain", LUCKY)])["plain"]["steps_to_target"] == {"0": 300}
    mixed = ppo_results.summary([run("plain", LUCKY), run("plain", NEVER, 1)])["plain"]
    assert mixed["steps_to_target"] == {"0": 300, "1": None}
    assert (mixed["median"], mixed["unlearnt"]) == (600, 1), "what has not learnt counts with the steps that it had"


def test_the_ratio_is_of_medians_and_its_interval_holds_it(ppo_results):
    learnt = [[(0, 0.0), (steps, 0.95), (steps + 1, 0.95)] for steps in (100, 200, 300, 400, 500)]
    runs = [run("plain", curve, seed) for seed, curve in enumerate(learnt)]
    runs += [run("curriculum", [(0, 0.0), (100, 0.95), (101, 1.0)], seed) for seed in range(5)]
    figures = ppo_results.summary(runs)
    row = figures["curriculum"]
    assert (row["ratio"], row["interval"]) == (3.0, [1.0, 5.0])
    last = ppo_results.table(figures).splitlines()[-1]
    assert last.startswith("| curriculum | 100, 100, 100, 100, 100 | 100 | 3.0 | 1.0 to 5.0 |")


def test_a_ratio_to_runs_that_have_not_learnt_is_said_to_be_a_bound(ppo_results):
    runs = [run("plain", NEVER), run("feedback", NEVER), run("curriculum", LUCKY)]
    plain, feedback, curriculum = ppo_results.table(ppo_results.summary(runs)).splitlines()[2:]
    assert "| not learnt | over 900 |" in plain
    assert "| over 900 | unknown |" in feedback
    assert "| 300 | 300 | at least 3.0 | 3.0 to over 3.0 |" in curriculum


def test_runs_made_side_by_side_are_put_together(ppo_results, tmp_path, capsys):
    for variant in ("plain", "curriculum"):
        ppo_results.write([run(variant, LUCKY)], tmp_path / variant)
    files = [str(tmp_path / variant / "curve.json") for variant in ("plain", "curriculum")]
    ppo_results.main([*files, "--out", str(tmp_path / "both")])
    data = json.loads((tmp_path / "both/curve.json").read_text(encoding="utf-8"))
    assert [run["variant"] for run in data["runs"]] == ["plain", "curriculum"]
    assert (tmp_path / "both/curve.png").exists()
    assert "| curriculum | 300 | 300 | 1.0 |" in capsys.readouterr().out


def test_a_user_mistake_is_one_line(ppo, tmp_path):
    with pytest.raises(SystemExit, match=r"error: .*NoSuchAPI"):
        ppo.main(["--domain", "NoSuchAPI", "--out", str(tmp_path)])


@pytest.mark.slow
def test_a_run_reaches_nine_tenths_of_the_oracle(ppo, tmp_path):
    ppo.main(["--candidates", "16", "--held-out", "40", "--seeds", "2", "--out", str(tmp_path)])
    summary = json.loads((tmp_path / "curve.json").read_text(encoding="utf-8"))["summary"]
    assert None not in summary["curriculum"]["steps_to_target"].values()
    assert max(summary["curriculum"]["seconds"]) < 600


def test_the_example_of_the_page_runs(capsys):
    [block] = re.findall(r"^```python classical\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert block.count("\n") <= LONGEST
    exec(compile(block, PAGE.name, "exec"), {})
    assert re.search(r"progress on 50 held-out tasks: \d+%", capsys.readouterr().out)
