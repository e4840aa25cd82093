"""Log-probabilities of completions: what the loss is made of, and most of what it costs.

TRL pads prompts on the left and completions on the right, each to the longest of the whole batch of rollouts. Here
every row begins at the left and a micro-batch is cut to its own longest row: causal attention never looks at what is
on the right, so padding needs no mask (masks over left padding have given gradients that are not finite).

The rollouts of a group share their first prompt, with the documentation of the tools, which is most of their tokens.
`score_sharing` reads each distinct prompt once: a first pass leaves its keys and values, and a second goes over the
completions alone, which attend to them; gradients flow through both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from envtune_gym.integrations.attention import layer_kinds
from envtune_gym.integrations.engine import cache_argument

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Scores", "can_share", "picked", "score_plainly", "score_sharing"]

Scores = tuple[torch.Tensor, torch.Tensor]
"""Log-probabilities and entropies, [rows, keep]; what they are at padding has no meaning."""
Model = Callable[..., Any]
"""A model with TRL's fused head: `model(labels=…, fused_lm_head=True)` has log_probs and entropy."""

_IGNORED = -100


def can_share(model: PreTrainedModel) -> bool:
    """Tell whether a model's rows can share prompts: all layers attend to everything, and activations are kept."""
    return layer_kinds(model.config) == {"full_attention"} and not (model.training and model.is_gradient_checkpointing)


def score_plainly(model: Model, ids: torch.Tensor, mask: torch.Tensor, keep: int) -> Scores:
    """Score rows one by one.

    Args:
        model: The model.
        ids: Prompts, padded on the left, and completions, padded on the right; [rows, tokens].
        mask: 1 where there is no padding.
        keep: Columns of the completions.
    """
    first = mask.int().argmax(1, keepdim=True)  # where a row begins
    lengths = mask.sum(1, keepdim=True)
    columns = torch.arange(max(int(lengths.max()), 2), device=ids.device)[None]
    packed = ids.gather(1, (first + columns).clamp(max=ids.shape[1] - 1))
    completion = (columns < lengths) & (first + columns >= ids.shape[1] - keep)
    output = model(input_ids=packed, labels=packed.masked_fill(~completion, _IGNORED), fused_lm_head=True)
    # Back to the columns of the completions; what is said at a position is about the next token.
    wanted = torch.arange(ids.shape[1] - keep, ids.shape[1], device=ids.device)[None]
    places = (wanted - first - 1).clamp(0, output.log_probs.shape[1] - 1)
    return output.log_probs.gather(1, places), _entropy(output).gather(1, places)


def score_sharing(model: Model, bare: PreTrainedModel, ids: torch.Tensor, mask: torch.Tensor, keep: int) -> Scores:
    """Score rows, reading each distinct prompt once; as `score_plainly` where there is little to share.

    Args:
        model: The model.
        bare: The same without what has been wrapped around it.
        ids: As in `score_plainly`.
        mask: Likewise.
        keep: Likewise.
    """
    width = ids.shape[1] - keep
    prompts = ids[:, :width].masked_fill(mask[:, :width] == 0, _IGNORED)  # no token has this number
    distinct, group = prompts.unique(dim=0, return_inverse=True)
    lengths = (distinct != _IGNORED).sum(1)
    if 2 * len(distinct) > len(ids) or int(lengths.min()) < 2:
        return score_plainly(model, ids, mask, keep)

    # All of each prompt but its last token, which is where the first token of a completion is foretold.
    known = int(lengths.max()) - 1
    columns = torch.arange(known, device=ids.device)[None]
    begins = width - lengths[:, None]
    read = distinct.gather(1, (begins + columns).clamp(max=width - 1)).clamp(min=0)
    cache = _kept_keys()
    name = cache_argument(bare)
    model(input_ids=read, labels=torch.full_like(read, _IGNORED), fused_lm_head=True, **{name: cache})
    for layer in cache.layers:
        layer.keys, layer.values = picked(layer.keys, group), picked(layer.values, group)

    # The last token of the prompt and the completion, which see what is known of their own prompt.
    written = mask[:, width:].sum(1, keepdim=True)
    rest = torch.arange(int(written.max()) + 1, device=ids.device)[None]
    new = ids[:, width - 1 : width + rest.shape[1] - 1]
    labels = new.masked_fill((rest == 0) | (rest > written), _IGNORED)
    sees_prompt = (columns < lengths[group, None] - 1)[:, None, None].expand(-1, 1, rest.shape[1], -1)
    sees_before = (rest <= rest.T)[None, None].expand(len(ids), 1, -1, -1)
    output = model(
        input_ids=new,
        attention_mask=torch.cat([sees_prompt, sees_before], dim=-1),
        position_ids=lengths[group, None] - 1 + rest,
        labels=labels,
        fused_lm_head=True,
        **{name: cache},
    )
    short = (0, keep - output.log_probs.shape[1])
    return torch.nn.functional.pad(output.log_probs, short), torch.nn.functional.pad(_entropy(output), short)


def picked(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return `values[places]`, in which each value may occur many times.

    The gradient of a value is the sum over its occurrences. Here it is a product of matrices, which reads each of them
    once; torch's own adds them to the value one by one.
    """
    chosen: torch.Tensor = _Picked.apply(values, places)
    return chosen


class _Picked(torch.autograd.Function):  # type: ignore[misc]  # torch is Any to mypy (pyproject.toml)
    @staticmethod
    def forward(context: Any, values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(places)
        context.number = len(values)
        return values.index_select(0, places)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (places,) = context.saved_tensors
        occurs = places == torch.arange(context.number, device=places.device)[:, None]
        # In the gradient's own precision, whose products are summed up in float32 at least.
        summed = occurs.to(gradient.dtype) @ gradient.flatten(1)
        return summed.view(context.number, *gradient.shape[1:]), None


def _entropy(output: Any) -> torch.Tensor:
    """Return the entropies; a reference model has none."""
    entropy: torch.Tensor = output.log_probs if output.entropy is None else output.entropy
    return entropy


def _kept_keys() -> Any:
    from transformers import DynamicCache

    return DynamicCache()
