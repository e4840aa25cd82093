"""Attention kernels for inputs that have another shape each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["for_changing_shapes"]

_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@contextmanager
def for_changing_shapes() -> Iterator[None]:
    """Compute attention without cuDNN's kernels, which PyTorch prefers on some GPUs (Hopper among them, in 2.11).

    cuDNN makes a plan for each shape that it has not seen, which takes tenths of a second forward and again backward.
    Conversations differ in length, so nearly every batch has a new shape; a small model then waits for plans most of
    the time. Backward passes go by the kernel of their forward pass, but those that compute activations anew
    (gradient checkpointing) must run within, too.
    """
    with sdpa_kernel(_KERNELS):
        yield
