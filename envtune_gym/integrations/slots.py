"""Key-value slots of a fixed size: what a recorded decode step reads and writes, always at the same address.

A row has its keys and values in one slot for good. It is decoded at a place, and places are cheap to change: a place
says which slot it works on, so rows move together without moving what they have read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["STEPS", "Slots"]

STEPS = 16
"""Decode steps between two looks at what has been drawn: a look waits for the device."""


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
        begins: Where the slots of the places begin, counted in tokens, as attention kernels want it, [rows + 1].
        tokens: The latest token of the row at each place, [rows].
        positions: Where that token stands in its row, [rows].
    """

    def __init__(self, model: PreTrainedModel, rows: int, length: int) -> None:
        config, dtype = model.config, model.dtype
        device = model.get_input_embeddings().weight.device  # where a model begins, if it is spread over several
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (rows + 1, length, heads, width)
        layers = range(config.num_hidden_layers)
        self.rows, self.length = rows, length
        self.keys = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.values = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.index = torch.full((rows,), rows, device=device, dtype=torch.long)
        self.begins = torch.zeros(rows + 1, device=device, dtype=torch.int32)
        self.tokens = torch.zeros(rows, device=device, dtype=torch.long)
        self.positions = torch.zeros(rows, device=device, dtype=torch.long)
        self._drawn = torch.zeros(STEPS, rows, device=device, dtype=torch.long)
        self._logprobs = torch.zeros(STEPS, rows, device=device)
        self._finite = torch.zeros(STEPS, rows, device=device, dtype=torch.bool)
        self._column = torch.zeros(1, device=device, dtype=torch.long)

    @property
    def state(self) -> tuple[torch.Tensor, ...]:
        """All that decode steps, and trials of them, change but keys and values."""
        places = self.index, self.begins, self.tokens, self.positions
        return *places, self._drawn, self._logprobs, self._finite, self._column

    def rewind(self) -> None:
        """Let the next step be the first since the latest look."""
        self._column.zero_()

    def seat(self, slots: Sequence[int], lengths: Sequence[int]) -> None:
        """Give the first places to rows that have been read; the others have none.

        Args:
            slots: The slot of each row.
            lengths: How many tokens it holds.
        """
        empty = self.rows - len(slots)
        device = self.index.device
        self.positions.copy_(torch.tensor([*(length - 1 for length in lengths), *[0] * empty], device=device))
        self._point(torch.tensor([*slots, *[self.rows] * empty], device=device))

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
        self._column.add_(1)

    def look(self, steps: int) -> tuple[list[list[int]], list[list[float]], list[list[bool]]]:
        """Return tokens, log-probabilities and finiteness of the latest steps, each by place, and begin anew."""
        drawn, logprobs, finite = (taken[:steps].T.tolist() for taken in (self._drawn, self._logprobs, self._finite))
        self.rewind()
        return drawn, logprobs, finite

    def move_together(self, places: Sequence[int]) -> None:
        """Let the rows at some places stand at the first ones, in this order, and all others behind them."""
        chosen = set(places)
        order = [*places, *(place for place in range(self.rows) if place not in chosen)]
        moved = torch.tensor(order, device=self.index.device)
        for state in (self.tokens, self.positions):
            state.copy_(state[moved])
        self._point(self.index[moved])

    def grow(self, length: int) -> None:
        """Make room for more tokens in each slot; what has been read stays, all else that knew the tensors is void."""
        for tensors in (self.keys, self.values):
            for layer, old in enumerate(tensors):
                tensors[layer] = old.new_zeros(old.shape[0], length, *old.shape[2:])
                tensors[layer][:, : self.length] = old
        self.length = length

    def _point(self, index: torch.Tensor) -> None:
        self.index.copy_(index)
        self.begins[:-1].copy_(index * self.length)
