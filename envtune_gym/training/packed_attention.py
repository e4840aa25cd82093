"""Attention over rows packed into one, of which many go on from the same prompt: without padding, masks or copies.

A packed row begins with the prompts; behind them stand the completions of the first prompt, those of the second, and
so on. Two calls make up the attention: in the first, each prompt and each completion attends to itself; in the second,
all completions of a prompt attend to it at once. Each says how much weight its keys have (the logarithm of their sum),
so the two can be put together exactly. Backwards, each part starts from the whole result and the whole weight, and its
gradients are exact again.

On a GPU in half precision both are kernels for rows of different lengths. On the CPU, segments of like lengths are
computed together, padded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Packing", "Segments", "can_attend", "packed_attention"]

_NAME = "envtune_packed"
"""The name under which transformers knows this attention."""
_WIDEST = 256
"""The widest head that the kernels know."""
_LIKE = 32
"""Lengths below are alike, and then those up to twice as much, and so on."""

_Attended = tuple[torch.Tensor, torch.Tensor, Any]
"""Results, [queries, heads, width], the weight of all keys, [heads, queries], and what the kernel wants back."""
_Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class _Batch(NamedTuple):
    """Segments that are computed together on the CPU; padding has the number after the last.

    Attributes:
        queries: Numbers of the queries, [segments, most queries].
        keys: Likewise.
        unseen: What is added to the products, minus infinity where a key is padding; None if causality hides it.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    unseen: torch.Tensor | None


