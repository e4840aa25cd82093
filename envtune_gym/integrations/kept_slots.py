"""What the slots of an engine hold between calls: which tokens, and whether it is still what the model would read."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import torch

__all__ = ["TOKEN", "KeptSlots", "Seat", "joined_weights", "pack_tokens", "tensors_mark", "weights_mark"]

_MARKED = 1 << 24
"""Weights that are marked at a time; bounds the memory that it takes."""
TOKEN = array("q").itemsize
"""Bytes of a packed token."""


@dataclass(frozen=True)
class Seat:
    """Where a row is to be decoded.

    Attributes:
        slot: Its slot, which no other row of the batch has.
        known: How many of its tokens the slot holds already; less than all, as the last one must be read anyway.
        like: The row that is read in its stead, as it has the same tokens; the row itself if it is to be read.
    """

    slot: int
    known: int
    like: int


class KeptSlots:
    """Which tokens each slot holds.

    A row may go on in a slot if its tokens begin with all that the slot holds, compared one by one.

    Args:
        slots: Number of slots.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._held: dict[int, bytes] = {}  # oldest first

    def claim(self, prompts: Sequence[bytes], busy: Collection[int] = ()) -> list[Seat]:
        """Give each row a slot; what the slot holds is unknown until `keep` says it.

        Rows with the same tokens are read once, in the slot that holds most of them. Rows that nothing is kept of get
        slots that hold nothing, and then those that have not been used for longest.

        Args:
            prompts: The packed tokens of each row.
            busy: Slots that other rows are decoded in. There are enough slots for all.
        """
        first: dict[bytes, int] = {}
        for row, ids in enumerate(prompts):
            first.setdefault(ids, row)
        seats: dict[int, Seat] = {}
        for ids, row in first.items():
            fitting = [slot for slot, held in self._held.items() if ids.startswith(held)]
            if fitting:
                slot = max(fitting, key=lambda slot: len(self._held[slot]))
                known = len(self._held.pop(slot)) // TOKEN
                seats[row] = Seat(slot, min(known, len(ids) // TOKEN - 1), row)
        taken = {*busy, *(seat.slot for seat in seats.values())}
        unused = [slot for slot in range(self._slots) if slot not in taken and slot not in self._held]
        free = iter([*unused, *self._held])
        for row, ids in enumerate(prompts):
            if row not in seats:
                slot = next(free)
                self._held.pop(slot, None)
                seats[row] = Seat(slot, 0, first[ids])
        return [seats[row] for row in range(len(prompts))]

    def keep(self, slot: int, tokens: bytes) -> None:
        """Note the tokens, packed, that a claimed slot now holds."""
        self._held[slot] = tokens

    def forget(self) -> None:
        """Note that no slot holds anything of use."""
        self._held.clear()


def weights_mark(model: torch.nn.Module) -> list[float]:
    """Return `tensors_mark` of a model's weights."""
    return tensors_mark(chain(model.parameters(), model.buffers()))


def tensors_mark(tensors: Iterable[torch.Tensor]) -> list[float]:
    """Return sums by which changed weights can be told from those of before, whoever wrote to them.

    The version counters of parameters do not tell: fused optimisers (the default of transformers' trainer) and all
    that writes through `.data` leave them as they are. Sums in double precision are exact enough to show an update of
    a single weight, and reading the weights takes little beside a decode step.
    """
    marks = [
        mark for tensor in tensors for part in tensor.detach().flatten().split(_MARKED) for mark in _sums(part.double())
    ]
    sums: list[float] = torch.stack(marks).tolist()
    return sums


def joined_weights(model: torch.nn.Module) -> torch.Tensor:
    """Move a model's weights, all of one precision, into one tensor, and return it: its mark is made at once."""
    parameters = list(model.parameters())
    joined = torch.cat([parameter.data.flatten() for parameter in parameters])
    parts = joined.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.data = part.view_as(parameter)
    return joined


def _sums(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum, and the length, which also changes where gains and losses are equal."""
    return weights.sum(), torch.linalg.vector_norm(weights)


def pack_tokens(ids: Sequence[int]) -> bytes:
    """Return tokens in a form that is compared at the speed of memory."""
    return array("q", ids).tobytes()
