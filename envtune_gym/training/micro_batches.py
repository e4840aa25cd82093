"""Which rollouts are scored in one pass: those of a group together, and as many as memory allows.

TRL shuffles the rows of a batch before it cuts it up, and with its loss per token of the whole batch (`dapo`) the cut
does not change the gradient of an update, but for rounding. (An entropy bonus is a mean within each micro-batch, and
hangs on the cut, as it does with every shuffle.) It changes the cost: rows of a group share their prompt, like lengths
need little padding where rows are padded, what teaches nothing needs no pass, and fewer passes are fewer launches for a
busy host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from envtune_gym.training.equal_rows import numbered

__all__ = ["by_groups", "chosen", "merged", "passes", "teaching", "tokens_of"]

Rows = dict[str, Any]
"""Rows as TRL has them: tensors whose first dimension is the row, and some that are about the whole batch."""

_ROUNDING = 1e-2
"""What rounding makes of an advantage of 0 stays below; true ones are hundreds of times larger."""


def teaching(rows: Rows) -> torch.Tensor:
    """Return which rows have an advantage, as booleans: those of groups without spread have none."""
    advantages: torch.Tensor = rows["advantages"]
    return advantages.abs() > _ROUNDING


def by_groups(micro_batches: Sequence[Rows]) -> list[Rows]:
    """Deal the rows of an update out to its micro-batches again: what teaches nothing first, then group by group.

    Args:
        micro_batches: The micro-batches of an update, in order, all with as many rows.
    """
    size = len(micro_batches[0]["advantages"])
    joined = _joined(micro_batches)
    return [chosen(joined, places) for places in _order(joined).split(size)]


def tokens_of(micro_batches: Sequence[Rows], *, all_rows: bool = False) -> list[int]:
    """Return how many tokens there are to read in each micro-batch, where each prompt is read once.

    Args:
        micro_batches: The micro-batches.
        all_rows: Whether all rows count, or those that teach.
    """
    return [_tokens(rows if all_rows else chosen(rows, teaching(rows))) for rows in micro_batches]


def passes(sizes: Sequence[int], tokens: int) -> list[int]:
    """Return how many neighbouring micro-batches each pass takes, if it is to have at most so many tokens.

    Args:
        sizes: The tokens of each micro-batch; one alone is a pass whatever it has.
        tokens: Tokens of a pass.
    """
    taken: list[int] = []
    together = 0
    for size in sizes:
        if taken and together + size <= tokens:
            together += size
            taken[-1] += 1
        else:
            together = size
            taken.append(1)
    return taken


def merged(micro_batches: Sequence[Rows], taken: Iterable[int]) -> list[Rows]:
    """Return as many micro-batches, in which the last ones hold what is scored together and the first ones are empty.

    The last one is never empty: it is where several processes exchange their gradients.

    Args:
        micro_batches: The micro-batches of an update.
        taken: How many of them each pass takes, as `passes` says.
    """
    rest = iter(micro_batches)
    full = [_joined([next(rest) for _ in range(count)]) for count in taken]
    nothing = chosen(micro_batches[0], slice(0))
    return [nothing] * (len(micro_batches) - len(full)) + full


def _tokens(rows: Rows) -> int:
    prompts, completions = rows["prompt_mask"].sum(1), rows["completion_mask"].sum(1)
    distinct = torch.zeros_like(prompts).scatter(0, _groups(rows), prompts)
    return int(distinct.sum() + completions.sum())


def _order(rows: Rows) -> torch.Tensor:
    """Return the places of rows in order: what teaches last, by the longest completion of its group, group by group."""
    group, lengths = _groups(rows), rows["completion_mask"].sum(1)
    longest = torch.zeros_like(lengths).scatter_reduce(0, group, lengths, "amax")[group]
    order = torch.arange(len(group), device=group.device)
    for key in (group, longest, teaching(rows)):  # the last one counts most, for each sort keeps what was before it
        order = order[key[order].int().argsort(stable=True)]
    return order


def _groups(rows: Rows) -> torch.Tensor:
    """Return a number for each row, the same for equal prompts."""
    return numbered(rows["prompt_ids"].masked_fill(rows["prompt_mask"] == 0, -1))


def _joined(micro_batches: Sequence[Rows]) -> Rows:
    """Return the rows of some micro-batches as one; what is about the whole batch is the same in each."""
    first = micro_batches[0]
    return {
        name: torch.cat([rows[name] for rows in micro_batches]) if _is_by_row(first, name) else value
        for name, value in first.items()
    }


def chosen(rows: Rows, places: torch.Tensor | slice) -> Rows:
    """Return some of the rows, with what is about the whole batch."""
    return {name: value[places] if _is_by_row(rows, name) else value for name, value in rows.items()}


def _is_by_row(rows: Rows, name: str) -> bool:
    value = rows[name]
    return isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == len(rows["advantages"])
