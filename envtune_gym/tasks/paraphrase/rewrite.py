"""One task's messages put into other words: at most three attempts a message, then the original stays."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from envtune_gym.asking import ChatModel, MalformedReplyError, Writer, read_reply
from envtune_gym.tasks.generation.proof import prove
from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.goals.plan import Discarded
from envtune_gym.tasks.paraphrase.checks import (
    Fault,
    FaultKind,
    Value,
    find_faults,
    kept_texts,
    length_bound,
    values_of,
)
from envtune_gym.tasks.paraphrase.entities import straightened
from envtune_gym.tasks.paraphrase.prompts import MANNERS, rejection, request
from envtune_gym.tasks.task import TOOLS_ADDED_MESSAGE, Task

__all__ = ["MAX_ATTEMPTS", "KeptReason", "MessageRecord", "TaskRecord", "paraphrase_task", "rewritten"]

MAX_ATTEMPTS = 3
"""Paraphrases of a message that are looked at."""

KeptReason = FaultKind | Literal["tools added", "task not proven"]
"""Why a message stays: the fault of the last paraphrase, or it says that tools came back, or its task is unfair."""

_SUFFIX = "-paraphrased"
_UNPROVEN = "with it the task cannot be solved as before: it says less than the original, or what was to stay unsaid"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MessageRecord(_Record):
    """What became of a message.

    Attributes:
        paraphrase: The message in other words; None if the original stays.
        kept: Why the original stays; None if it does not.
        reasons: What spoke against the last attempt.
        attempts: Replies that were looked at.
    """

    paraphrase: str | None = None
    kept: KeptReason | None = None
    reasons: tuple[str, ...] = ()
    attempts: int = 0


class TaskRecord(_Record):
    """What became of a task's messages.

    Attributes:
        task_id: Id of the original.
        fingerprint: Its fingerprint: another task of this id has not been paraphrased.
        seed: The run's seed.
        writer: Who wrote the paraphrases.
        messages: The messages, turn by turn.
    """

    task_id: str
    fingerprint: str
    seed: int | None
    writer: Writer
    messages: tuple[MessageRecord, ...]

    def concerns(self, task: Task, seed: int | None) -> bool:
        """Tell whether this is the record of a task in a run with a seed."""
        return (self.task_id, self.fingerprint, self.seed) == (task.id, task.fingerprint, seed)


class _Reply(BaseModel):
    message: str


async def paraphrase_task(task: Task, model: ChatModel) -> TaskRecord:
    """Ask for each message in other words.

    A paraphrase is taken if the checks have nothing against it and the task that has it passes the proof of fairness.
    The announcement that tools have come back stays, and so do all messages of a task that is not proven to begin with.

    Raises:
        ServerError: If the server gives no answer.
    """
    seed = model.settings.seed
    fault = _unproven(task)
    messages: list[MessageRecord] = []
    now = task
    for turn, original in enumerate(task.turns):
        if fault is not None:
            record = MessageRecord(kept="task not proven", reasons=(fault,))
        elif turn in task.missed_functions or original == TOOLS_ADDED_MESSAGE:
            record = MessageRecord(kept="tools added")
        else:
            record = await _paraphrase(now, turn, model, Rng(f"{seed}/{task.fingerprint}").pick(MANNERS))
        messages.append(record)
        if record.paraphrase is not None:
            now = _with_message(now, turn, record.paraphrase)
    return TaskRecord(
        task_id=task.id,
        fingerprint=task.fingerprint,
        seed=seed,
        writer=model.settings.writer,
        messages=tuple(messages),
    )


def rewritten(task: Task, record: TaskRecord) -> Task:
    """Return a task with its paraphrases, under an id that says so; a task without any is as it was."""
    said = zip(task.turns, record.messages, strict=True)
    turns = tuple(original if message.paraphrase is None else message.paraphrase for original, message in said)
    if turns == task.turns:
        return task
    suffix = _SUFFIX if record.seed is None else f"{_SUFFIX}{record.seed}"
    return task.model_copy(update={"id": task.id + suffix, "turns": turns})


async def _paraphrase(task: Task, turn: int, model: ChatModel, manner: str) -> MessageRecord:
    original, values = task.turns[turn], values_of(task)
    asked = request(original, task.turns[:turn], kept_texts(original, values), manner, length_bound(original))
    faults: list[Fault] = []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        reply = await model.ask(asked)
        paraphrase, faults = _judged(reply, task, turn, values)
        if not faults:
            return MessageRecord(paraphrase=paraphrase, attempts=attempt)
        asked = [*asked, *rejection(reply, (_UNPROVEN if f.kind == "unproven" else f.reason for f in faults))]
    return MessageRecord(
        kept=faults[0].kind, reasons=tuple(fault.reason for fault in faults[:5]), attempts=MAX_ATTEMPTS
    )


def _judged(reply: str, task: Task, turn: int, values: list[Value]) -> tuple[str, list[Fault]]:
    """Return the paraphrase that a reply holds, and what speaks against it."""
    try:
        paraphrase = " ".join(read_reply(reply, _Reply).message.split())
    except MalformedReplyError as error:
        return "", [Fault("malformed", str(error))]
    original = task.turns[turn]
    if original == straightened(original):
        paraphrase = straightened(paraphrase)
    faults = find_faults(original, paraphrase, values)
    if not faults:
        reason = _unproven(_with_message(task, turn, paraphrase))
        faults = [] if reason is None else [Fault("unproven", reason)]
    return paraphrase, faults


def _with_message(task: Task, turn: int, message: str) -> Task:
    return task.model_copy(update={"turns": (*task.turns[:turn], message, *task.turns[turn + 1 :])})


def _unproven(task: Task) -> str | None:
    """Return why the proof of a task fails, or None if it does not."""
    try:
        prove(task)
    except Discarded as discarded:
        return str(discarded)
    return None
