"""What runs of `ppo.py` come to: the steps to the target, how many times fewer they are, a table and a picture.

Example:
  Runs that were made side by side, put together:
    python baselines/ppo_results.py runs/plain/curve.json runs/curriculum/curve.json --out runs/both
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TARGET = 0.9
"""Share of the oracle's progress that counts as learnt."""
IN_A_ROW = 2
"""So many measurements in a row must have it: one alone may be luck."""
_RESAMPLES = 10_000


def is_learnt(curve: Sequence[tuple[int, float]], oracle: float) -> bool:
    """Tell whether the last measurements of a curve have the target."""
    return len(curve) >= IN_A_ROW and all(share >= TARGET * oracle for _, share in curve[-IN_A_ROW:])


def steps_to_target(run: dict[str, Any]) -> int | None:
    """Return the steps at the first of the measurements in a row that have the target; None if it was not learnt."""
    ends = range(IN_A_ROW, len(run["curve"]) + 1)
    end = next((end for end in ends if is_learnt(run["curve"][:end], run["oracle"])), None)
    return None if end is None else int(run["curve"][end - IN_A_ROW][0])


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return for each variant the steps to the target by seed, their median, and how many times fewer than plain.

    A run that has not learnt counts with the steps that it was given, so that where plain has such runs the ratio is a
    lower bound, and where the variant has some an upper one; `"unlearnt"` counts them.
    """
    rows: dict[str, Any] = {}
    for variant in dict.fromkeys(run["variant"] for run in runs):
        own = [run for run in runs if run["variant"] == variant]
        reached = [steps_to_target(run) for run in own]
        rows[variant] = {
            "steps_to_target": dict(zip((str(run["seed"]) for run in own), reached, strict=True)),
            "median": median(_counted(run) for run in own),
            "unlearnt": reached.count(None),
            "seconds": [run["seconds"] for run in own],
            "last": [run["curve"][-1][1] for run in own],
        }
    plain = [_counted(run) for run in runs if run["variant"] == "plain"]
    for variant, row in rows.items():
        if plain and variant != "plain":
            own_steps = [_counted(run) for run in runs if run["variant"] == variant]
            row["ratio"], row["interval"] = _ratio(plain, own_steps)
    return rows


def _counted(run: dict[str, Any]) -> int:
    reached = steps_to_target(run)
    return int(run["curve"][-1][0]) if reached is None else reached


def _ratio(plain: Sequence[int], other: Sequence[int]) -> tuple[float, list[float]]:
    """Return the ratio of medians, and its 95 % interval from resampling the seeds of each."""
    rng = np.random.default_rng(0)
    medians = [np.median(rng.choice(steps, (_RESAMPLES, len(steps))), axis=1) for steps in (plain, other)]
    low, high = np.percentile(medians[0] / medians[1], (2.5, 97.5))
    return round(median(plain) / median(other), 2), [round(float(low), 2), round(float(high), 2)]


def table(figures: dict[str, Any]) -> str:
    """Return the summary as a Markdown table."""
    lines = [
        "| variant | steps to 90 % of the oracle, by seed | median | plain / variant | 95 % | seconds a run |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for variant, row in figures.items():
        steps = ", ".join("not learnt" if at is None else f"{at:,}" for at in row["steps_to_target"].values())
        middle = f"{'over ' * _is_bound(row)}{row['median']:,.0f}"
        seconds = f"{min(row['seconds']):.0f} to {max(row['seconds']):.0f}"
        ratio, interval = _comparison(row, figures.get("plain", row))
        lines.append(f"| {variant} | {steps} | {middle} | {ratio} | {interval} | {seconds} |")
    return "\n".join(lines) + "\n"


def _is_bound(row: dict[str, Any]) -> bool:
    """Tell whether the median is of runs that have not learnt, and so only a lower bound."""
    return bool(2 * row["unlearnt"] >= len(row["steps_to_target"]))


def _comparison(row: dict[str, Any], plain: dict[str, Any]) -> tuple[str, str]:
    """Return what the table says of ratio and interval."""
    if "ratio" not in row:
        return "", ""
    low, high = row["interval"]
    if _is_bound(row):
        return "unknown", ""
    return f"{'at least ' * _is_bound(plain)}{row['ratio']}", f"{low} to {'over ' * bool(plain['unlearnt'])}{high}"


def draw(runs: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw the curve of each run, the variants in their colours, and the target.

    The mean takes a run that ended because it had learnt at its last value.
    """
    import matplotlib as mpl

    mpl.use("Agg")  # no screen is needed
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for number, variant in enumerate(dict.fromkeys(run["variant"] for run in runs)):
        own = [run["curve"] for run in runs if run["variant"] == variant]
        for curve in own:
            axes.plot(*zip(*curve, strict=True), color=f"C{number}", alpha=0.3, linewidth=1)
        grid = [steps for steps, _ in max(own, key=len)]
        mean = np.mean([np.interp(grid, *zip(*curve, strict=True)) for curve in own], axis=0)
        axes.plot(grid, mean, color=f"C{number}", label=f"{variant} (mean of {len(own)})")
    axes.axhline(TARGET * runs[0]["oracle"], color="grey", linestyle=":", label=f"{TARGET:.0%} of the oracle")
    axes.set(xlabel="environment steps", ylabel="progress on held-out tasks", ylim=(0, 1.02))
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(file, dpi=100)
    plt.close(figure)


def write(runs: Sequence[dict[str, Any]], out: Path) -> dict[str, Any]:
    """Write curves, table and picture to a folder, and return the summary."""
    out.mkdir(parents=True, exist_ok=True)
    figures = summary(runs)
    (out / "curve.json").write_text(json.dumps({"summary": figures, "runs": runs}) + "\n", encoding="utf-8")
    (out / "table.md").write_text(table(figures), encoding="utf-8")
    draw(runs, out / "curve.png")
    return figures


def main(words: Sequence[str] | None = None) -> None:
    """Put the runs of several files together."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("curves", nargs="+", type=Path, help="files curve.json")
    parser.add_argument("--out", type=Path, required=True, help="folder of curve.json, table.md and curve.png")
    given = parser.parse_args(words)
    runs = [run for file in given.curves for run in json.loads(file.read_text(encoding="utf-8"))["runs"]]
    write(runs, given.out)
    print((given.out / "table.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
