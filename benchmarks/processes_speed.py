r"""What do several processes gain? The same training run in one and in N, with its speed and its curves side by side.

Each run is `baselines/grpo.py` with the settings given, `--batches` batches, and neither validation nor evaluation;
with N processes it is started by `accelerate launch` with the file of `--launch`. On a machine without a GPU the
processes share its cores, and talk by gloo.

Reported are the seconds of a batch by phase, those of the slowest process, the first batch left out (kernels, graphs);
how many times as fast as with the first number of `--processes` that is; and how well the curves agree: the mean reward
and the share of solved tasks of each batch. The tasks of the first batch must be the same, for they hang on the seed
alone: if they differ, or a run fails, the exit code is 1. Each process samples for itself, so rewards are not the same:
their difference is stated in standard errors too, by the spread of rewards within the groups of both runs.

Examples:
  python benchmarks/processes_speed.py --preset small --processes 1 2 --batches 6 --out runs/processes
  python benchmarks/processes_speed.py --preset small --model runs/warm --processes 1 2 4 --set pass_tokens=80000
  python benchmarks/processes_speed.py --config run.yaml --processes 2 --launch baselines/accelerate/fsdp.yaml
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import torch
from speed_report import Columns, device_name, markdown, report

from envtune_gym.evaluation.run_figures import PHASES
from envtune_gym.evaluation.run_logs import read_lines, read_run
from envtune_gym.training.trainer import STATE_FILE

ROOT = Path(__file__).resolve().parents[1]

COLUMNS: Columns = {
    "processes": ("processes", "d"),
    "s a batch": ("batch", ".2f"),
    **{phase: (phase, ".2f") for phase in PHASES},
    "times as fast": ("speed_up", ".2f"),
    "tokens a batch": ("tokens", ",.0f"),
    "first batch, s": ("first", ".1f"),
    "whole run, s": ("whole", ".0f"),
}
AGREEMENT: Columns = {
    "processes": ("processes", "d"),
    "batch": ("batch", "d"),
    "reward": ("reward", ".3f"),
    "difference": ("reward_difference", "+.3f"),
    "in standard errors": ("standard_errors", "+.1f"),
    "solved": ("success", ".1%"),
    "difference of solved": ("success_difference", "+.1%"),
    "tasks alike": ("tasks_alike", ".0%"),
}

Played = list[list[dict[str, Any]]]
"""The rollouts of a run, batch by batch."""


def command(args: argparse.Namespace, processes: int, out: Path) -> list[str]:
    """Return the command that trains in so many processes."""
    settings = [f"batches={args.batches}", f"validation.every={args.batches + 1}", "evaluations=[]"]
    settings += [f"checkpoint_every={args.batches + 1}", f"seed={args.seed}", *args.set]
    options = [text for preset in args.preset for text in ("--preset", preset)]
    options += ["--config", str(args.config)] if args.config else []
    options += ["--model", args.model] if args.model else []
    options += [text for setting in settings for text in ("--set", setting)]
    train = [str(ROOT / "baselines" / "grpo.py"), *options, "--out", str(out)]
    if processes == 1:
        return [sys.executable, *train]
    launch = ["-m", "accelerate.commands.launch", "--config_file", str(args.launch)]
    return [sys.executable, *launch, "--num_processes", str(processes), "--main_process_port", "0", *train]


def environment(processes: int) -> dict[str, str]:
    """Return the environment of a run, which sees one GPU a process, or none where there is none."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if not torch.cuda.is_available():
        return {**found, "ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(torch.cuda.device_count())))
    return {**found, "CUDA_VISIBLE_DEVICES": ",".join(visible.split(",")[:processes])}


def train(args: argparse.Namespace, processes: int, out: Path) -> float | None:
    """Train in so many processes; return the seconds that it took, or None if it failed."""
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    log = out.with_suffix(".log")
    began = time.perf_counter()
    with log.open("w", encoding="utf-8") as stream:
        code = _run(command(args, processes, out), environment(processes), stream, args.limit)
    seconds = time.perf_counter() - began
    for checkpoint in [file.parent for file in out.glob(f"checkpoint-*/{STATE_FILE}")]:
        shutil.rmtree(checkpoint)  # hundreds of megabytes that nobody asked for
    if code == 0:
        return seconds
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
    print(f"{processes} processes: failed after {seconds:.0f} s, see {log}:", *last, sep="\n  ", flush=True)
    return None


def _run(arguments: Sequence[str], environment: dict[str, str], stream: IO[str], limit: float) -> int:
    """Run a command for so many seconds at most; return its exit code."""
    with subprocess.Popen(arguments, env=environment, stdout=stream, stderr=subprocess.STDOUT) as process:  # noqa: S603  # our own script
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            process.terminate()  # at which the launcher ends its processes
            try:
                return process.wait(60) or 1
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()


def played(out: Path) -> Played:
    """Return the rollouts of a run, batch by batch."""
    batches: dict[int, list[dict[str, Any]]] = {}
    for _, rollout in read_lines(out / "rollouts.jsonl"):
        batches.setdefault(rollout["step"], []).append(rollout)
    return list(batches.values())


def costs(out: Path) -> dict[str, float]:
    """Return the seconds of a batch and of its phases: means over all batches but the first, which stands apart."""
    batches = [batch.figures for batch in read_run(out).batches]
    by_phase = [{phase: figures[f"seconds/{phase}"] for phase in PHASES} for figures in batches]
    later = range(1, len(batches)) if len(batches) > 1 else range(1)
    return {
        **{phase: statistics.fmean(by_phase[place][phase] for place in later) for phase in PHASES},
        "batch": statistics.fmean(sum(by_phase[place].values()) for place in later),
        "tokens": statistics.fmean(batches[place]["tokens/generated"] for place in later),
        "first": sum(by_phase[0].values()),
    }


def with_speed_ups(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with how many times as fast as the first one they are."""
    return [{**row, "speed_up": rows[0]["batch"] / row["batch"]} for row in rows]


def agreement(first: Played, other: Played, processes: int) -> list[dict[str, Any]]:
    """Return how a run differs from another one, batch by batch.

    Args:
        first: What the others are compared with.
        other: A run of the same settings and seed.
        processes: Those of the latter.
    """
    rows = []
    for number, (here, there) in enumerate(zip(first, other, strict=False), start=1):
        difference = _mean(there, "reward") - _mean(here, "reward")
        error = (_variance(here) + _variance(there)) ** 0.5
        pairs = zip(here, there, strict=False)
        rows.append(
            {
                "processes": processes,
                "batch": number,
                "reward": _mean(there, "reward"),
                "reward_difference": difference,
                "standard_errors": difference / error if error else None,
                "success": _mean(there, "success"),
                "success_difference": _mean(there, "success") - _mean(here, "success"),
                "tasks_alike": sum(a["task_id"] == b["task_id"] for a, b in pairs) / max(len(here), len(there)),
            }
        )
    return rows


def _mean(rollouts: Sequence[Mapping[str, Any]], name: str) -> float:
    return statistics.fmean(float(rollout[name]) for rollout in rollouts)


def _variance(rollouts: Sequence[Mapping[str, Any]]) -> float:
    """Return the variance of the mean reward of a batch, whose tasks are given and whose replies are sampled."""
    tasks: dict[str, list[float]] = {}
    for rollout in rollouts:
        tasks.setdefault(rollout["task_id"], []).append(rollout["reward"])
    within = [len(rewards) * statistics.variance(rewards) for rewards in tasks.values() if len(rewards) > 1]
    return sum(within) / len(rollouts) ** 2


def compare(args: argparse.Namespace) -> bool:
    """Train in each number of processes, print and write at once what is known; return whether all is well."""
    rows: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    first: Played = []
    well = True
    for processes in args.processes:
        out = args.out / f"processes-{processes}"
        print(f"{processes} processes: training {args.batches} batches, see {out.with_suffix('.log')}", flush=True)
        whole = train(args, processes, out)
        if whole is None:
            well = False
            continue
        rows = with_speed_ups([*rows, {"processes": processes, "whole": whole, **costs(out)}])
        print(markdown(COLUMNS, rows), flush=True)
        report(args.out, "processes_speed", args, COLUMNS, rows)
        if not first:
            first = played(out)
            continue
        differences = agreement(first, played(out), processes)
        compared += differences
        well &= differences[0]["tasks_alike"] == 1
        print(markdown(AGREEMENT, differences), said(differences), sep="\n", flush=True)
        report(args.out, "processes_agreement", args, AGREEMENT, compared)
    return well


def said(differences: Sequence[Mapping[str, Any]]) -> str:
    """Return in a line how well two runs agree."""
    alike = "the same" if differences[0]["tasks_alike"] == 1 else "OTHERS"
    reward = max(abs(one["reward_difference"]) for one in differences)
    success = max(abs(one["success_difference"]) for one in differences)
    return (
        f"tasks of the first batch: {alike}; over {len(differences)} batches the mean reward differs by "
        f"{reward:.3f} at most, the share solved by {success:.1%} at most"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", action="append", default=[], help="settings that go together; may be repeated")
    parser.add_argument("--config", type=Path, help="a YAML file of settings, over the presets")
    parser.add_argument("--model", help="a model directory, or the small model")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; may be repeated")
    parser.add_argument("--batches", type=int, default=6, help="batches of rollouts of each run")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="how many, one run each")
    parser.add_argument("--limit", type=float, default=1800, help="the most seconds that a run may take")
    launch = ROOT / "baselines" / "accelerate" / "ddp.yaml"
    parser.add_argument("--launch", type=Path, default=launch, help="accelerate's configuration")
    parser.add_argument("--seed", type=int, default=1, help="seed of all runs")
    parser.add_argument("--out", type=Path, default=Path("runs/processes"), metavar="DIR", help="runs and tables")
    args = parser.parse_args(arguments)
    print(f"{device_name()}, torch {torch.__version__}", flush=True)
    return 0 if compare(args) else 1


if __name__ == "__main__":
    sys.exit(main())
