"""What a model works on in one pass over key-value slots; to the model a view is a cache, and it does the attention.

On a GPU in half precision, attention is a kernel for rows of different lengths. It is told where each row's slot
begins and how much of it is filled, so nothing is padded or masked, and nothing beyond that is read. What rows share is
read once for all of them, by a second kernel; each says how much weight its keys have, so the two are put together
exactly. Elsewhere (CPU, float32) attention has a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import torch

from envtune_gym.integrations.slots import Slots, most_prefixes

__all__ = ["ATTENTION", "DecodeView", "Part", "ReadView", "attend_slots", "combined", "register_attention"]

ATTENTION = "envtune_slots"
"""The name under which transformers knows `attend_slots`."""


class _View(Protocol):
    def attend(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor: ...


class DecodeView:
    """The first places of slots up to a length: what a decode step works on, one token a row.

    Args:
        slots: The slots.
        size: Number of places.
        length: Tokens of a slot that are used.
    """

    def __init__(self, slots: Slots, size: int, length: int) -> None:
        self._slots, self._length = slots, length
        self.tokens = slots.tokens[:size]
        self.positions = slots.positions[:size]
        self._index = slots.index[:size]
        self._shared, self._source = slots.shared[:size], slots.source[:size]
        self._begins, self._filled = slots.begins[: size + 1], slots.filled[:size]
        prefixes = most_prefixes(size)
        self._prefix_ends = slots.prefix_ends[: prefixes + 1]
        self._prefix_begins, self._prefix_filled = slots.prefix_begins[: prefixes + 1], slots.prefix_filled[:prefixes]
        self._queries = torch.arange(size + 1, device=slots.tokens.device, dtype=torch.int32) * slots.copies

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the keys and values of one token a row, and return all slots of the layer."""
        return self.of_layer(layer_idx).update(keys, values)

    def of_layer(self, number: int) -> _LayerView:
        """Return the part of the view that one layer works on, which is a view itself."""
        return _LayerView(self, self._slots.keys[number], self._slots.values[number])

    def write(self, kept: torch.Tensor, new: torch.Tensor) -> None:
        """Write one token a row into the keys, or the values, of a layer."""
        kept[self._index, self.positions] = new[:, :, 0]

    def attend(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Return what each row's token attends to.

        Args:
            query: [size, query heads, 1, width].
            keys: The slots of a layer, [slots, length, heads, width].
            values: Likewise.
            scale: Factor of the products; None is the usual one.

        Returns:
            [size, 1, query heads, width].
        """
        if _has_kernel(query):
            # Reads as much of each slot as is filled; attention with a mask reads all, and is several times slower.
            return self._attend_in_two(query, keys, values, scale)
        columns = torch.arange(self._length, device=query.device)
        visible = columns <= self.positions[:, None]
        slots = torch.where(columns < self._shared[:, None], self._source[:, None], self._index[:, None])
        return _attend_visible(query, keys[slots, columns], values[slots, columns], visible[:, None], scale)

    def _attend_in_two(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Attend, as `attend` says, to what rows read alone, and to what they share."""
        size, width, heads = len(query), query.shape[-1], keys.shape[2]
        copies = query.shape[1] // heads
        # The queries that go with a head of keys stand as so many tokens of their row: the head is read once for them.
        queries = query.reshape(size, heads, copies, width).transpose(1, 2).flatten(0, 1)
        alone = _attend_filled(
            queries, keys, values, self._queries, self._begins, self._filled, (copies, self._length), scale
        )
        together = _attend_filled(
            queries,
            keys,
            values,
            self._prefix_ends,
            self._prefix_begins,
            self._prefix_filled,
            (size * copies, self._length),
            scale,
        )
        shares = (self._shared > 0)[:, None].expand(-1, copies).flatten()
        attended = combined(*alone, *together, shares)
        return attended.view(size, copies, heads, width).transpose(1, 2).reshape(size, 1, heads * copies, width)


class _LayerView:
    """The slots of one layer, for the layer itself: it needs no number to find them by.

    Args:
        view: The view of all layers.
        keys: The layer's.
        values: Likewise.
    """

    def __init__(self, view: DecodeView, keys: torch.Tensor, values: torch.Tensor) -> None:
        self._view, self._keys, self._values = view, keys, values

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Write as `DecodeView.update` does, and return all slots of the layer."""
        self._view.write(self._keys, keys)
        self._view.write(self._values, values)
        return self._keys, self._values

    def attend(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Attend as `DecodeView.attend` does."""
        return self._view.attend(query, keys, values, scale)


@dataclass(frozen=True)
class Part:
    """What a pass reads of one row: all tokens that its slot does not hold yet.

    Attributes:
        slot: The slot; no other part of the pass has it.
        ids: All tokens of the row.
        known: How many of them the slot holds; fewer than all.
    """

    slot: int
    ids: Sequence[int]
    known: int

    @property
    def size(self) -> int:
        """Number of tokens to read."""
        return len(self.ids) - self.known


class ReadView:
    """Parts of rows, one behind the other as one long row: what a pass over prompts works on.

    Args:
        slots: The slots.
        parts: What to read.

    Attributes:
        ids: The tokens, [1, tokens].
        positions: Where each stands in its row, [1, tokens].
        last: Where the last token of each part stands in `ids`, [parts].
    """

    def __init__(self, slots: Slots, parts: Sequence[Part]) -> None:
        device = slots.tokens.device
        self._slots = slots
        sizes = [part.size for part in parts]
        ends = list(accumulate(sizes))
        self.ids = torch.tensor([[token for part in parts for token in part.ids[part.known :]]], device=device)
        self.positions = torch.tensor([[p for part in parts for p in range(part.known, len(part.ids))]], device=device)
        self.last = torch.tensor(ends, device=device) - 1
        self._index = torch.tensor([part.slot for part in parts], device=device)
        # Of each token: its part, and which of the part's tokens it is.
        self._part = torch.tensor([number for number, size in enumerate(sizes) for _ in range(size)], device=device)
        self._column = torch.tensor([column for size in sizes for column in range(size)], device=device)
        self._queries = torch.tensor([0, *ends], device=device, dtype=torch.int32)
        self._begins = torch.tensor(
            [*(part.slot * slots.length for part in parts), 0], device=device, dtype=torch.int32
        )
        self._filled = torch.tensor([len(part.ids) for part in parts], device=device, dtype=torch.int32)
        self._longest = max(sizes), max(len(part.ids) for part in parts)

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the keys and values of all tokens, and return all slots of the layer."""
        kept_keys, kept_values = self._slots.keys[layer_idx], self._slots.values[layer_idx]
        slots, positions = self._index[self._part], self.positions[0]
        kept_keys[slots, positions] = keys[0].transpose(0, 1)
        kept_values[slots, positions] = values[0].transpose(0, 1)
        return kept_keys, kept_values

    def attend(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Return what each token attends to: all of its row up to itself.

        Args:
            query: [1, query heads, tokens, width].
            keys: The slots of a layer, [slots, length, heads, width].
            values: Likewise.
            scale: Factor of the products; None is the usual one.

        Returns:
            [1, tokens, query heads, width].
        """
        packed = query[0].transpose(0, 1)
        if _has_kernel(query):
            attended, _ = _attend_filled(
                packed, keys, values, self._queries, self._begins, self._filled, self._longest, scale, causal=True
            )
            return attended[None]
        most, longest = self._longest
        padded = packed.new_zeros(len(self._index), most, *packed.shape[1:])
        padded[self._part, self._column] = packed
        positions = self.positions.new_zeros(padded.shape[:2])  # padding sees the first token, which every row has
        positions[self._part, self._column] = self.positions[0]
        visible = torch.arange(longest, device=query.device) <= positions[:, :, None]
        index = self._index
        attended = _attend_visible(
            padded.transpose(1, 2), keys[index, :longest], values[index, :longest], visible, scale
        )
        return attended[self._part, self._column][None]


def attend_slots(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    slots: _View,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as transformers' models ask for it, under the name `ATTENTION`; `slots` comes from who calls the model."""
    return slots.attend(query, key, value, scaling), None


def register_attention() -> None:
    """Make `attend_slots` known to transformers."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, attend_slots)


def _has_kernel(query: torch.Tensor) -> bool:
    return query.is_cuda and query.dtype in (torch.bfloat16, torch.float16)


def _attend_filled(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    queries: torch.Tensor,
    begins: torch.Tensor,
    filled: torch.Tensor,
    longest: tuple[int, int],
    scale: float | None,
    *,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend by the kernel for rows of different lengths.

    Args:
        query: The tokens of all rows, one behind the other, [tokens, query heads, width].
        keys: The slots of a layer, [slots, length, heads, width].
        values: Likewise.
        queries: Where the tokens of each row begin, and the end, [rows + 1].
        begins: Where the slot of each row begins, and a number that is not looked at, [rows + 1].
        filled: How many tokens of its slot count, [rows].
        longest: The most tokens and the most keys of a row.
        scale: Factor of the products.
        causal: Whether a row's tokens are its last keys, and each sees none after its own.

    Returns:
        [tokens, query heads, width], and the weight of each token's keys (the logarithm of their sum),
        [query heads, tokens].
    """
    most, longest_keys = longest
    attended, weight, *_ = torch.ops.aten._flash_attention_forward(
        query.contiguous(),
        keys.flatten(0, 1),
        values.flatten(0, 1),
        queries,
        # With `seqused_k` the kernel takes from it where rows begin and nothing else: they may stand in any order.
        begins,
        max(2, most),  # with a single token a row, the weights would have another shape
        longest_keys,
        0.0,
        causal,
        False,
        scale=scale,
        seqused_k=filled,
    )
    return attended, weight


def combined(
    attended: torch.Tensor,
    weight: torch.Tensor,
    other: torch.Tensor,
    other_weight: torch.Tensor,
    counts: torch.Tensor,
) -> torch.Tensor:
    """Put together what the same tokens attend to among some keys, and among others.

    Args:
        attended: Among some keys, [tokens, heads, width].
        weight: The logarithm of the sum of their weights, [heads, tokens].
        other: Likewise, among others.
        other_weight: Likewise.
        counts: Which tokens have others, [tokens]; what is said of the rest is left out, whatever it is.

    Returns:
        [tokens, heads, width].
    """
    share = torch.sigmoid(other_weight - weight).T[..., None]
    counts = counts[:, None, None]
    return torch.where(counts, attended * (1 - share) + other * share, attended).to(attended.dtype)


def _attend_visible(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, visible: torch.Tensor, scale: float | None
) -> torch.Tensor:
    """Attend with a mask.

    Args:
        query: [rows, query heads, tokens, width].
        keys: [rows, length, heads, width].
        values: Likewise.
        visible: Which keys each token sees, [rows, tokens, length].
        scale: Factor of the products.

    Returns:
        [rows, tokens, query heads, width].
    """
    # What nobody sees may be left from another row, and need not be finite: times a weight of 0 it would still count.
    unseen = ~visible.any(1)[:, :, None, None]
    copies = query.shape[1] // keys.shape[2]  # grouped heads are repeated: the kernels that need little memory want it
    keys, values = (
        one.masked_fill(unseen, 0).transpose(1, 2).repeat_interleave(copies, dim=1) for one in (keys, values)
    )
    attended = torch.nn.functional.scaled_dot_product_attention(
        query, keys, values, attn_mask=visible[:, None], scale=scale
    )
    return attended.transpose(1, 2)
