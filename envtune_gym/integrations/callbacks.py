"""Callbacks for transformers trainers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from accelerate.utils import gather_object
from torch.distributed.tensor import DTensor
from transformers import TrainerCallback

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

__all__ = ["FiniteGradients"]

logger = logging.getLogger(__name__)


class FiniteGradients(TrainerCallback):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """Skips an update whose gradient is not finite.

    Clipping divides all gradients by their common norm, so one that is not finite would spread to every weight. Where
    gradients are spread over processes, all skip what one finds. DeepSpeed's gradients are not seen: it makes the
    update itself, before this is asked.

    Attributes:
        skipped: Number of updates skipped so far.
    """

    def __init__(self) -> None:
        self.skipped = 0

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Drop the gradients if any is not finite."""
        model: torch.nn.Module = kwargs["model"]
        gradients = [_local(parameter.grad) for parameter in model.parameters() if parameter.grad is not None]
        finite = all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
        if all(gather_object([finite])):
            return
        model.zero_grad(set_to_none=True)
        self.skipped += 1
        logger.warning("step %d: the gradient is not finite; the update is skipped", state.global_step + 1)


def _local(gradient: torch.Tensor) -> torch.Tensor:
    """Return what this process has of a gradient."""
    local: torch.Tensor = gradient.to_local() if isinstance(gradient, DTensor) else gradient
    return local
