"""What a model's layers attend to, and kernels of attention for inputs that have another shape each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch.backends import cuda

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

__all__ = ["for_changing_shapes", "layer_kinds"]


@contextmanager
def for_changing_shapes() -> Iterator[None]:
    """Compute attention without cuDNN's kernels, which PyTorch prefers on some GPUs (Hopper among them, in 2.11).

    cuDNN makes a plan for each shape that it has not seen. Conversations differ in length, so nearly every batch has a
    new shape; and its kernels were slower than PyTorch's own where both were measured (docs/training.md). Backward
    passes go by the kernel of their forward pass, but those that compute activations anew
    (gradient checkpointing) must run within, too.

    Whoever has left other kernels out goes without them here, too; whoever wants those of cuDNN alone has them.
    """
    was_enabled = cuda.cudnn_sdp_enabled()
    others = cuda.flash_sdp_enabled() or cuda.mem_efficient_sdp_enabled() or cuda.math_sdp_enabled()
    cuda.enable_cudnn_sdp(was_enabled and not others)
    try:
        yield
    finally:
        cuda.enable_cudnn_sdp(was_enabled)


def layer_kinds(config: PreTrainedConfig) -> set[str]:
    """Return the kinds of a model's layers as transformers names them; `full_attention` sees all that stands before."""
    config = config.get_text_config(decoder=True)  # of a model that reads pictures, too, it is one of several
    kinds = getattr(config, "layer_types", None)
    if kinds:
        return set(kinds)
    window = getattr(config, "sliding_window", None)  # Mistral's configuration has this alone
    return {"full_attention"} if window is None else {"sliding_attention"}
