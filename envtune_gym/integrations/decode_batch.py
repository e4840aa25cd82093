"""Rows that an engine decodes together, those that begin with the same tokens side by side, and their replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envtune_gym.integrations.engine import Generated, OnReply
from envtune_gym.integrations.shared_prefixes import shared_prefixes

__all__ = ["DecodeBatch", "Shared"]


class Shared(NamedTuple):
    """What a row has in common with others.

    Attributes:
        first: The first of these rows.
        length: How many tokens it has in common with each of them.
    """

    first: int
    length: int


class DecodeBatch:
    """Some rows of a call, and what becomes of them.

    Args:
        chosen: Which rows of the call they are.
        prompts: The prompts of the whole call.
        packed: The same, packed.
        limits: The most tokens of each reply of the call.
        replies: The replies of the call, which are written into.
        on_reply: Who wants a reply as soon as it is whole, if anybody does.

    Attributes:
        prompts: The prompts of these rows; like what follows in an order of the batch's own.
        packed: The same, packed.
        replies: Their replies.
        shared: What each has in common with its neighbours, if anything.
        longest: The most tokens that one of them may come to, its prompt included.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        prompts: Sequence[Sequence[int]],
        packed: Sequence[bytes],
        limits: Sequence[int],
        replies: Sequence[Generated],
        on_reply: OnReply | None,
    ) -> None:
        groups = shared_prefixes([packed[row] for row in chosen])
        order = [row for group in groups for row in group.rows]
        self.shared: list[Shared | None] = []
        for group in groups:
            self.shared += [Shared(len(self.shared), group.length)] * len(group.rows)
        grouped = set(order)
        order += [row for row in range(len(chosen)) if row not in grouped]
        self.shared += [None] * (len(order) - len(self.shared))
        self._rows = [chosen[row] for row in order]
        self._limits = [limits[row] for row in self._rows]
        self._on_reply = on_reply
        self.prompts = [prompts[row] for row in self._rows]
        self.packed = [packed[row] for row in self._rows]
        self.replies = [replies[row] for row in self._rows]
        self.longest = max(len(prompt) + limit for prompt, limit in zip(self.prompts, self._limits, strict=True))

    def extend(
        self,
        row: int,
        end_ids: frozenset[int],
        tokens: Sequence[int],
        logprobs: Sequence[float],
        finite: Sequence[bool],
    ) -> bool:
        """Add what was drawn to the reply of a row, up to its end; tell whether it goes on."""
        reply, limit = self.replies[row], self._limits[row]
        if len(reply.ids) + len(tokens) < limit and end_ids.isdisjoint(tokens) and all(finite):
            reply.ids += tokens  # nearly always so, and the device waits meanwhile
            reply.logprobs += logprobs
            return True
        for token, logprob, is_finite in zip(tokens, logprobs, finite, strict=True):
            if not is_finite:
                reply.error = "the model's logits are not finite"
                return False
            reply.ids.append(token)
            reply.logprobs.append(logprob)
            if token in end_ids or len(reply.ids) == limit:
                return False
        return True

    def pass_on(self, ended: Iterable[int]) -> None:
        """Pass on the replies of some rows, while the device works for the others."""
        if self._on_reply is not None:
            for row in ended:
                self._on_reply(self._rows[row], self.replies[row])
