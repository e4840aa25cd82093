"""Callbacks for transformers trainers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

__all__ = ["FiniteGradients"]

logger = logging.getLogger(__name__)


class FiniteGradients(TrainerCallback):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """Skips an update whose gradient is not finite.

    Clipping divides all gradients by their common norm, so one that is not finite would spread to every weight.

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
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        if all(torch.isfinite(gradient).all() for gradient in gradients):
            return
        model.zero_grad(set_to_none=True)
        self.skipped += 1
        logger.warning("step %d: the gradient is not finite; the update is skipped", state.global_step + 1)
