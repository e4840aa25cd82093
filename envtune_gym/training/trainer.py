"""TRL's GRPOTrainer with two changes: which rows are scored together, and that a checkpoint is whole or not there."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer

from envtune_gym.errors import TrainingError
from envtune_gym.training.micro_batches import by_groups, chosen, merged, passes, teaching, tokens_of
from envtune_gym.training.scoring import can_pack, score_packed, score_plainly

__all__ = ["STATE_FILE", "EnvtuneTrainer", "last_checkpoint", "write_state"]

STATE_FILE = "envtune.json"
"""Written last into a checkpoint: the state of the curriculum, and the sign that the checkpoint is whole."""

logger = logging.getLogger(__name__)

Scored = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]


class EnvtuneTrainer(GRPOTrainer):  # type: ignore[misc]  # trl is Any to mypy (pyproject.toml)
    """A GRPOTrainer that scores rows as `scoring` does, and removes a checkpoint that could not be written.

    The logits, in tiles and at completion positions only, are TRL's own affair.
    """

    _buffered_inputs: list[dict[str, Any]] | None
    pass_tokens: int | None = None
    """Micro-batches are scored together as far as a pass has no more tokens than this."""
    _has_warned = False

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """Return the next micro-batch; those of a new batch of rollouts are dealt out by groups."""
        before = self._buffered_inputs
        inputs: dict[str, Any] = super()._prepare_inputs(generation_batch)
        cut = self._buffered_inputs
        if cut is None or cut is before:
            return inputs
        each = self.args.gradient_accumulation_steps
        updates = [by_groups(cut[start : start + each]) for start in range(0, len(cut), each)]
        self._buffered_inputs = [rows for update in updates for rows in self._scored_together(update)]
        place: int = self._step % len(cut)
        return self._buffered_inputs[place]

    def _scored_together(self, update: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Merge the micro-batches of an update, in all processes alike."""
        if self.pass_tokens is None:
            return update
        if self._is_sharded or not self._packs(self.model):
            if not self._has_warned:
                logger.warning(
                    "pass_tokens changes nothing here: rows are packed where all layers attend to everything, without "
                    "dropout, FSDP or DeepSpeed, and on a GPU only in half precision (bf16: true; sm_80 at least)"
                )
            self._has_warned = True
            return update
        all_rows = self._all_rows_count or self.accelerator.num_processes > 1  # there they are cut, and stay
        sizes = torch.tensor(tokens_of(update, all_rows=all_rows), device=self.accelerator.device)[None]
        return merged(update, passes(self.accelerator.gather(sizes).amax(0).tolist(), self.pass_tokens))

    def _get_per_token_logps_and_entropies(
        self,
        model: torch.nn.Module,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **others: Any,
    ) -> Scored:
        """Return log-probabilities and entropies at completion positions, as TRL does; 0 where there is padding."""
        if compute_aux_loss or any(value is not None for value in others.values()):
            scored: Scored = super()._get_per_token_logps_and_entropies(
                model,
                input_ids,
                attention_mask,
                logits_to_keep,
                batch_size,
                compute_entropy,
                compute_aux_loss,
                **others,
            )
            return scored
        # Packed rows stay by groups, as they come; others are better off with those of like length.
        order = attention_mask.sum(1)
        order = torch.arange(len(order), device=order.device) if self._packs(model) else order.argsort()
        logps = input_ids.new_zeros(len(input_ids), logits_to_keep, dtype=torch.float32)
        entropies = torch.zeros_like(logps)
        for rows in order.split(batch_size or len(order)):
            scores = self._score(model, input_ids[rows], attention_mask[rows], logits_to_keep)
            logps = logps.index_copy(0, rows, scores[0])
            entropies = entropies.index_copy(0, rows, scores[1]) if compute_entropy else entropies
        return logps, entropies if compute_entropy else None, None

    def _score(
        self, model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor, keep: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        packs = self._packs(model)
        with self.accelerator.autocast():
            if packs:
                scores = score_packed(model, self._bare(model), ids, mask, keep)
            else:
                scores = score_plainly(model, ids, mask, keep)
        present = mask[:, -keep:].bool()
        logps, entropies = (value.float().masked_fill(~present, 0) for value in scores)
        return logps, entropies

    def _packs(self, model: torch.nn.Module) -> bool:
        """Whether rows are packed for this model."""
        with self.accelerator.autocast():
            return not self.is_fsdp_enabled and can_pack(self._bare(model))

    @property
    def _is_sharded(self) -> bool:
        """Whether gradients need a pass over the model at each step."""
        return bool(self.is_fsdp_enabled or self.is_deepspeed_enabled)

    @property
    def _all_rows_count(self) -> bool:
        """Whether rows of groups without spread add to the loss."""
        return bool(self.beta) or self._entropy_bonus_enabled

    def _bare(self, model: torch.nn.Module) -> Any:
        """Return the model without what has been wrapped around it, adapters included."""
        bare = self.accelerator.unwrap_model(model)
        return bare.get_base_model() if hasattr(bare, "get_base_model") else bare

    def _compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any]) -> torch.Tensor:
        """Return the loss of a micro-batch; rows of groups without spread add nothing, and so are not scored."""
        if not len(inputs["advantages"]):
            return self._nothing(model)
        if not self._all_rows_count:
            alone = self.accelerator.num_processes == 1 and not self._is_sharded
            is_last = (self._step + 1) % self.args.gradient_accumulation_steps == 0
            if alone and not is_last and not teaching(inputs).any():
                return self._nothing(model)  # the last is scored in any case: a log has something of each update
            inputs = _rows_that_teach(inputs) if alone else _cut_rows_that_do_not_teach(inputs)
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        return loss

    def _nothing(self, model: torch.nn.Module) -> torch.Tensor:
        """Return a loss of 0 that a backward pass can start from."""
        weight = next(weight for weight in model.parameters() if weight.requires_grad)
        return weight.flatten()[0] * 0.0

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        """Write a checkpoint.

        Raises:
            TrainingError: If it cannot be written; what was there of it is removed.
        """
        try:
            super()._save_checkpoint(model, trial)
        except (OSError, RuntimeError) as error:  # torch and safetensors have words of their own for a full disk
            raise self.broken_checkpoint(error) from error
        except Exception as error:
            if type(error).__name__ == "SafetensorError":
                raise self.broken_checkpoint(error) from error
            raise

    def broken_checkpoint(self, error: Exception) -> TrainingError:
        """Remove the checkpoint of this update, and return what to say of it."""
        out, step = Path(self.args.output_dir), self.state.global_step
        shutil.rmtree(out / f"{PREFIX_CHECKPOINT_DIR}-{step}", ignore_errors=True)
        before = last_checkpoint(out)
        intact = f"{before} is intact: go on from there with --resume" if before else "there is none before it"
        return TrainingError(
            f"the checkpoint of update {step} could not be written ({error}); most likely the disk is full: "
            f"free some room; {intact}"
        )


