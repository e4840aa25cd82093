"""The curriculum's progress while training: what it is told, when it advances, and how a checkpoint keeps it.

All of it happens when the updates from one batch of rollouts are done and before the next batch is played, so that a
group of rollouts never sees a change. Of several processes the main one decides, and the others take over its state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.callbacks import FiniteGradients
from envtune_gym.integrations.rollout import RolloutRecord
from envtune_gym.training.log import RunLog
from envtune_gym.training.processes import Processes
from envtune_gym.training.settings import Settings, StageSettings
from envtune_gym.training.trainer import STATE_FILE, EnvtuneTrainer, write_state
from envtune_gym.wrappers import CurriculumWrapper

__all__ = ["Stages"]


@dataclass(eq=False)
class Stages(TrainerCallback):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """Feeds the curriculum and advances it, by its rule or after the batches that a stage is given at most.

    Attributes:
        settings: The run's settings.
        curriculum: Decides on tasks, feedback and reward; its copies in the players follow it.
        log: Where validations and changes of stage are written.
        guard: Its count of skipped updates is kept with the state.
        on_enter: Called with each stage that begins, the first one included.
        processes: Those that train together.
        trainer: The trainer; set when it is there.
        validate: Plays the validation tasks, in all processes together; None: there is no validation.
        batches_in_stage: Batches of rollouts that the present stage has had.
    """

    settings: Settings
    curriculum: CurriculumWrapper
    log: RunLog
    guard: FiniteGradients
    on_enter: Callable[[StageSettings], None]
    processes: Processes
    trainer: EnvtuneTrainer | None = None
    validate: Callable[[], Sequence[RolloutRecord]] | None = None
    batches_in_stage: int = 0

    def __post_init__(self) -> None:
        """Enter the first stage."""
        self.on_enter(self.stage)

    @property
    def stage(self) -> StageSettings:
        """The settings of the present stage."""
        return self.settings.stages[self.curriculum.stage_index]

    def add_rollouts(self, records: Sequence[RolloutRecord]) -> None:
        """Tell the curriculum how a batch of rollouts ended, which adaptive sampling goes by."""
        for record in records:
            if record.task_id:
                self.curriculum.record_episode(record.task_id, float(record.success))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Take the norm of the gradient; after the last update from a batch, validate and advance."""
        if "grad_norm" not in logs:
            return  # the summary at the end
        self.curriculum.record(grad_norm=logs["grad_norm"])
        batch, rest = divmod(state.global_step, self.settings.updates_per_batch)
        if not rest:
            self._end_batch(state.global_step, batch)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the state beside the model, which makes the checkpoint whole.

        Raises:
            TrainingError: If it cannot be written.
        """
        self.processes.wait()  # each writes files of its own
        if not state.is_world_process_zero:
            return
        try:
            write_state(Path(self.settings.out, f"checkpoint-{state.global_step}"), self.state_dict())
        except OSError as error:
            assert self.trainer is not None  # noqa: S101 (it is saving)
            raise self.trainer.broken_checkpoint(error) from error

    def state_dict(self) -> dict[str, Any]:
        """Return all that goes into a checkpoint, as plain data."""
        return {
            "curriculum": self.curriculum.state_dict(),
            "batches_in_stage": self.batches_in_stage,
            "skipped_updates": self.guard.skipped,
        }

    def load(self, checkpoint: Path) -> None:
        """Go back to the state in a checkpoint.

        Raises:
            ConfigurationError: If it is not a state of this run's stages.
        """
        try:
            self._take_over(json.loads((checkpoint / STATE_FILE).read_text(encoding="utf-8")))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"cannot go on from {checkpoint}: {error}") from error
        self.on_enter(self.stage)

    def _take_over(self, state: dict[str, Any]) -> None:
        self.curriculum.load_state_dict(state["curriculum"])
        self.batches_in_stage = int(state["batches_in_stage"])
        self.guard.skipped = int(state["skipped_updates"])

    def _end_batch(self, update: int, batch: int) -> None:
        before = self.stage
        self.batches_in_stage += 1
        every = self.settings.validation.every
        if self.validate is not None and every and not batch % every:
            records = self.validate()
            accuracy = sum(record.success for record in records) / len(records)
            self.log.add_validation(update, before.name, records)
            self.curriculum.record(accuracy=accuracy)
        if self.stage is before and before.batches is not None and self.batches_in_stage >= before.batches:
            self.curriculum.advance()
        decided = self.processes.from_main(self.state_dict())
        if not self.processes.is_main:
            self._take_over(decided)
        if self.stage is not before:
            self.batches_in_stage = 0
            self.on_enter(self.stage)
            self.log.note(f"update {update}: stage {before.name!r} is done, {self.stage.name!r} begins")
