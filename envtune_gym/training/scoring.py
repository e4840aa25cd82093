"""Log-probabilities of completions: what the loss is made of, and most of what it costs.

TRL pads prompts on the left and completions on the right, each to the longest of the whole batch of rollouts. Here
nothing is padded: the rows of a pass stand one behind the other as one long row. The rollouts of a group share their
first prompt, with the documentation of the tools, which is most of their tokens; `score_packed` reads each distinct
prompt once, and all completions attend to it where it stands. Gradients flow through both.

Models that cannot do this are scored by `score_plainly`: every row begins at the left and a micro-batch is cut to its
own longest row. Causal attention never looks at what is on the right, so padding needs no mask (masks over left padding
have given gradients that are not finite).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from envtune_gym.integrations.attention import layer_kinds
from envtune_gym.training.equal_rows import numbered
from envtune_gym.training.packed_attention import Packing, can_attend, packed_attention

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Scores", "can_pack", "score_packed", "score_plainly"]

Scores = tuple[torch.Tensor, torch.Tensor]
"""Log-probabilities and entropies, [rows, keep]; what they are at padding has no meaning."""
Model = Callable[..., Any]
"""A model with TRL's fused head: `model(labels=…, fused_lm_head=True)` has log_probs and entropy."""

_IGNORED = -100
_DROPOUTS = ("attention_dropout", "attn_pdrop", "attn_dropout")


def can_pack(model: PreTrainedModel) -> bool:
    """Tell whether a model's rows can be packed in the precision that is now in force.

    All layers attend to everything, in the usual way; and activations are kept, for layers that are computed anew do
    so when attention is no longer that of packed rows.
    """
    config = model.config.get_text_config(decoder=True)
    drops = model.training and any(getattr(config, name, 0) for name in _DROPOUTS)
    is_usual = not drops and not getattr(config, "attn_logit_softcapping", None)
    keeps = not (model.training and model.is_gradient_checkpointing)
    return layer_kinds(config) == {"full_attention"} and is_usual and keeps and can_attend(model)


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


def score_packed(model: Model, bare: PreTrainedModel, ids: torch.Tensor, mask: torch.Tensor, keep: int) -> Scores:
    """Score rows in one pass without padding, reading each distinct prompt once.

    Args:
        model: The model.
        bare: The same without what has been wrapped around it.
        ids: As in `score_plainly`.
        mask: Likewise.
        keep: Likewise.
    """
    packed = _packed(ids, mask, keep)
    if packed is None:
        return score_plainly(model, ids, mask, keep)
    with packed_attention(bare, packed.packing):
        output = model(
            input_ids=packed.ids[None],
            position_ids=packed.positions[None],
            shift_labels=packed.labels[None],
            fused_lm_head=True,
        )
    logps, entropies = (
        one.new_zeros(len(ids), keep).index_put(packed.wanted, one[0, packed.packing.known :])
        for one in (output.log_probs, _entropy(output))
    )
    return logps, entropies


class _Packed(NamedTuple):
    """Rows as one.

    Attributes:
        ids: Of each distinct prompt all but its last token; then, of each row, by prompt, from the last token of the
            prompt to the last but one of the completion: where the completion's tokens are foretold.
        positions: Where each stands in its row.
        labels: What is foretold there, if it is of a completion.
        wanted: Of each label, its row and its column among the completions.
        packing: How the row is packed.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    labels: torch.Tensor
    wanted: tuple[torch.Tensor, torch.Tensor]
    packing: Packing


def _packed(ids: torch.Tensor, mask: torch.Tensor, keep: int) -> _Packed | None:
    """Return rows as one; None if no row has a completion, or a prompt has one token only."""
    device, width = ids.device, ids.shape[1] - keep
    ids, mask = ids.cpu(), mask.cpu()  # one wait for the GPU; it would be many, for these are sizes
    given, written = mask[:, :width].sum(1), mask[:, width:].sum(1)
    rows = written.nonzero()[:, 0]
    if not len(rows) or given[rows].min() < 2:
        return None
    group = numbered(ids[rows, :width].masked_fill(mask[rows, :width] == 0, _IGNORED))  # no token has this number
    order = group.argsort(stable=True)
    rows, group = rows[order], group[order]
    rollouts = group.bincount()
    of_prompt = rows[rollouts.cumsum(0) - rollouts]  # a row that has it

    # Stretches of columns: from where, and how many.
    row = torch.cat([of_prompt, rows])
    begins = torch.cat([width - given[of_prompt], torch.full_like(rows, width - 1)])
    sizes = torch.cat([given[of_prompt] - 1, written[rows]])
    row, shift = (one.repeat_interleave(sizes) for one in (row, begins - sizes.cumsum(0) + sizes))
    columns = torch.arange(len(row)) + shift
    labels = ids[row, columns + 1]
    packing = Packing(sizes[: len(of_prompt)], written[rows], group, device)
    labels[: packing.known] = _IGNORED
    places = row, columns + 1 - width
    positions = columns - width + given[row]
    read, positions, labels, row, columns = torch.stack([ids[row, columns], positions, labels, *places]).to(device)
    return _Packed(read, positions, labels, (row[packing.known :], columns[packing.known :]), packing)


def _entropy(output: Any) -> torch.Tensor:
    """Return the entropies; a reference model has none."""
    entropy: torch.Tensor = output.log_probs if output.entropy is None else output.entropy
    return entropy
