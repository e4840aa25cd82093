"""Which rows of a matrix are equal: prompts that occur many times in a batch are read once."""

from __future__ import annotations

import torch

__all__ = ["numbered"]


def numbered(rows: torch.Tensor) -> torch.Tensor:
    """Return a number for each row, from 0 on: equal rows have the same, others have another.

    Torch's `unique` of rows sorts them by all their columns; here one number stands for a row, and is checked.

    Args:
        rows: Whole numbers, [rows, columns].
    """
    stand_ins = (rows * _weights(rows.shape[1]).to(rows.device)).sum(1)  # overflow is welcome
    distinct, numbers = stand_ins.unique(return_inverse=True)
    places = torch.arange(len(rows), device=rows.device)
    first = places.new_full(distinct.shape, len(rows)).scatter_reduce(0, numbers, places, "amin")
    if not torch.equal(rows[first[numbers]], rows):  # different rows have the same stand-in
        numbers = rows.unique(dim=0, return_inverse=True)[1]
    return numbers


def _weights(columns: int) -> torch.Tensor:
    """Return a factor for each column, the same at each call and in each process."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-(2**63), 2**63 - 1, (columns,), generator=generator)
