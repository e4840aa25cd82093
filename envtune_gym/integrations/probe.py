"""Does an engine with a model of its own compute the model that is trained? Seen by a reply of a few tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["PROBE_TEMPERATURE", "PROBE_TOKENS", "Probed", "probe", "probe_prompt"]

PROBE_TOKENS = 16
"""Tokens of the reply."""
PROBE_TEMPERATURE = 2.0
"""At which they are drawn: far from 1, so that log-probabilities before and after the temperature differ."""
_LENGTH = 600
"""Tokens of the prompt: an engine may go wrong in positions that a short one does not reach."""
_TOKENS = 8
"""Different tokens in it: every vocabulary has as many."""
_TOLERANCE = 0.25
"""Of the mean difference of log-probabilities; half precision accounts for a tenth of it."""


class Probed(NamedTuple):
    """How far an engine's log-probabilities are from the model's, on average.

    Attributes:
        off: From those after the temperature.
        off_before: From those before it.
    """

    off: float
    off_before: float

    @property
    def is_the_model(self) -> bool:
        """Whether they are the model's; so they are taken to be where either has diverged: its rows will say so."""
        return not self.off > _TOLERANCE

    @property
    def is_before_the_temperature(self) -> bool:
        """Whether they are rather the model's before the temperature."""
        return self.off_before < self.off


def probe_prompt(longest: int) -> list[int]:
    """Return the prompt of a probe, for an engine that takes so many tokens, the reply included."""
    length = max(1, min(_LENGTH, longest - PROBE_TOKENS))
    return [place * place % _TOKENS for place in range(length)]


def probe(model: PreTrainedModel, prompt: Sequence[int], ids: Sequence[int], logprobs: Sequence[float]) -> Probed:
    """Hold an engine's reply to a prompt against the model.

    Args:
        model: The model that is trained.
        prompt: The prompt.
        ids: The tokens of the reply.
        logprobs: Their log-probabilities, as the engine says.
    """
    logits = _logits(model, [*prompt, *ids])[len(prompt) - 1 : -1]
    theirs = torch.tensor(logprobs)
    off, off_before = (
        float((chances.log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0] - theirs).abs().mean())
        for chances in (logits / PROBE_TEMPERATURE, logits)
    )
    return Probed(off, off_before)


def _logits(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            logits: torch.Tensor = model(torch.tensor([ids], device=model.device)).logits[0]
    finally:
        model.train(training)
    return logits.float().cpu()
