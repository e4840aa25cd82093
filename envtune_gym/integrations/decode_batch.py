"""Conversations that an engine samples together: their prompts, which grow from reply to reply, and their replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envtune_gym.integrations.engine import Generated, OnReply
from envtune_gym.integrations.kept_slots import pack_tokens
from envtune_gym.integrations.shared_prefixes import Group, shared_prefixes

__all__ = ["DecodeBatch"]


class DecodeBatch:
    """Some conversations of a call, and what becomes of them.

    Args:
        chosen: Which prompts of the call they begin with.
        prompts: The prompts of the whole call.
        limits: The most tokens of each reply of the call.
        replies: The replies of the call, which are written into.
        on_reply: Who wants a reply as soon as it is whole, if anybody does.

    Attributes:
        prompts: The present prompt of each conversation; like what follows, by row: in the order of `chosen`.
        packed: The same, packed.
        groups: The order in which rows are best decoded, and what those that stand side by side share.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        prompts: Sequence[Sequence[int]],
        limits: Sequence[int],
        replies: list[Generated],
        on_reply: OnReply | None,
    ) -> None:
        self._chosen = chosen
        self._limits = [limits[place] for place in chosen]
        self._replies = replies
        self._on_reply = on_reply
        self.prompts = [prompts[place] for place in chosen]
        self.packed = list(map(pack_tokens, self.prompts))
        self.groups: list[Group] = []

    def reply(self, row: int) -> Generated:
        """Return the present reply."""
        return self._replies[self._chosen[row]]

    def longest(self, rows: Iterable[int]) -> int:
        """Return the most tokens that one of these rows may come to, its prompt included."""
        return max(len(self.prompts[row]) + self._limits[row] for row in rows)

    def arrange(self, rows: Iterable[int]) -> None:
        """Put rows in order: those that share much side by side, the others behind them, in groups of their own."""
        numbers = list(rows)
        shared = shared_prefixes([self.packed[row] for row in numbers])
        groups = [Group([numbers[place] for place in group.rows], group.length) for group in shared]
        grouped = {row for group in groups for row in group.rows}
        self.groups = [*groups, *(Group([row], 0) for row in numbers if row not in grouped)]

    def extend(
        self,
        row: int,
        end_ids: frozenset[int],
        tokens: Sequence[int],
        logprobs: Sequence[float],
        finite: Sequence[bool],
    ) -> bool:
        """Add what was drawn to the reply of a row, up to its end; tell whether it goes on."""
        reply, limit = self.reply(row), self._limits[row]
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

    def read(self, row: int) -> bytes:
        """Return the tokens, packed, that the model has read of a row: the last one has been drawn only."""
        return self.packed[row] + pack_tokens(self.reply(row).ids[:-1])

    def pass_on(self, ended: Iterable[int]) -> list[int]:
        """Pass on the replies of some rows, while the device works for others; return the rows that go on."""
        return [row for row in ended if self._goes_on(row)]

    def _goes_on(self, row: int) -> bool:
        place = self._chosen[row]
        following = None if self._on_reply is None else self._on_reply(place, self._replies[place])
        if following is None:
            return False
        self.prompts[row], self._limits[row] = following
        self.packed[row] = pack_tokens(following.prompt)
        self._replies[place] = Generated()
        return True
