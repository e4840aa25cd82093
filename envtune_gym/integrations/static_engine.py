"""An engine over transformers' own `generate` with its static key-value cache, whose decode step it compiles on a GPU.

It takes the models that `graph_engine` does not know: whatever transformers itself can decode with such a cache, layers
with a sliding window among them. Sampling is left to `generate`; what stands here gives it batches of few shapes, so
that what was compiled is used again, and keeps what `generate` would throw away, or would keep at the cost of the
vocabulary times the steps: the log-probability of each token.

Only decode steps are compiled, and they see two numbers: the rows, and the length of the cache. Both come from a few
sizes. Prompts are padded to the longest of their batch and no further, as reading them is not compiled.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StaticCache,
    StoppingCriteria,
    StoppingCriteriaList,
)

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.attention import for_changing_shapes
from envtune_gym.integrations.engine import Generated, OnReply, cache_argument

if TYPE_CHECKING:
    from transformers import CompileConfig, PreTrainedModel

__all__ = ["StaticCacheEngine"]

_FEWEST_ROWS = 8
_SHORTEST = 256
_KEPT = 2
"""Caches are kept as long as all together are at most so many times as large as the largest."""


class StaticCacheEngine:
    """Samples by `model.generate` with a static cache: compiled on a GPU, as it is on the CPU.

    Drawing takes at most six matrices of rows times vocabulary in float32, the model's own logits among them, however
    many tokens are drawn.

    Caches are kept and used again, since a recorded graph knows a cache by its address; the number of their tokens, all
    together, is at most twice that of the largest. Rows that have ended are decoded on until the last of their batch
    has: that is how `generate` works.

    Args:
        model: A causal language model; its weights are read at each call of `generate`: it may be trained in between.
        end_ids: Tokens that end a reply.
        temperature: Divides the logits, or is 0, as in `TransformersEngine`. What the checkpoint recommends beside it
            (top-k, penalties) is left aside: log-probabilities would not be those of the loss.
        batch_size: Rows sampled together; bounds the memory.
        dtype: What to compute in; None is the model's own. For another one a copy of the weights is kept.
        compile_config: How `generate` compiles; None is its own choice.

    Raises:
        ConfigurationError: If a number makes no sense, or transformers cannot decode the model with a static cache.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        end_ids: Iterable[int],
        temperature: float = 1.0,
        batch_size: int = 64,
        dtype: torch.dtype | None = None,
        compile_config: CompileConfig | None = None,
    ) -> None:
        if not temperature >= 0 or batch_size < 1:
            raise ConfigurationError("temperature must be 0 or more, batch_size at least 1")
        _check_support(model)
        self._source = model
        self._model = model if dtype in (None, model.dtype) else _lowered(model, dtype)
        self._end_ids = sorted(set(end_ids))
        self._temperature = temperature
        self._batch_size = batch_size
        self._compile_config = compile_config
        self._positions = getattr(model.config, "max_position_embeddings", None) or math.inf
        self._cache_name = cache_argument(model)
        self._caches = _Caches(model)

    @for_changing_shapes()
    def generate(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], on_reply: OnReply | None = None
    ) -> list[Generated]:
        """Sample one reply to each prompt (see `Engine.generate`); draws from torch's global generator."""
        replies = [Generated() for _ in prompts]
        training = self._source.training
        self._source.eval()
        self._model.eval()
        try:
            # Computes in its own precision: the casts of autocast would be compiled into every step.
            with torch.no_grad(), torch.autocast(self._model.device.type, enabled=False):
                if self._model is not self._source:
                    torch._foreach_copy_(list(self._model.parameters()), list(self._source.parameters()))
                for rows in self._batches(prompts, limits):
                    drawn = self._sample([prompts[row] for row in rows], [limits[row] for row in rows])
                    for row, reply in zip(rows, drawn, strict=True):
                        replies[row] = reply
        finally:
            self._source.train(training)
        return replies

    def _batches(self, prompts: Sequence[Sequence[int]], limits: Sequence[int]) -> Iterator[list[int]]:
        """Yield rows that are sampled together, like lengths beside each other.

        A row that has ended goes on until its batch ends; that must not lead it past the model's last position, which
        some models look up in a table.
        """
        batch: list[int] = []
        steps = 0
        for row in sorted(range(len(prompts)), key=lambda row: len(prompts[row])):
            steps = max(steps, limits[row])
            if len(batch) == self._batch_size or (batch and len(prompts[row]) + steps > self._positions):
                yield batch
                batch, steps = [], limits[row]
            batch.append(row)
        if batch:
            yield batch

    def _sample(self, prompts: list[Sequence[int]], limits: list[int]) -> list[Generated]:
        """Return the replies to the prompts of one batch."""
        size = min(_next_size(len(prompts), _FEWEST_ROWS), self._batch_size)
        ids, mask = (padded.to(self._model.device) for padded in _padded(prompts, size))
        steps = max(limits)
        distribution = _Distribution(self._temperature)
        record = _Record(distribution, [*limits, *[0] * (size - len(limits))], self._end_ids, self._model.device)
        with _without_recommendations(self._model):
            drawn = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=self._config(steps),
                logits_processor=LogitsProcessorList([distribution]),
                stopping_criteria=StoppingCriteriaList([record]),
                **{self._cache_name: self._caches.take(size, _next_size(ids.shape[1] + steps, _SHORTEST))},
            )
        return record.replies(drawn[: len(prompts), ids.shape[1] :].tolist())

    def _config(self, steps: int) -> GenerationConfig:
        # The temperature has been applied before `generate` draws (`_Distribution`); its default for top-k is not 0.
        sampling = {"do_sample": True, "top_k": 0} if self._temperature > 0 else {"do_sample": False}
        return GenerationConfig(max_new_tokens=steps, compile_config=self._compile_config, **sampling)