class Segments:
    """Queries one behind the other, keys likewise, and where both are cut: a query sees the keys of its own segment.

    Args:
        queries: How many queries each segment has, at least 1; [segments], on the CPU.
        keys: Likewise.
        causal: Whether a query sees no key after its own place; then there are as many keys as queries.
        device: Where attention is computed.
    """

    def __init__(self, queries: torch.Tensor, keys: torch.Tensor, device: torch.device, *, causal: bool) -> None:
        self.causal = causal
        # With a single query a segment, the kernels' weights would have another shape; more than there are is as good.
        self.longest = max(2, int(queries.max())), int(keys.max())
        self.query_ends, self.key_ends = (_ends(sizes).to(device, torch.int32) for sizes in (queries, keys))
        self._sizes = queries.tolist(), keys.tolist()

    @cached_property
    def batches(self) -> list[_Batch]:
        """What is computed together on the CPU."""
        alike = defaultdict(list)
        for segment, sizes in enumerate(zip(*self._sizes, strict=True)):
            alike[tuple((size // _LIKE).bit_length() for size in sizes)].append(segment)
        return [self._batch(torch.tensor(segments)) for segments in alike.values()]

    @cached_property
    def query_places(self) -> torch.Tensor:
        """Where each query stands in the batches, one behind the other."""
        return _places([batch.queries for batch in self.batches], int(self.query_ends[-1]))

    @cached_property
    def key_places(self) -> torch.Tensor:
        """Likewise for the keys."""
        return _places([batch.keys for batch in self.batches], int(self.key_ends[-1]))

    def _batch(self, segments: torch.Tensor) -> _Batch:
        queries, keys = (_padded(ends.long(), segments) for ends in (self.query_ends, self.key_ends))
        is_padding = keys == self.key_ends[-1]
        unseen = None
        if not self.causal and is_padding.any():
            unseen = torch.zeros(keys.shape).masked_fill(is_padding, -torch.inf)[:, None, None]
        return _Batch(queries, keys, unseen)


class Packing:
    """How a row is packed.

    Args:
        prompts: How many tokens of each prompt stand in the row, at least 1; [prompts], on the CPU.
        completions: Likewise of each completion.
        group: To which prompt each completion belongs, in order; each has one at least.
        device: Where attention is computed.
    """

    def __init__(
        self, prompts: torch.Tensor, completions: torch.Tensor, group: torch.Tensor, device: torch.device
    ) -> None:
        alone = torch.cat([prompts, completions])
        together = torch.zeros_like(prompts).index_add(0, group, completions)
        self.known = int(prompts.sum())
        self.own = Segments(alone, alone, device, causal=True)
        self.cross = Segments(together, prompts, device, causal=False)

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None = None
    ) -> torch.Tensor:
        """Return what each token attends to: of its own row all before it, and itself.

        Args:
            query: [tokens, query heads, width].
            key: [tokens, heads, width].
            value: Likewise, maybe of another width.
            scale: Factor of the products; None is the usual one.

        Returns:
            [tokens, query heads, width of the values].
        """
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        width = value.shape[-1]
        # After rotation queries and keys have the precision of the angles; the kernels want one, and one width.
        query, key = query.to(value.dtype), key.to(value.dtype)
        if query.shape[-1] != width or width % 8:
            even = -max(query.shape[-1], width) // 8 * -8
            query, key, value = (torch.nn.functional.pad(one, (0, even - one.shape[-1])) for one in (query, key, value))
        attended: torch.Tensor = _Attention.apply(query.contiguous(), key.contiguous(), value.contiguous(), self, scale)
        return attended[..., :width]


class _Attention(torch.autograd.Function):  # type: ignore[misc]  # torch is Any to mypy (pyproject.toml)
    @staticmethod
    def forward(
        context: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, packing: Packing, scale: float
    ) -> torch.Tensor:
        known = packing.known
        attended, weight, context.own = _attend(query, key, value, packing.own, scale)
        other, other_weight, context.cross = _attend(query[known:], key[:known], value[:known], packing.cross, scale)
        share = torch.sigmoid(other_weight - weight[:, known:]).T[..., None]
        attended[known:] = attended[known:] * (1 - share) + other * share
        weight[:, known:] = torch.logaddexp(weight[:, known:], other_weight)
        context.save_for_backward(query, key, value, attended, weight)
        context.packing, context.scale = packing, scale
        return attended

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, attended, weight = context.saved_tensors
        packing, scale, known = context.packing, context.scale, context.packing.known
        gradient = gradient.contiguous()
        of_query, of_key, of_value = _differentiate(
            gradient, query, key, value, attended, weight, packing.own, scale, context.own
        )
        more_of_query, more_of_key, more_of_value = _differentiate(
            gradient[known:],
            query[known:],
            key[:known],
            value[:known],
            attended[known:],
            weight[:, known:].contiguous(),
            packing.cross,
            scale,
            context.cross,
        )
        of_query[known:] += more_of_query
        of_key[:known] += more_of_key
        of_value[:known] += more_of_value
        return of_query, of_key, of_value, None, None


def can_attend(model: PreTrainedModel) -> bool:
    """Tell whether this attention can be computed in a model, in the precision that is now in force."""
    has_sinks = any(getattr(module, "sinks", None) is not None for module in model.modules())  # weight without a key
    if not model._supports_attention_backend or has_sinks:
        return False
    if model.device.type != "cuda":
        return bool(model.device.type == "cpu")
    precision = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else model.dtype
    config = model.config.get_text_config(decoder=True)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    is_built = torch.backends.cuda.is_flash_attention_available()
    has_kernel = is_built and torch.cuda.get_device_capability(model.device) >= (8, 0) and width <= _WIDEST
    return has_kernel and precision in (torch.bfloat16, torch.float16)


@contextmanager
def packed_attention(model: PreTrainedModel, packing: Packing) -> Iterator[None]:
    """Let a model attend to a packed row; not all models would hand the packing down to their attention."""
    from transformers import AttentionInterface

    AttentionInterface.register(_NAME, partial(_attend_packed, packing))
    config = model.config.get_text_config(decoder=True)  # its layers have this one
    usual = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = usual


def _attend_packed(
    packing: Packing,
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as transformers' models ask for it."""
    query, key, value = (one[0].transpose(0, 1) for one in (query, key, value))
    return packing.attend(query, key, value, scaling)[None], None


def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, segments: Segments, scale: float) -> _Attended:
    """Attend within segments."""
    if query.is_cuda:
        attended, weight, *state, _ = torch.ops.aten._flash_attention_forward(
            query,
            key,
            value,
            segments.query_ends,
            segments.key_ends,
            *segments.longest,
            0.0,
            segments.causal,
            False,
            scale=scale,
        )
        return attended, weight, state
    attended, weights = [], []
    query, key, value = (_with_padding(one) for one in (query, key, value))
    for batch in segments.batches:
        result, weight = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            *_chosen(batch, query, key, value),
            0.0,
            segments.causal,
            attn_mask=None if batch.unseen is None else batch.unseen.to(query.dtype),
            scale=scale,
        )
        attended.append(result.transpose(1, 2))
        weights.append(weight.transpose(1, 2))
    places = segments.query_places
    return _put_back(attended, places), _put_back(weights, places).T.contiguous(), None


def _differentiate(
    gradient: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attended: torch.Tensor,
    weight: torch.Tensor,
    segments: Segments,
    scale: float,
    state: Any,
) -> _Gradients:
    """Return the gradients of queries, keys and values that come of these segments.

    Args:
        gradient: Of the whole result.
        query: As in `_attend`.
        key: Likewise.
        value: Likewise.
        attended: The whole result.
        weight: Of all keys that went into it.
        segments: As in `_attend`.
        scale: Likewise.
        state: What the kernel wanted back.
    """
    if query.is_cuda:
        gradients: _Gradients = torch.ops.aten._flash_attention_backward(
            gradient,
            query,
            key,
            value,
            attended,
            weight,
            segments.query_ends,
            segments.key_ends,
            *segments.longest,
            0.0,
            segments.causal,
            *state,
            scale=scale,
        )
        return gradients
    parts = []
    padded = [_with_padding(one) for one in (gradient, query, key, value, attended, weight.T)]
    for batch in segments.batches:
        of_result, result, total = (one[batch.queries].transpose(1, 2) for one in (padded[0], *padded[4:]))
        found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            of_result,
            *_chosen(batch, *padded[1:4]),
            result,
            total,
            0.0,
            segments.causal,
            attn_mask=None if batch.unseen is None else batch.unseen.to(query.dtype),
            scale=scale,
        )
        parts.append([one.transpose(1, 2) for one in found])
    of_query, of_key, of_value = zip(*parts, strict=True)
    return (
        _put_back(of_query, segments.query_places),
        _put_back(of_key, segments.key_places),
        _put_back(of_value, segments.key_places),
    )


