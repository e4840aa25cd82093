"""Sampling replies for many conversations at once, with the log-probability of every token."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.attention import for_changing_shapes

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Continuation", "Engine", "Generated", "OnReply", "TransformersEngine", "cache_argument"]


@dataclass(slots=True)
class Generated:
    """A sampled reply.

    Attributes:
        ids: Its tokens; the end token is the last one, unless a limit came first.
        logprobs: Their log-probabilities under the distribution that they were drawn from.
        error: Why the row could not be continued; empty if nothing went wrong.
    """

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    error: str = ""


class Continuation(NamedTuple):
    """What a conversation goes on with.

    Attributes:
        prompt: All its tokens: those of before, the reply, and what follows it.
        limit: The most new tokens, at least 1.
    """

    prompt: Sequence[int]
    limit: int


OnReply = Callable[[int, Generated], Continuation | None]
"""Called with the place of a prompt and its reply, once that is whole; returns what the conversation goes on with, or
None if nothing is known of it yet."""


class Engine(Protocol):
    """What samples replies.

    An engine that calls `on_reply` may have an attribute `idle_seconds`: how long the device has stood still for it, in
    all calls.
    """

    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Return one reply to each prompt: to the latest one, where conversations go on.

        Args:
            prompts: Token ids, not empty.
            limits: The most new tokens for each prompt, at least 1.
            on_reply: An engine may call it while the device samples on for others, and need not: what is to be done
                with a reply costs nothing then. It is called once at most for each reply. What it returns may be
                sampled on from in the same call: conversations then do not wait for each other. Or it may be left.
        """


def cache_argument(model: PreTrainedModel) -> str:
    """Return the name of the argument in which a model takes its cache; transformers renamed it in 5.x."""
    return "cache" if "cache" in inspect.signature(type(model).forward).parameters else "past_key_values"


class TransformersEngine:
    """Samples from a transformers model with a key-value cache, left-padded, on whatever device the model is on.

    Unlike `model.generate` it keeps no logits (a 49k vocabulary costs gigabytes), gives each row its own limit, drops
    finished rows, and confines non-finite logits to the row that has them.

    Args:
        model: A causal language model.
        end_ids: Tokens that end a reply.
        temperature: Divides the logits; log-probabilities are those after the division, which is how TRL's loss
            computes its own. At 0 the most likely token is taken, which is certain: its log-probability is 0.
        batch_size: Rows sampled together; bounds the memory.
        dtype: What to compute in, by autocast; None is the model's own.

    Raises:
        ConfigurationError: If the temperature is negative, or the batch size not positive.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        end_ids: Iterable[int],
        temperature: float = 1.0,
        batch_size: int = 64,
        dtype: torch.dtype | None = None,
    ) -> None:
        if not temperature >= 0 or batch_size < 1:
            raise ConfigurationError("temperature must be 0 or more, batch_size at least 1")
        self._model = model
        self._end_ids = frozenset(end_ids)
        self._temperature = temperature
        self._batch_size = batch_size
        self._dtype = dtype
        self._cache_name = cache_argument(model)

    @for_changing_shapes()
    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Sample one reply to each prompt (see `Engine.generate`); draws from torch's global generator."""
        replies = [Generated() for _ in prompts]
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))  # like lengths together: less padding
        training = self._model.training
        self._model.eval()
        try:
            with torch.no_grad(), torch.autocast(self._model.device.type, self._dtype, self._dtype is not None):
                for start in range(0, len(order), self._batch_size):
                    rows = order[start : start + self._batch_size]
                    batch = [replies[row] for row in rows]
                    self._sample([prompts[row] for row in rows], [limits[row] for row in rows], batch)
        finally:
            self._model.train(training)
        return replies

    def _sample(self, prompts: list[Sequence[int]], limits: list[int], replies: list[Generated]) -> None:
        """Continue the rows of one batch until each has ended, writing into `replies`."""
        inputs, attention = self._pad(prompts)
        rows = list(range(len(prompts)))
        cache: Any = None
        while rows:
            positions = (attention.cumsum(-1) - 1).clamp(min=0)[:, -inputs.shape[1] :]
            output = self._model(
                input_ids=inputs,
                attention_mask=attention,
                position_ids=positions,
                use_cache=True,
                logits_to_keep=1,
                **{self._cache_name: cache},
            )
            cache = output[self._cache_name]
            tokens, logprobs, finite = self._draw(output.logits[:, -1])
            kept: list[int] = []
            for place, row in enumerate(rows):
                reply = replies[row]
                if not finite[place]:
                    reply.error = "the model's logits are not finite"
                    continue
                reply.ids.append(tokens[place])
                reply.logprobs.append(logprobs[place])
                if tokens[place] not in self._end_ids and len(reply.ids) < limits[row]:
                    kept.append(place)
            inputs = torch.tensor(tokens, device=inputs.device)[:, None]
            if len(kept) < len(rows):
                rows = [rows[place] for place in kept]
                index = torch.tensor(kept, device=inputs.device, dtype=torch.long)
                inputs, attention = inputs[index], attention[index]
                if rows:
                    cache.batch_select_indices(index)
            attention = torch.cat([attention, attention.new_ones(len(rows), 1)], dim=1)

    def _draw(self, logits: torch.Tensor) -> tuple[list[int], list[float], list[bool]]:
        """Draw a token for each row; return the tokens, their log-probabilities, and which rows could be drawn."""
        if self._temperature == 0:
            finite = torch.isfinite(logits.float().logsumexp(-1)).tolist()
            return logits.argmax(-1).tolist(), [0.0] * len(finite), finite
        scaled = logits.float() / self._temperature
        finite = torch.isfinite(scaled.logsumexp(-1))
        scaled = torch.where(finite[:, None], scaled, torch.zeros_like(scaled))
        logprobs = scaled.log_softmax(-1)
        tokens = torch.multinomial(logprobs.exp(), 1)
        return tokens[:, 0].tolist(), logprobs.gather(1, tokens)[:, 0].tolist(), finite.tolist()

    def _pad(self, prompts: list[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids, padded on the left (any token will do there), and the mask that hides the padding."""
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        return ids.to(self._model.device), mask.to(self._model.device)