class _Distribution(LogitsProcessor):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """What `generate` draws a step's tokens from, held until that is done.

    Args:
        temperature: Divides the logits; at 0 they are left as they are.
    """

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature
        self._logprobs: torch.Tensor | None = None
        self._finite: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the logits as log-probabilities; rows that are not finite get any, as one would fail the batch."""
        if self._temperature == 0:
            self._finite = torch.isfinite(scores.logsumexp(-1))
            return scores
        scaled = scores / self._temperature
        self._finite = torch.isfinite(scaled.logsumexp(-1))
        self._logprobs = scaled.masked_fill_(~self._finite[:, None], 0).log_softmax(-1)
        return self._logprobs

    def take(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-probability of each row's token, and which rows were finite; let go of all others."""
        logprobs, finite = self._logprobs, self._finite
        self._logprobs = self._finite = None
        if logprobs is None:
            return torch.zeros_like(tokens, dtype=torch.float32), finite
        return logprobs.gather(1, tokens[:, None])[:, 0], finite


class _Record(StoppingCriteria):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """What was drawn, up to the end of each row; `generate` asks it after each step which rows have ended.

    Args:
        distribution: What is drawn from.
        limits: The most tokens of each row; 0 for rows that only fill the batch.
        end_ids: Tokens that end a row.
        device: Where the rows are.
    """

    def __init__(
        self, distribution: _Distribution, limits: Sequence[int], end_ids: Sequence[int], device: torch.device
    ) -> None:
        self._distribution = distribution
        self._limits = torch.tensor(limits, device=device)
        self._end_ids = torch.tensor(end_ids, device=device, dtype=torch.long)
        self._lengths = torch.zeros_like(self._limits)
        self._going = self._limits > 0
        self._broken = torch.zeros_like(self._going)
        self._logprobs: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Note the tokens that were drawn last; return which rows have ended."""
        tokens = input_ids[:, -1]
        logprobs, finite = self._distribution.take(tokens)
        self._logprobs.append(logprobs)
        self._broken |= self._going & ~finite
        self._going = self._going & finite
        self._lengths += self._going
        self._going = self._going & (self._lengths < self._limits) & ~torch.isin(tokens, self._end_ids)
        return ~self._going

    def replies(self, drawn: list[list[int]]) -> list[Generated]:
        """Return the replies of the first rows, of which everything that was drawn is given."""
        logprobs = torch.stack(self._logprobs, 1).tolist()
        lengths, broken = self._lengths.tolist(), self._broken.tolist()
        return [
            Generated(
                ids[: lengths[row]],
                logprobs[row][: lengths[row]],
                "the model's logits are not finite" if broken[row] else "",
            )
            for row, ids in enumerate(drawn)
        ]


class _Caches:
    """Static caches, by rows and length.

    Args:
        model: The model that they are for.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._config = model.config
        self._kept: dict[tuple[int, int], StaticCache] = {}  # the one that has not been used for longest is first
        self._largest = 0

    def take(self, rows: int, length: int) -> StaticCache:
        """Return a cache that holds nothing."""
        cache = self._kept.pop((rows, length), None)
        if cache is not None:
            cache.reset()  # zeros it, too: what is not finite would count even where it is masked
        else:
            self._largest = max(self._largest, rows * length)
            while self._kept and rows * length + self._tokens() > _KEPT * self._largest:
                del self._kept[next(iter(self._kept))]
            cache = StaticCache(config=self._config, max_cache_len=length)
        self._kept[rows, length] = cache
        return cache

    def _tokens(self) -> int:
        return sum(rows * length for rows, length in self._kept)


@contextmanager
def _without_recommendations(model: PreTrainedModel) -> Iterator[None]:
    """Let `generate` do what it is told and no more; it would fill in what the checkpoint recommends."""
    usual = model.generation_config
    model.generation_config = GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = usual


def _lowered(model: PreTrainedModel, dtype: torch.dtype | None) -> PreTrainedModel:
    """Return a copy in another precision."""
    lowered = copy.deepcopy(model).to(dtype)
    lowered.__dict__.pop("_compiled_call", None)  # compiled for the model that was copied, it would go on using that
    return lowered


def _padded(prompts: Sequence[Sequence[int]], size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids, padded on the left and by rows of one token, and the mask that hides the padding."""
    width = max(map(len, prompts))
    ids = torch.zeros(size, width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    mask[:, -1] = 1
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(list(prompt))
        mask[row, width - len(prompt) :] = 1
    return ids, mask


def _next_size(number: int, least: int) -> int:
    """Return the next of the sizes `least`, and from there on two for each doubling: 256, 384, 512, 768, 1024."""
    if number <= least:
        return least
    power = 1 << (number - 1).bit_length()
    return power * 3 // 4 if number <= power * 3 // 4 else power


def _check_support(model: PreTrainedModel) -> None:
    """Refuse models that `generate` does not decode with a static cache.

    Raises:
        ConfigurationError: With the engine to use instead.
    """
    # What transformers says of its classes, and its own tests of static caches go by.
    supported = getattr(model, "_can_compile_fullgraph", False) and not model.config.is_encoder_decoder
    supported = supported and cache_argument(model) in inspect.signature(type(model).forward).parameters
    try:
        supported = supported and StaticCache(config=model.config, max_cache_len=1).is_compileable
    except KeyError:  # a kind of layer that has no static cache
        supported = False
    if not supported:
        raise ConfigurationError(
            f"transformers does not decode {type(model).__name__} with a static cache; use the engine 'transformers'"
        )
