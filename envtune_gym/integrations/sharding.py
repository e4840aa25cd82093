"""Sampling from a model whose parameters are spread over processes.

Episodes differ in length, so processes need different numbers of forward passes. Where each pass gathers parameters
from all processes, the first that is done would leave the others waiting for ever. So parameters are made whole before,
or the run is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from envtune_gym.errors import ConfigurationError

if TYPE_CHECKING:
    import torch

__all__ = ["check_sharding", "whole_parameters"]


def check_sharding(zero_stage: int, fsdp_version: int | None) -> None:
    """Refuse what parameters cannot be made whole under.

    Args:
        zero_stage: DeepSpeed's stage; 0 without DeepSpeed.
        fsdp_version: FSDP's version; None without FSDP.

    Raises:
        ConfigurationError: If it is ZeRO-3 or FSDP 1.
    """
    if zero_stage == 3:
        raise ConfigurationError("episodes cannot be played under DeepSpeed's ZeRO-3; use ZeRO-2 or FSDP 2")
    if fsdp_version == 1:
        raise ConfigurationError("episodes cannot be played under FSDP 1; set fsdp_version: 2 in accelerate's config")


@contextmanager
def whole_parameters(model: torch.nn.Module, reshard_after_forward: bool = True) -> Iterator[None]:
    """Make the parameters of a model whole in each process, if FSDP 2 shards them; a pass then needs no other process.

    Args:
        model: The model; nothing happens to one that is not sharded.
        reshard_after_forward: What the model's modules go back to.
    """
    from torch.distributed.fsdp import FSDPModule

    sharded = [module for module in model.modules() if isinstance(module, FSDPModule)]
    for module in sharded:
        module.set_reshard_after_forward(False, recurse=False)
        module.unshard()
    try:
        yield
    finally:
        for module in sharded:
            module.set_reshard_after_forward(reshard_after_forward, recurse=False)
            module.reshard()
