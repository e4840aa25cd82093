"""Does the official scorer give our result files the verdicts that we gave? It is installed whole, and asked.

    python benchmarks/official_scorer.py --with torch==2.13.0

The official package pins dozens of others, and so gets a virtual environment of its own, which is kept and used again.
It needs Python 3.10 to 3.12, about 2 GB and some minutes; `--with` names further requirements of that installation,
such as a build of PyTorch without CUDA. Then a player who makes mistakes plays official tasks in both modes and in the
action format of the paper, the runs are written in the official layout, and `bfcl evaluate` scores them: accuracies and
failed tasks must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from mistaken_runs import make_run

from envtune_gym import TaskSet, load_tasks
from envtune_gym.calls import ActionFormat, parse_action, render_answer, render_calls
from envtune_gym.evaluation.numbers.summary import AVERAGE, summarise
from envtune_gym.evaluation.official_files.writing import export_run
from envtune_gym.evaluation.playback import play_again
from envtune_gym.evaluation.runs.episode import new_record
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.official import BFCL_VERSION
from envtune_gym.tasks import CATEGORIES

PACKAGE = f"bfcl-eval=={BFCL_VERSION}"
FORGOTTEN = ("soundfile",)
"""What the package's own requirements import without naming it."""
MODELS: dict[str, tuple[ActionFormat, str]] = {
    "gpt-4o-2024-11-20": ("python", "prompting mode"),
    "gpt-4o-2024-11-20-FC": ("openai", "native function calling"),
    "gpt-4.1-2025-04-14-FC": ("tool_call", "the paper's format, written in the native form"),
}
"""Models that the official scorer knows, taken for their decoders alone."""
SEED = 20260323
SKILL = 0.85
BROKEN = {"python": "[ls(", "openai": '{"role": "assistant", "content": null, "tool_calls": [{}]}'}


def main() -> int:
    """Install the official package if need be, have it score the runs, and print both results."""
    options = _options()
    bfcl = install(options.venv, options.python, options.also)
    tasks = TaskSet(
        [task for name in CATEGORIES for task in load_tasks("bfcl", categories=[name])[: options.tasks // 4]]
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        runs = {model: list(play(tasks, action_format)) for model, (action_format, _) in MODELS.items()}
        for model, episodes in runs.items():
            export_run(episodes, root / "result", model, lambda task_id, _: tasks.get(task_id))
        evaluate(bfcl, root)
        results = [compare(model, episodes, root / "score") for model, episodes in runs.items()]
    return 0 if all(results) else 1


def install(venv: Path, python: str, also: Sequence[str]) -> Path:
    """Return the official command, in an environment of its own that is made if it is missing."""
    bfcl = venv / "bin/bfcl"
    if not (venv / ".ready").exists():
        print(f"installing {PACKAGE} whole in {venv}", flush=True)
        subprocess.run([python, "-m", "venv", venv], check=True)  # noqa: S603 - the caller chose it
        command = [venv / "bin/pip", "install", "--quiet", PACKAGE, *FORGOTTEN, *also]
        subprocess.run(command, check=True)  # noqa: S603 - likewise
        (venv / ".ready").touch()
    return bfcl


def play(tasks: TaskSet, action_format: ActionFormat) -> Iterator[EvaluatedEpisode]:
    """Yield an episode of each task: the same mistakes in every format."""
    for episode in make_run(tasks, SEED, skill=SKILL, feedback="off"):
        if action_format == "tool_call":
            yield episode
            continue
        task = tasks.get(episode.task_id)
        run = RunSettings(policy=episode.run.policy, action_format=action_format, decoder="official", seed=SEED)
        rng = Random(task.id)
        messages = [translate(message, action_format, rng) for message in episode.messages]
        played = play_again(task, messages, run)
        yield new_record(task, 0, run).model_copy(
            update={"messages": messages, "success": played.success, "error_type": played.error_type}
        )


def translate(message: str, action_format: ActionFormat, rng: Random) -> str:
    """Return a message of the paper's format in another one; in the prompting mode sometimes as only models write."""
    reply = parse_action(message, "tool_call")
    if reply.error is not None:
        return BROKEN[action_format]
    if not reply.calls:
        return render_answer(reply.answer or "", action_format)
    text = render_calls(reply.calls, action_format)
    if action_format == "python":
        return rng.choice([text, text, text, f"```\n{text}\n```", text[1:-1], f"```python\n{text}\n```"])
    return text


def evaluate(bfcl: Path, root: Path) -> None:
    """Have the official command score all result files under a folder."""
    # The handlers make a client, which insists on a key; nothing is sent.
    settings = {"BFCL_PROJECT_ROOT": str(root), "OPENAI_API_KEY": "none", "TZ": "UTC"}
    command = [bfcl, "evaluate", "--model", ",".join(MODELS), "--test-category", "multi_turn", "--partial-eval"]
    subprocess.run(command, check=True, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)  # noqa: S603


def compare(model: str, episodes: Sequence[EvaluatedEpisode], scores: Path) -> bool:
    """Print the accuracies of a model by both, and tell whether they are equal and the same tasks failed."""
    failed: set[str] = set()
    official: dict[str, float] = {}
    for category in CATEGORIES:
        file = scores / model / "multi_turn" / f"BFCL_v4_multi_turn_{category}_score.json"
        header, *entries = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        official[category] = header["accuracy"]
        failed |= {entry["id"] for entry in entries}
    official[AVERAGE] = sum(official.values()) / len(official)
    ours = {name: interval.value for name, interval in summarise(episodes).accuracy.items()}
    same_tasks = failed == {episode.task_id for episode in episodes if not episode.success}
    print(f"{model} ({MODELS[model][1]}), {len(episodes)} tasks; the same tasks failed: {same_tasks}")
    for name, share in official.items():
        print(f"  {name:14} official {share:7.2%}   here {ours[name]:7.2%}")
    return same_tasks and all(abs(ours[name] - share) < 1e-12 for name, share in official.items())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Have the official scorer judge our result files.")
    parser.add_argument("--venv", type=Path, default=Path("build/official-scorer"), help="where it is installed")
    parser.add_argument("--python", default=sys.executable, help="a Python from 3.10 to 3.12 to install it with")
    parser.add_argument("--with", dest="also", action="append", default=[], metavar="REQUIREMENT")
    parser.add_argument("--tasks", type=int, default=400, help="official tasks, as many of each category")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
