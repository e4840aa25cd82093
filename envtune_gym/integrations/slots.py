"""Key-value slots of a fixed size: what a recorded decode step reads and writes, always at the same address.

A row has its keys and values in one slot for good. It is decoded at a place, and places are cheap to change: a place
says which slot it works on, so rows move together without moving what they have read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["STEPS", "Prefix", "Slots", "most_prefixes"]

STEPS = 16
"""Decode steps between two looks at what has been drawn: a look waits for the device."""


class Prefix(NamedTuple):
    """What a row has in common with others.

    Attributes:
        slot: The slot that it is read from.
        length: How many tokens it has; they stand in the row's own slot as well.
    """

    slot: int
    length: int


def most_prefixes(places: int) -> int:
    """Return the most prefixes that so many places read together: a kernel looks at each, whether it is used or not."""
    return max(1, places // 4)


class Slots:
    """The state of all rows that are decoded together, in tensors that never move.

    Args:
        model: The model that they are for.
        rows: Number of slots, and of places.
        length: Tokens that each slot has room for.

    Attributes:
        keys: Per layer, [rows + 1, length, heads, width]; the last slot is for places without a row.
        values: Likewise.
        index: The slot of each place, [rows].
        tokens: The latest token of the row at each place, [rows].
        positions: Where that token stands in its row, [rows].
        shared: How many tokens of the row are read together with other rows, [rows].
        source: The slot that those are read from, [rows].
        begins: Where the tokens that a row reads alone begin, counted over all slots, [rows + 1]; like what follows in
            the form that attention kernels want.
        filled: How many tokens it reads alone, [rows].
        prefix_ends: Behind which query the rows of each shared prefix end, after a 0, [prefixes + 1]; a row has
            `copies` queries to a head of keys.
        prefix_begins: Where the prefix begins, [prefixes + 1].
        prefix_filled: How many it has, [prefixes].
        copies: Query heads to a head of keys.
    """

    def __init__(self, model: PreTrainedModel, rows: int, length: int) -> None:
        config, dtype = model.config, model.dtype
        device = model.get_input_embeddings().weight.device  # where a model begins, if it is spread over several
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        prefixes = most_prefixes(rows)
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (rows + 1, length, heads, width)
        layers = range(config.num_hidden_layers)
        self.rows, self.length, self.copies = rows, length, config.num_attention_heads // heads
        self.keys = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.values = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.index = torch.full((rows,), rows, device=device, dtype=torch.long)
        self.tokens = torch.zeros(rows, device=device, dtype=torch.long)
        self.positions = torch.zeros(rows, device=device, dtype=torch.long)
        self.begins = torch.zeros(rows + 1, device=device, dtype=torch.int32)
        self.filled = torch.zeros(rows, device=device, dtype=torch.int32)
        sizes = rows, rows, prefixes + 1, prefixes + 1, prefixes
        self._sharing = torch.zeros(sum(sizes), device=device, dtype=torch.int32)  # one tensor, filled in one go
        self.shared, self.source, self.prefix_ends, self.prefix_begins, self.prefix_filled = self._sharing.split(sizes)
        self._drawn = torch.zeros(STEPS, rows, device=device, dtype=torch.long)
        self._logprobs = torch.zeros(STEPS, rows, device=device)
        self._finite = torch.zeros(STEPS, rows, device=device, dtype=torch.bool)
        self._column = torch.zeros(1, device=device, dtype=torch.long)

    @property
    def state(self) -> tuple[torch.Tensor, ...]:
        """All that decode steps, and trials of them, change but keys and values."""
        places = self.index, self.tokens, self.positions, self.begins, self.filled, self._sharing
        return *places, self._drawn, self._logprobs, self._finite, self._column

    def rewind(self) -> None:
        """Let the next step be the first since the latest look."""
        self._column.zero_()

    def seat(
        self,
        slots: Sequence[int],
        tokens: Sequence[int],
        lengths: Sequence[int],
        prefixes: Sequence[Prefix | None],
        size: int,
    ) -> None:
        """Give the first places to rows that have been read; the others have none.

        Args:
            slots: The slot of each row.
            tokens: What has been drawn for it last, and not been read.
            lengths: How many tokens have been read.
            prefixes: What it reads together with its neighbours; rows with the same prefix stand side by side.
            size: How many places are decoded. Where they have more prefixes than `most_prefixes`, the last are left.
        """
        empty = [0] * (self.rows - len(slots))
        seated = [[*slots, *(self.rows for _ in empty)], [*tokens, *empty], [*lengths, *empty]]
        for state, values in zip((self.index, self.tokens, self.positions), torch.tensor(seated), strict=True):
            state.copy_(values)
        self._share(prefixes, size)
        self.rewind()

    def _share(self, prefixes: Sequence[Prefix | None], size: int) -> None:
        runs = [(prefix or Prefix(0, 0), len(list(places))) for prefix, places in groupby(prefixes)]
        runs = runs[: most_prefixes(size)]
        ends = list(accumulate((rows for _, rows in runs), initial=0))
        unused = len(self.prefix_filled) - len(runs)
        rest = self.rows - ends[-1]
        sharing = [
            *(prefix.length for prefix, rows in runs for _ in range(rows)),
            *[0] * rest,
            *(prefix.slot for prefix, rows in runs for _ in range(rows)),
            *[0] * rest,
            *(end * self.copies for end in ends),
            *[ends[-1] * self.copies] * unused,
            *(prefix.slot * self.length for prefix, _ in runs),
            *[0] * (unused + 1),
            *(prefix.length for prefix, _ in runs),
            *[0] * unused,
        ]
        self._sharing.copy_(torch.tensor(sharing, dtype=torch.int32))
        self.begins[:-1].copy_(self.index * self.length + self.shared)
        self.filled.copy_(self.positions + 1 - self.shared)

    def copy(self, slots: Sequence[int], source: Sequence[int], length: int) -> None:
        """Let slots hold what others do, up to a length."""
        to, of = (torch.tensor(list(indices), device=self.index.device) for indices in (slots, source))
        for one in (*self.keys, *self.values):
            one[to, :length] = one[of, :length]

    def put(self, size: int, length: int, tokens: torch.Tensor, logprobs: torch.Tensor, finite: torch.Tensor) -> None:
        """Note what was drawn at the first places, which use so much of their slots: each row gains a token."""
        self._drawn[:, :size].index_copy_(0, self._column, tokens[None])
        self._logprobs[:, :size].index_copy_(0, self._column, logprobs[None])
        self._finite[:, :size].index_copy_(0, self._column, finite[None])
        self.tokens[:size].copy_(tokens)
        # A row that has ended is decoded on until its place is given up, and must not leave its part of the slot.
        self.positions[:size].add_(1).clamp_(max=length - 1)
        self.filled[:size].copy_(self.positions[:size] + 1 - self.shared[:size])
        self._column.add_(1)

    def look(self, steps: int) -> tuple[list[list[int]], list[list[float]], list[list[bool]]]:
        """Return tokens, log-probabilities and finiteness of the latest steps, each by place, and begin anew."""
        drawn, logprobs, finite = (taken[:steps].T.tolist() for taken in (self._drawn, self._logprobs, self._finite))
        self.rewind()
        return drawn, logprobs, finite

    def grow(self, length: int) -> None:
        """Make room for more tokens in each slot; what has been read stays, all else that knew the tensors is void."""
        for tensors in (self.keys, self.values):
            for layer, old in enumerate(tensors):
                tensors[layer] = old.new_zeros(old.shape[0], length, *old.shape[2:])
                tensors[layer][:, : self.length] = old
        self.length = length
