"""From causes to decisions: at most three attempts a cause, several causes at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timezone

from envtune_gym.asking import ChatModel, MalformedReplyError, Outcome, ask_all, cut, read_reply
from envtune_gym.feedback.proposing.bookfile import Attempt, Cause, Entry, Example
from envtune_gym.feedback.proposing.checks import find_faults, find_leaked
from envtune_gym.feedback.proposing.failures import FailureGroup
from envtune_gym.feedback.proposing.prompts import generator_messages, judge_messages, rejection, reread
from envtune_gym.feedback.proposing.reply import Judgement, Proposal

__all__ = ["MAX_ATTEMPTS", "propose_all", "propose_hint"]

MAX_ATTEMPTS = 3
"""Proposals that a cause gets; the paper's number."""

_SHOWN = 500


async def propose_all(
    groups: Sequence[FailureGroup],
    generator: ChatModel,
    judge: ChatModel,
    on_entry: Callable[[Entry], object],
    *,
    concurrency: int = 4,
) -> Outcome[Cause]:
    """Ask about causes, several at once.

    If the server fails, the causes in work are seen to their end and no further one is begun; if it refuses a request
    for what is in it, the others go on.

    Args:
        groups: The causes.
        generator: The model that proposes.
        judge: The model that decides.
        on_entry: Called with each finished cause, before the next is begun.
        concurrency: Causes in work at a time.
    """

    def propose(group: FailureGroup) -> Awaitable[Entry]:
        return propose_hint(group, generator, judge)

    return await ask_all(groups, propose, lambda group: group.cause, on_entry, concurrency=concurrency)


async def propose_hint(group: FailureGroup, generator: ChatModel, judge: ChatModel) -> Entry:
    """Ask for a hint for one cause until one is approved or the attempts are used up.

    Raises:
        ServerError: If a server gives no answer.
    """
    messages = generator_messages(group)
    attempts: list[Attempt] = []
    while len(attempts) < MAX_ATTEMPTS and not (attempts and attempts[-1].approved):
        reply = await generator.ask(messages)
        attempts.append(await _decide(reply, group, judge))
        messages += [{"role": "assistant", "content": cut(reply, 2_000) or "(empty)"}, rejection(attempts[-1].reasons)]
    return _entry(group, attempts, generator, judge)


async def _decide(reply: str, group: FailureGroup, judge: ChatModel) -> Attempt:
    """Decide on what the generator replied: by its form, then by the leak check, then by the judge."""
    try:
        proposal = read_reply(reply, Proposal)
    except MalformedReplyError as error:
        return Attempt(approved=False, decided_by="form", reasons=(str(error),), reply=cut(reply, _SHOWN))
    faults = find_faults(proposal, group)
    if faults:
        return Attempt(approved=False, decided_by="form", reasons=tuple(faults), proposal=proposal)
    leaked = find_leaked(proposal, group)
    if leaked:
        return Attempt(approved=False, decided_by="leak check", reasons=tuple(leaked), proposal=proposal)
    try:
        judgement = await _judge(proposal, group, judge)
    except MalformedReplyError as error:
        reasons: tuple[str, ...] = (f"the judge gave no decision that could be read: {error}",)
        return Attempt(approved=False, decided_by="judge", reasons=reasons, proposal=proposal)
    return Attempt(approved=judgement.approved, decided_by="judge", reasons=judgement.reasons, proposal=proposal)


async def _judge(proposal: Proposal, group: FailureGroup, judge: ChatModel) -> Judgement:
    """Return the judge's decision, asking once more for one that cannot be read.

    Raises:
        MalformedReplyError: If the last reply cannot be read either.
    """
    messages = judge_messages(group, proposal)
    reply = await judge.ask(messages)
    try:
        return read_reply(reply, Judgement)
    except MalformedReplyError as error:
        again = await judge.ask([*messages, *reread(reply, str(error))])
    return read_reply(again, Judgement)


def _entry(group: FailureGroup, attempts: Sequence[Attempt], generator: ChatModel, judge: ChatModel) -> Entry:
    first = group.failures[0]
    proposals = [attempt.proposal for attempt in attempts if attempt.proposal is not None]
    return Entry(
        cause=group.cause,
        status="approved" if attempts[-1].approved else "rejected",
        hint=proposals[-1] if proposals else None,
        names=tuple(sorted(group.names)),
        proposed_by=generator.settings.writer,
        judged_by=judge.settings.writer,
        decided_at=datetime.now(timezone.utc).replace(microsecond=0),
        failures=group.count,
        example=Example(task=first.task.id, call=cut(first.call, _SHOWN), result=cut(first.result, _SHOWN)),
        attempts=tuple(attempts),
    )