def _chosen(batch: _Batch, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> list[torch.Tensor]:
    """Return the queries, keys and values of a batch, [segments, heads, tokens, width]."""
    return [
        query[batch.queries].transpose(1, 2),
        key[batch.keys].transpose(1, 2),
        value[batch.keys].transpose(1, 2),
    ]


def _put_back(parts: Any, places: torch.Tensor) -> torch.Tensor:
    """Return the tokens of some batches as they stood in the row."""
    return torch.cat([part.flatten(0, 1) for part in parts]).index_select(0, places)


def _with_padding(tokens: torch.Tensor) -> torch.Tensor:
    """Return tokens with one more, of zeros, which stands wherever there is padding: its gradients are 0, too."""
    return torch.cat([tokens, tokens.new_zeros(1, *tokens.shape[1:])])


def _ends(sizes: torch.Tensor) -> torch.Tensor:
    """Return where segments end, after a 0."""
    return torch.nn.functional.pad(sizes.cumsum(0), (1, 0))


def _padded(ends: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
    """Return the numbers of the tokens of some segments, padded with the number after the last."""
    begins, sizes = ends[segments, None], (ends[segments + 1] - ends[segments])[:, None]
    columns = torch.arange(int(sizes.max()))
    return torch.where(columns < sizes, begins + columns, ends[-1])


def _places(batches: list[torch.Tensor], tokens: int) -> torch.Tensor:
    """Return where each of the tokens stands in the batches."""
    numbers = torch.cat([batch.flatten() for batch in batches])
    return torch.empty(tokens + 1, dtype=torch.long).index_copy(0, numbers, torch.arange(len(numbers)))[:-1]
