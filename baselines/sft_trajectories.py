"""The trajectories on which `sft.py` trains: the oracle's, in a share of them with a call that fails, and as tokens."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym

from envtune_gym import Task, TaskSet, load_tasks
from envtune_gym.calls import DocStyle, parse_action, render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.corruption import DEVELOPMENT
from envtune_gym.evaluation.failing import draw_failing_cases
from envtune_gym.evaluation.script import script
from envtune_gym.integrations.tokens import ChatTemplate, Conversation
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.training.examples import WorkedExamples
from envtune_gym.wrappers import AugmentedFeedbackWrapper

if TYPE_CHECKING:
    from rich.progress import Progress
    from sft import Args
    from transformers import PreTrainedTokenizerBase

FEEDBACK: dict[str, dict[str, Any]] = {
    "off": {"level": "off"},
    "error": {"level": "error"},
    "actionable": {"level": "actionable"},
    "diagnostic": {"level": "diagnostic"},
    "automatic": {"level": "actionable", "hints": "automatic"},
}
"""What a failing call may be answered with, as arguments of `AugmentedFeedbackWrapper`."""

IGNORED = -100
"""The label of a token that the loss leaves out."""

Format = Literal["tool_call", "python"]
OF_TOOL_CALL = ("list_unclosed", "python_syntax")
"""Mistakes in the letter of `tool_call`. In `python` a message that does not decode is an answer, and cannot fail."""


@dataclass(frozen=True)
class Demonstration:
    """A trajectory to imitate.

    Attributes:
        task: The task that is played.
        messages: The assistant's messages, from the first one on.
        mistake: Index of the message that fails, which is not to be imitated; None if there is none.
        feedback: What it is answered with.
    """

    task: Task
    messages: Sequence[str]
    mistake: int | None = None
    feedback: str = "off"


@dataclass
class Rows:
    """Trajectories as tokens.

    Attributes:
        rows: `input_ids` and `labels` of each.
        by_feedback: Number of corrected trajectories by the feedback in them.
        too_long: Number of trajectories left out because what is to be learnt does not fit.
    """

    rows: list[dict[str, list[int]]] = field(default_factory=list)
    by_feedback: dict[str, int] = field(default_factory=dict)
    too_long: int = 0


@dataclass
class Transcript:
    """Messages as they were played.

    Attributes:
        conversation: The conversation, with what the environment said last.
        spans: Where in its tokens each message lies.
        observation: What the environment said last.
    """

    conversation: Conversation
    spans: list[tuple[int, int]]
    observation: str


def training_tasks(args: Args) -> TaskSet:
    """Return the tasks that the arguments choose.

    Raises:
        ConfigurationError: If they are to test on, or there are none.
    """
    if args.split != "train" and not args.tasks.endswith(".jsonl"):
        raise ConfigurationError(
            f"the split {args.split!r} of {args.tasks} has tasks to test on, and trajectories solve their scenarios; "
            "leave out --split to train on the split train"
        )
    return load_tasks(
        args.tasks, categories=("base",), split=args.split, domains=args.domains or None, difficulty=args.difficulty
    )


def make_env(
    tasks: Sequence[Task],
    feedback: str,
    action_format: Format = "tool_call",
    tool_docs: DocStyle = "compact",
    examples: bool = False,
) -> gym.Env[str, str]:
    """Return an environment that serves the tasks with feedback; a tool that is not on offer fails."""
    env: gym.Env[str, str] = gym.make(
        MULTI_DOMAIN_ID,
        tasks=TaskSet({task.id: task for task in tasks}.values()),
        action_format=action_format,
        tool_docs=tool_docs,
        offer="strict",
        disable_env_checker=True,
    )
    env = WorkedExamples(env, action_format) if examples else env
    return AugmentedFeedbackWrapper(env, **FEEDBACK[feedback])


def transcribe(env: gym.Env[str, str], template: ChatTemplate, task_id: str, messages: Sequence[str]) -> Transcript:
    """Play messages from the start of a task."""
    observation, info = env.reset(options={"task_id": task_id})
    conversation = Conversation(template)
    conversation.open(info["messages"])
    spans = []
    for message in messages:
        ids = [*template.encode(message), template.end_id]
        start = len(conversation.ids)
        conversation.add_reply(ids, [0.0] * len(ids))
        spans.append((start, start + len(ids)))
        observation, _, terminated, truncated, info = env.step(message)
        if terminated or truncated:
            break
        conversation.add_messages(info["messages"], observation, sys.maxsize)
    return Transcript(conversation, spans, observation)


def demonstrations(tasks: TaskSet, args: Args) -> list[Demonstration]:
    """Return a trajectory for each place in the run's batches, in random order."""
    total = args.steps * args.batch
    wanted = round(total * args.mistakes)
    pool = first_tasks(tasks, total, args.max_domains)
    kinds = [kind for kind in DEVELOPMENT if args.action_format == "tool_call" or kind not in OF_TOOL_CALL]
    cases = draw_failing_cases(pool, kinds, args.seed, wanted) if wanted else []
    if len(cases) < wanted:
        raise ConfigurationError(f"{len(cases)} calls can be corrupted, but {wanted} are wanted; lower --steps")
    rng = random.Random(args.seed)
    rng.shuffle(cases)
    made = [
        Demonstration(
            case.task,
            [_written(message, args.action_format) for message in case.corrected],
            len(case.before),
            args.feedback[number % len(args.feedback)],
        )
        for number, case in enumerate(cases)
    ]
    plain = list(_plain(pool, args.action_format))
    if wanted < total and not plain:
        raise ConfigurationError("no ground truth can be written in the action format; choose other tasks")
    rng.shuffle(plain)
    made += [plain[number % len(plain)] for number in range(total - wanted)]
    rng.shuffle(made)
    return made


