r"""Runs an experiment: methods that are to be compared, over several seeds, on as many GPUs as there are.

An experiment is a YAML file (`experiments/`) with task sets, a warm start, settings of `envtune train`, and methods
that differ in a few of them. A *cell* is a method with a seed. All cells of a seed begin from that seed's warm start,
and all see the same tasks. Each cell is a process; what is done is kept, so an experiment that was interrupted goes on.

Examples:
  The comparison of the training documentation, two cells at a time on each GPU:
    python baselines/experiment.py --config baselines/experiments/undemonstrated.yaml --jobs 2 --out runs/undemonstrated

  Some methods, one seed:
    python baselines/experiment.py --config baselines/experiments/undemonstrated.yaml --methods direct --seeds 1

  The tables of what is there so far, into a directory:
    python baselines/experiment.py --config baselines/experiments/undemonstrated.yaml --out runs/undemonstrated \
        --report baselines/results/undemonstrated
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from the disk

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from arguments import parse_arguments
from experiment_cells import CELL_FILE, play_cell, warm_start
from experiment_plan import Experiment, read_experiment
from experiment_report import write_report
from rich.console import Console

from envtune_gym.errors import ConfigurationError, EnvtuneError


@dataclass
class Args:
    """Arguments of a run."""

    config: str = "baselines/experiments/undemonstrated.yaml"
    """the experiment"""
    out: str = "runs/experiment"
    """directory of all cells"""
    seeds: list[int] = field(default_factory=lambda: [1, 2, 3])
    """seeds; the task sets are the same for all"""
    methods: list[str] = field(default_factory=list)
    """methods of the experiment; all by default"""
    jobs: int = 1
    """cells at a time on each GPU"""
    report: str = ""
    """only write the tables of the cells that are done, into this directory"""
    against: str = ""
    """the method that others are compared with in these tables; the experiment's baseline by default"""
    cell: str = ""
    """run this one cell, in this process: a method, or warm-start"""


WARM_START = "warm-start"


def main() -> None:
    """Run the experiment as the command line says."""
    args = parse_arguments(Args, __doc__ or "")
    try:
        experiment = read_experiment(Path(args.config))
        methods = args.methods or list(experiment.methods)
        for name in methods:
            experiment.method(name)  # says which ones are known
        if args.report:
            if args.against:
                experiment.method(args.against)
            print(write_report(experiment, Path(args.out), Path(args.report), args.against))
        elif args.cell:
            _run_cell(experiment, args)
        else:
            _run_all(experiment, methods, args)
    except EnvtuneError as error:
        sys.exit(f"error: {error}")


def cell_directory(out: Path, method: str, seed: int) -> Path:
    """Return the directory of a cell."""
    return out / f"{method.replace(' ', '-')}-seed{seed}"


def _run_cell(experiment: Experiment, args: Args) -> None:
    (seed,) = args.seeds
    directory, warm = (cell_directory(Path(args.out), name, seed) for name in (args.cell, WARM_START))
    began = time.monotonic()
    if args.cell == WARM_START:
        summary = warm_start(experiment, Path(args.out), directory, seed)
    else:
        summary = play_cell(experiment, args.cell, Path(args.out), warm, directory, seed)
    summary |= {
        "seed": seed,
        "seconds": round(time.monotonic() - began, 1),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU ({os.cpu_count()} cores)",
    }
    (directory / CELL_FILE).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def _run_all(experiment: Experiment, methods: list[str], args: Args) -> None:
    """Run all cells that are not done: the warm starts first, from which the others begin.

    Raises:
        ConfigurationError: If a cell has failed, while the others have run, or the directory is another experiment's.
    """
    from experiment_jobs import Job, run_jobs

    out, console = Path(args.out), Console(stderr=True)
    experiment.keep(out)
    console.print(experiment.make_tasks(out), highlight=False)
    failed: list[str] = []
    for names in ([WARM_START], methods):
        jobs = [
            Job(
                f"{name}, seed {seed}",
                [
                    *(sys.executable, __file__, "--config", args.config, "--out", args.out),
                    *("--cell", name, "--seeds", str(seed)),
                ],
                cell_directory(out, name, seed),
            )
            for seed in args.seeds
            for name in names
        ]
        waiting = [job for job in jobs if not (job.directory / CELL_FILE).is_file()]
        failed += run_jobs(waiting, args.jobs, console)
        if failed:
            break
    if failed:
        raise ConfigurationError(f"failed: {'; '.join(failed)}. Mend the cause and run the same command again")
    print(write_report(experiment, out, out / "report"))


if __name__ == "__main__":
    main()
