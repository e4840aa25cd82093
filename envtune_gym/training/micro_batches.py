"""Which rollouts share a micro-batch: those of one group, so that their prompt is read once.

TRL shuffles the rows of a batch before it cuts it up, and with its loss per token of the whole batch (`dapo`) the cut
does not change the gradient of an update, but for rounding. (An entropy bonus is a mean within each micro-batch, and
hangs on the cut, as it does with every shuffle.) It changes the cost: rows of a group share their prompt, like lengths
need little padding, and micro-batches in which nothing teaches need no pass at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

__all__ = ["by_groups", "teaching"]

Rows = dict[str, Any]
"""Rows as TRL has them: tensors whose first dimension is the row, and some that are about the whole batch."""

_ROUNDING = 1e-2
"""What rounding makes of an advantage of 0 stays below; true ones are hundreds of times larger."""


def teaching(rows: Rows) -> torch.Tensor:
    """Return which rows have an advantage, as booleans: those of groups without spread have none."""
    advantages: torch.Tensor = rows["advantages"]
    return advantages.abs() > _ROUNDING


def by_groups(micro_batches: Sequence[Rows], updates: int) -> list[Rows]:
    """Deal the rows of each update out to its micro-batches again: group by group, those that teach nothing last.

    Args:
        micro_batches: The micro-batches of a batch of rollouts, in order, all with as many rows.
        updates: Updates from the batch; each has as many micro-batches, and keeps its rows.
    """
    each = len(micro_batches) // updates
    return [
        part for start in range(0, len(micro_batches), each) for part in _dealt_out(micro_batches[start : start + each])
    ]


def _dealt_out(micro_batches: Sequence[Rows]) -> list[Rows]:
    size = len(micro_batches[0]["advantages"])
    joined = {
        name: torch.cat([rows[name] for rows in micro_batches]) if _is_by_row(value, size) else value
        for name, value in micro_batches[0].items()
    }
    return [
        {
            name: value[places] if _is_by_row(value, len(joined["advantages"])) else value
            for name, value in joined.items()
        }
        for places in _order(joined).split(size)
    ]


def _order(rows: Rows) -> torch.Tensor:
    """Return the places of rows in order: what teaches, by the longest completion of its group, group by group."""
    prompts = rows["prompt_ids"].masked_fill(rows["prompt_mask"] == 0, -1)
    _, group = prompts.unique(dim=0, return_inverse=True)
    lengths = rows["completion_mask"].sum(1)
    longest = torch.zeros_like(lengths).scatter_reduce(0, group, lengths, "amax")[group]
    order = torch.arange(len(group), device=group.device)
    for key in (group, longest, ~teaching(rows)):  # the last one counts most, for each sort keeps what was before it
        order = order[key[order].int().argsort(stable=True)]
    return order


def _is_by_row(value: Any, rows: int) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == rows
