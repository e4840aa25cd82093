"""The processes of a run, one a device, and what they tell each other.

They are started by `accelerate launch`, or by anything else that follows torch's conventions; without it there is one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object

if TYPE_CHECKING:
    from transformers import TrainingArguments

__all__ = ["Processes", "on_cpu", "on_one_gpu", "told_to_use_cpu", "with_deepspeed", "with_fsdp"]

T = TypeVar("T")
Arguments = TypeVar("Arguments", bound="TrainingArguments")

_PATIENCE = timedelta(hours=2)
"""How long one waits for another. Episodes differ in length, and a validation is long."""


def on_cpu() -> bool:
    """Tell whether to train on the CPU: there is no GPU, or the launcher says so."""
    return not torch.cuda.is_available() or told_to_use_cpu()


def told_to_use_cpu() -> bool:
    """Tell whether the launcher says to train on the CPU, GPU or not."""
    return _is_set("ACCELERATE_USE_CPU")


def on_one_gpu(arguments: Arguments) -> Arguments:
    """Keep a trainer to one GPU a process; it would split micro-batches over all that it sees (DataParallel)."""
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def with_fsdp() -> bool:
    """Tell whether the launcher says to shard the model by FSDP."""
    return _is_set("ACCELERATE_USE_FSDP")


def with_deepspeed() -> bool:
    """Tell whether the launcher says to train by DeepSpeed."""
    return _is_set("ACCELERATE_USE_DEEPSPEED")


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "yes")


class Processes:
    """The processes that train one model together. Each runs the same program; calls here are made by all of them.

    Attributes:
        count: Their number.
        index: The number of this one, from 0.
    """

    def __init__(self) -> None:
        state = PartialState(cpu=on_cpu(), timeout=_PATIENCE)
        self.count: int = state.num_processes
        self.index: int = state.process_index

    @property
    def is_main(self) -> bool:
        """Whether this is the one that decides and writes."""
        return self.index == 0

    def wait(self) -> None:
        """Wait until all have come this far."""
        PartialState().wait_for_everyone()

    def from_main(self, value: T) -> T:
        """Return the main process's value."""
        if self.count == 1:
            return value
        values = [value]
        broadcast_object_list(values)
        return values[0]

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return this process's share of some items that all have; dealt out in turn, as neighbours are often alike."""
        return items[self.index :: self.count]

    def joined(self, results: Sequence[T]) -> list[T]:
        """Return the results for all items, in their order.

        Args:
            results: Those for this process's share.
        """
        shares: list[Sequence[T]] = gather_object([results])
        total = sum(map(len, shares))
        return [shares[place % self.count][place // self.count] for place in range(total)]