def _rows_that_teach(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the rows whose advantage is not 0, or one row if there is none: a backward pass needs something."""
    teach = teaching(inputs)
    teach[0] |= not teach.any()
    return chosen(inputs, teach)


def _cut_rows_that_do_not_teach(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return as many rows, of which those whose advantage is 0 have a prompt that is read anyway and no completion.

    Several processes compare their rows, and so must have equally many.
    """
    teach = teaching(inputs)
    kept = int(teach.int().argmax())
    teach[kept] = True
    read = torch.where(teach, torch.arange(len(teach), device=teach.device), kept)
    return {
        **inputs,
        "prompt_ids": inputs["prompt_ids"][read],
        "prompt_mask": inputs["prompt_mask"][read],
        "completion_mask": inputs["completion_mask"] * teach[:, None],
    }


def last_checkpoint(out: Path) -> Path | None:
    """Return the latest whole checkpoint in a directory; one without the state of the curriculum was cut off."""
    found = [path.parent for path in out.glob(f"{PREFIX_CHECKPOINT_DIR}-*/{STATE_FILE}")]
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def write_state(checkpoint: Path, state: dict[str, Any]) -> None:
    """Write the state of the curriculum into a checkpoint, which makes it whole."""
    draft = checkpoint / f"{STATE_FILE}.draft"
    draft.write_text(json.dumps(state), encoding="utf-8")
    os.replace(draft, checkpoint / STATE_FILE)
