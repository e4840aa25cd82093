"""Which rollouts are scored in one pass: those of a group together, and as many as memory allows.

TRL shuffles the rows of a batch before it cuts it up, and with its loss per token of the whole batch (`dapo`) the cut
does not change the gradient of an update, but for rounding. (An entropy bonus is a mean within each micro-batch, and
hangs on the cut, as it does with every shuffle.) It changes the cost: rows of a group share their prompt, like lengths
need little padding, what teaches nothing needs no pass, and fewer passes are fewer launches for a busy host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

__all__ = ["Extent", "by_groups", "chosen", "extents", "merged", "passes", "teaching"]

Rows = dict[str, Any]
"""Rows as TRL has them: tensors whose first dimension is the row, and some that are about the whole batch."""

_ROUNDING = 1e-2
"""What rounding makes of an advantage of 0 stays below; true ones are hundreds of times larger."""


class Extent(NamedTuple):
    """How much there is to score in some rows.

    Attributes:
        prompts: Distinct prompts.
        prompt: Tokens of the longest.
        completions: Completions.
        completion: Tokens of the longest.
    """

    prompts: int = 0
    prompt: int = 0
    completions: int = 0
    completion: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in a pass over these rows, padding included, where each prompt is read once."""
        return self.prompts * self.prompt + self.completions * self.completion

    def with_(self, other: Extent) -> Extent:
        """Return the extent of both together."""
        return Extent(
            self.prompts + other.prompts,
            max(self.prompt, other.prompt),
            self.completions + other.completions,
            max(self.completion, other.completion),
        )


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


def extents(micro_batches: Sequence[Rows], *, all_rows: bool = False) -> list[Extent]:
    """Return how much there is to score in each micro-batch: rows that teach, or all of them."""
    return [_extent(rows if all_rows else chosen(rows, teaching(rows))) for rows in micro_batches]


def passes(sizes: Sequence[Extent], tokens: int) -> list[int]:
    """Return how many neighbouring micro-batches each pass takes, if it is to have at most so many tokens.

    Args:
        sizes: What there is to score in each micro-batch; one alone is a pass whatever it has.
        tokens: Tokens of a pass, as `Extent` counts them.
    """
    taken: list[int] = []
    together = Extent()
    for size in sizes:
        if taken and together.with_(size).tokens <= tokens:
            together = together.with_(size)
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


def _extent(rows: Rows) -> Extent:
    if not len(rows["advantages"]):
        return Extent()
    prompts, completions = rows["prompt_mask"].sum(1), rows["completion_mask"].sum(1)
    return Extent(len(_groups(rows).unique()), int(prompts.max()), len(completions), int(completions.max()))


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
    prompts = rows["prompt_ids"].masked_fill(rows["prompt_mask"] == 0, -1)
    group: torch.Tensor = prompts.unique(dim=0, return_inverse=True)[1]
    return group


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
