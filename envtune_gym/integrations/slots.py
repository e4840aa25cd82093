"""Key-value slots of a fixed size: what a recorded decode step reads and writes, always at the same place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["STEPS", "SlotView", "Slots"]

STEPS = 16
"""Decode steps between two looks at what has been drawn: a look waits for the device."""


class Slots:
    """The state of all rows that are decoded together, in tensors that never move.

    Args:
        model: The model that they are for.
        rows: Number of rows.
        length: Tokens that each row has room for.

    Attributes:
        keys: Per layer, [rows, heads, length, width].
        values: Likewise.
        tokens: The latest token of each row, [rows].
        positions: Where that token stands in its row, [rows].
    """

    def __init__(self, model: PreTrainedModel, rows: int, length: int) -> None:
        config, device, dtype = model.config, model.device, model.dtype
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (rows, heads, length, width)
        layers = range(config.num_hidden_layers)
        self.rows, self.length = rows, length
        self.keys = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.values = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.tokens = torch.zeros(rows, device=device, dtype=torch.long)
        self.positions = torch.zeros(rows, device=device, dtype=torch.long)
        self._drawn = torch.zeros(STEPS, rows, device=device, dtype=torch.long)
        self._logprobs = torch.zeros(STEPS, rows, device=device)
        self._finite = torch.zeros(STEPS, rows, device=device, dtype=torch.bool)
        self._column = torch.zeros(1, device=device, dtype=torch.long)

    @property
    def state(self) -> tuple[torch.Tensor, ...]:
        """All that decode steps change but keys and values."""
        return self.tokens, self.positions, self._drawn, self._logprobs, self._finite, self._column

    def rewind(self) -> None:
        """Let the next step be the first since the latest look."""
        self._column.zero_()

    def fill(self, cache: Any, rows: Sequence[int], source: Sequence[int], lengths: torch.Tensor) -> None:
        """Take what a pass over prompts has left in a dynamic cache.

        Args:
            cache: The cache.
            rows: Rows to fill.
            source: For each of them the prompt in the cache.
            lengths: Number of tokens of each prompt.
        """
        to, of = (torch.tensor(list(indices), device=self.tokens.device) for indices in (rows, source))
        for layer, (keys, values) in enumerate(zip(self.keys, self.values, strict=True)):
            read = cache.layers[layer]
            width = read.keys.shape[2]
            keys[to, :, :width] = read.keys[of].to(keys.dtype)
            values[to, :, :width] = read.values[of].to(values.dtype)
        self.positions[to] = lengths[of] - 1

    def put(self, size: int, length: int, tokens: torch.Tensor, logprobs: torch.Tensor, finite: torch.Tensor) -> None:
        """Note what was drawn for the first rows, which use so much of their length: each gains a token."""
        self._drawn[:, :size].index_copy_(0, self._column, tokens[None])
        self._logprobs[:, :size].index_copy_(0, self._column, logprobs[None])
        self._finite[:, :size].index_copy_(0, self._column, finite[None])
        self.tokens[:size].copy_(tokens)
        # A row that has ended is decoded on until the next look, and must not leave its part of the slot.
        self.positions[:size].add_(1).clamp_(max=length - 1)
        self._column.add_(1)

    def look(self, steps: int) -> tuple[list[list[int]], list[list[float]], list[list[bool]]]:
        """Return tokens, log-probabilities and finiteness of the latest steps, each by row, and begin anew."""
        drawn, logprobs, finite = (taken[:steps].T.tolist() for taken in (self._drawn, self._logprobs, self._finite))
        self.rewind()
        return drawn, logprobs, finite

    def move_together(self, places: Sequence[int], length: int) -> None:
        """Move some rows, by rising place, to the front.

        Args:
            places: Where they stand.
            length: How many tokens of them matter.
        """
        index = torch.tensor(list(places), device=self.tokens.device)
        for one in (*self.keys, *self.values):
            one[: len(places), :, :length] = one[index, :, :length]
        for state in (self.tokens, self.positions):
            state[: len(places)] = state[index]


class SlotView:
    """The first rows of slots up to a length, as the cache that a transformers model decodes with.

    Args:
        slots: The slots.
        size: Number of rows.
        length: Tokens of a row.
    """

    def __init__(self, slots: Slots, size: int, length: int) -> None:
        self.size = size
        self._keys = [keys[:size, :, :length] for keys in slots.keys]
        self._values = [values[:size, :, :length] for values in slots.values]
        self._rows = torch.arange(size, device=slots.tokens.device)
        self._length = torch.arange(length, device=slots.tokens.device)
        self.tokens = slots.tokens[:size]
        self.positions = slots.positions[:size]

    def mask(self) -> torch.Tensor:
        """Return which tokens each row may look at: [size, 1, 1, length]."""
        return (self._length <= self.positions[:, None])[:, None, None]

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the keys and values of one token a row, and return all; transformers' models call this."""
        kept_keys, kept_values = self._keys[layer_idx], self._values[layer_idx]
        kept_keys[self._rows, :, self.positions] = keys[:, :, 0]
        kept_values[self._rows, :, self.positions] = values[:, :, 0]
        return kept_keys, kept_values
