"""Key-value slots of a fixed size: what a recorded decode step reads and writes, always at the same place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["ATTENTION", "STEPS", "SlotView", "Slots", "attend_slots"]

ATTENTION = "envtune_slots"
"""The name under which transformers knows `attend_slots`."""
STEPS = 16
"""Decode steps between two looks at what has been drawn: a look waits for the device."""


class Slots:
    """The state of all rows that are decoded together, in tensors that never move.

    Args:
        model: The model that they are for.
        rows: Number of rows.
        length: Tokens that each row has room for.

    Attributes:
        keys: Per layer, [rows, length, heads, width].
        values: Likewise.
        tokens: The latest token of each row, [rows].
        positions: Where that token stands in its row, [rows].
    """

    def __init__(self, model: PreTrainedModel, rows: int, length: int) -> None:
        config, device, dtype = model.config, model.device, model.dtype
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (rows, length, heads, width)
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
            keys[to, :width] = read.keys[of].transpose(1, 2).to(keys.dtype)
            values[to, :width] = read.values[of].transpose(1, 2).to(values.dtype)
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
            one[: len(places), :length] = one[index, :length]
        for state in (self.tokens, self.positions):
            state[: len(places)] = state[index]


class SlotView:
    """The first rows of slots up to a length: what one decode step works on.

    To a model it is a cache of one token a row (`update`); its attention is `attend`.

    Args:
        slots: The slots.
        size: Number of rows.
        length: Tokens of a row.
    """

    def __init__(self, slots: Slots, size: int, length: int) -> None:
        self._slots, self._size, self._length = slots, size, length
        self.tokens = slots.tokens[:size]
        self.positions = slots.positions[:size]
        self._rows = torch.arange(size, device=slots.tokens.device)
        # Where each row's query and its part of the slots begin, as kernels for rows of different lengths want it.
        self._queries = torch.arange(size + 1, device=slots.tokens.device, dtype=torch.int32)
        self._begins = self._queries * slots.length

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the keys and values of one token a row, and return all slots of the layer."""
        kept_keys, kept_values = self._slots.keys[layer_idx], self._slots.values[layer_idx]
        kept_keys[self._rows, self.positions] = keys[:, :, 0]
        kept_values[self._rows, self.positions] = values[:, :, 0]
        return kept_keys, kept_values

    def attend(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Return what each row's token attends to.

        Args:
            query: [size, query heads, 1, width].
            keys: The slots of a layer, [rows, length, heads, width].
            values: Likewise.
            scale: Factor of the products; None is the usual one.

        Returns:
            [size, 1, query heads, width].
        """
        if query.is_cuda and query.dtype in (torch.bfloat16, torch.float16):
            # Reads as much of each slot as is filled; attention with a mask reads all, and is several times slower.
            attended, *_ = torch.ops.aten._flash_attention_forward(
                query[:, :, 0].contiguous(),
                keys.flatten(0, 1),
                values.flatten(0, 1),
                self._queries,
                self._begins,
                1,
                self._length,
                0.0,
                False,
                False,
                scale=scale,
                seqused_k=(self.positions + 1).to(torch.int32),
            )
            return attended[:, None]
        filled = torch.arange(self._length, device=query.device) <= self.positions[:, None]
        attended = torch.nn.functional.scaled_dot_product_attention(
            query,
            keys[: self._size, : self._length].transpose(1, 2),
            values[: self._size, : self._length].transpose(1, 2),
            attn_mask=filled[:, None, None],
            scale=scale,
            enable_gqa=query.shape[1] != keys.shape[2],
        )
        return attended.transpose(1, 2)


def attend_slots(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    slots: SlotView,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as transformers' models ask for it, under the name `ATTENTION`; `slots` comes from who calls the model."""
    return slots.attend(query, key, value, scaling), None