def first_tasks(tasks: TaskSet, number: int, max_domains: int) -> list[Task]:
    """Return the first tasks that involve few domains; of a finite set all that do."""
    fitting = (task for task in tasks if len(task.domains) <= max_domains)
    return list(fitting if tasks.is_finite else islice(fitting, number))


def _plain(tasks: Sequence[Task], action_format: Format) -> Iterator[Demonstration]:
    """Yield the ground truths, one call a message; those with nested calls, which not every format holds, not."""
    for task in tasks:
        calls = [[parse_call(text) for text in texts] for texts in task.ground_truth]
        if all(len(list(call.names())) == 1 for turn in calls for call in turn):
            yield Demonstration(task, script(task, [[[call] for call in turn] for turn in calls], action_format))


def _written(message: str, action_format: Format) -> str:
    """Return a message of the format `tool_call` in a format."""
    if action_format == "tool_call":
        return message
    reply = parse_action(message, "tool_call")
    return render_calls(reply.calls, action_format) if reply.calls else render_answer(reply.answer or "", action_format)


def tokenised(made: Sequence[Demonstration], tokenizer: PreTrainedTokenizerBase, args: Args, bars: Progress) -> Rows:
    """Play trajectories, and return them as tokens."""
    template = ChatTemplate(tokenizer, args.tool_role)
    tasks = [demonstration.task for demonstration in made]
    prompt = (args.action_format, args.tool_docs, args.examples)
    envs = {feedback: make_env(tasks, feedback, *prompt) for feedback in {one.feedback for one in made}}
    rows = Rows()
    for demonstration in bars.track(made, description="playing trajectories"):
        env = envs[demonstration.feedback]
        played = transcribe(env, template, demonstration.task.id, demonstration.messages)
        row = _row(played.conversation.ids, played.spans, demonstration.mistake, args.max_tokens)
        if row is None:
            rows.too_long += 1
            continue
        rows.rows.append(row)
        if demonstration.mistake is not None:
            rows.by_feedback[demonstration.feedback] = rows.by_feedback.get(demonstration.feedback, 0) + 1
    if not rows.rows:
        raise ConfigurationError("no trajectory fits; raise --max-tokens")
    return rows


def _row(
    ids: list[int], spans: Sequence[tuple[int, int]], mistake: int | None, max_tokens: int
) -> dict[str, list[int]] | None:
    """Return ids and labels up to the last message that fits; None if nothing or no correction does."""
    fitting = [(index, span) for index, span in enumerate(spans) if span[1] <= max_tokens]
    first_of_use = 0 if mistake is None else mistake + 1
    if len(fitting) <= first_of_use:
        return None
    labels = [IGNORED] * len(ids)
    for index, (start, end) in fitting:
        if index != mistake:
            labels[start:end] = ids[start:end]
    length = fitting[-1][1][1]
    return {"input_ids": ids[:length], "labels": labels[:length]}
