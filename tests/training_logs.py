"""Logs of training runs as a run writes them, small and made up."""

import json

SETTINGS = """\
out: {out}
seed: {seed}
batches: 4
groups: 2
group_size: 3
{more}
"""


def write_run(
    directory, rewards=(0.1, 0.2, 0.3, 0.4), stages="aabb", seed=1, more="beta: 0.0", accuracies=(), processes=()
):
    """Write a run of a batch a reward, two updates each.

    `accuracies` are of validations after the first batches, `processes` the numbers of processes of the first batches.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "settings.yaml").write_text(SETTINGS.format(out=directory, seed=seed, more=more))
    lines = []
    for batch, (reward, stage) in enumerate(zip(rewards, stages, strict=False)):
        lines += [_first(2 * batch + 1, stage, reward), _second(2 * batch + 2, stage)]
    for batch, number in enumerate(processes):
        for line in lines[2 * batch : 2 * batch + 2]:
            line["processes"] = number
    _write(directory / "updates.jsonl", lines)
    validations = [
        {"step": 2 * batch + 2, "stage": stages[batch], "accuracy": value} for batch, value in enumerate(accuracies)
    ]
    _write(directory / "validations.jsonl", validations)
    return directory


def _first(step, stage, reward):
    domain = "MathAPI" if step % 4 == 1 else "TravelAPI"
    parts = {"reward": reward, "verdict": reward / 2, "progress": reward, "format": 1.0}
    return {
        "step": step,
        "stage": stage,
        "loss": 0.0,
        "grad_norm": 0.2,
        "clip_ratio/region_mean": 0.0,
        "reward": reward,
        "frac_reward_zero_std": 0.5,
        "rollout/hint_rate": 0.25,
        "rollout/truncated_by_tokens": 0.125,
        **{f"component/{name}": value for name, value in parts.items() if name != "reward"},
        **{f"category/base/{name}": value for name, value in parts.items()},
        **{f"domain/{domain}/{name}": value for name, value in parts.items()},
        "tokens/generated": 1000.0,
        "seconds/generation": 4.0,
        "seconds/environment": 1.0,
        "seconds/loss": 2.0,
        "skipped_updates": 0,
    }


def _second(step, stage):
    figures = {"grad_norm": 0.4, "clip_ratio/region_mean": 0.02, "seconds/loss": 3.0, "skipped_updates": 1}
    return {"step": step, "stage": stage, **figures}


def _write(file, entries):
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
