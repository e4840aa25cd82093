"""Trackers (TensorBoard, W&B, trackio and whatever else `report_to` names) see what the run's own log sees.

The trainer's callbacks for them are taken over, for three reasons: figures that the run's log adds to an update must
stand in it before they read it; validations and evaluations come from outside of the trainer's log; and a tracker may
close its run when training ends, while the evaluations are still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback
from transformers.integrations import (
    TensorBoardCallback,
    TrackioCallback,
    WandbCallback,
    get_reporting_integration_callbacks,
)

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.rollout import RolloutRecord
from envtune_gym.training.samples import COLUMNS, Row, SampleRollouts, as_code, as_markdown

if TYPE_CHECKING:
    from transformers import Trainer

__all__ = ["Trackers", "check_trackers"]

_TABLE = "rollouts"
_STEP = "train/global_step"
"""The name under which transformers tells W&B and trackio the update."""


def check_trackers(names: Sequence[str]) -> None:
    """Refuse trackers that transformers does not know, and those of ours that are not installed.

    Raises:
        ConfigurationError: If there is one.
    """
    try:
        get_reporting_integration_callbacks([name for name in names if name not in ("all", "none")])
    except ValueError as error:
        raise ConfigurationError(f"report_to: {error}") from error
    for name in names:
        if name in ("tensorboard", "wandb", "trackio") and find_spec(name) is None:
            raise ConfigurationError(f"report_to: {name} is not installed: pip install {name}")


class Trackers(TrainerCallback):  # type: ignore[misc]  # transformers is Any to mypy (pyproject.toml)
    """Stands in for the trainer's callbacks for trackers; where there are none, it does nothing.

    Args:
        samples: Makes the table of sample rollouts.
    """

    def __init__(self, samples: SampleRollouts) -> None:
        self._samples = samples
        self._callbacks: list[TrainerCallback] = []
        self._context: tuple[Any, Any, Any] | None = None
        self._end: dict[str, Any] | None = None

    def take_over(self, trainer: Trainer) -> None:
        """Take the callbacks for trackers out of a trainer that has this one."""
        for kind in get_reporting_integration_callbacks(trainer.args.report_to):
            self._callbacks.append(trainer.pop_callback(kind))

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Open the trackers' runs."""
        self._context = (args, state, control)
        self._tell("on_train_begin", **more)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **more: Any) -> None:
        """Log an update."""
        self._tell("on_log", logs=_present(logs), **more)

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Tell of a checkpoint, which some store."""
        self._tell("on_save", **more)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Keep what the trackers' end needs until `close`."""
        self._end = more

    def add_rollouts(self, step: int, records: Sequence[RolloutRecord]) -> None:
        """Log some rollouts of a batch as a table.

        Args:
            step: The update that they are played for.
            records: The batch.
        """
        writers = [(_TABLES[type(one)], one) for one in self._callbacks if type(one) in _TABLES]
        rows = self._samples.rows(step, records) if writers else []
        for write, callback in writers if rows else []:
            write(callback, rows, step)

    def add_validation(self, figures: Mapping[str, Any]) -> None:
        """Log a validation, as `eval/…`."""
        self._tell("on_log", logs={f"eval_{name}": value for name, value in _present(figures).items()})

    def add_evaluation(self, name: str, feedback: str, figures: Mapping[str, Any]) -> None:
        """Log an evaluation after training, as `test/<its name>/<level of feedback>/…`."""
        prefix = f"test_{name}/{feedback}/"
        self._tell("on_log", logs={prefix + figure: value for figure, value in _present(figures).items()})

    def close(self) -> None:
        """Close the trackers' runs."""
        if self._end is not None:
            self._tell("on_train_end", **self._end)
        self._end = None

    def _tell(self, event: str, **more: Any) -> None:
        if self._context is None:  # training has not begun
            return
        args, state, control = self._context
        for callback in self._callbacks:
            getattr(callback, event)(args, state, control, **more)


def _present(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return what there is a number for: TRL logs None where no row counted."""
    return {name: value for name, value in figures.items() if value is not None}


def _to_tensorboard(callback: Any, rows: Sequence[Row], step: int) -> None:
    if callback.tb_writer is not None:
        callback.tb_writer.add_text(_TABLE, as_markdown(rows), step)


def _to_wandb(callback: Any, rows: Sequence[Row], step: int) -> None:
    import wandb

    table = wandb.Table(columns=list(COLUMNS), data=[list(row.values()) for row in rows])
    wandb.log({_TABLE: table, _STEP: step})


def _to_trackio(callback: Any, rows: Sequence[Row], step: int) -> None:
    """Log a table whose texts are shown as Markdown."""
    import trackio

    texts = [{**row, **{name: as_code(row[name]) for name in ("request", "messages")}} for row in rows]
    table = trackio.Table(columns=list(COLUMNS), data=[list(row.values()) for row in texts])
    trackio.log({_TABLE: table, _STEP: step})


_TABLES: Mapping[type, Callable[[Any, Sequence[Row], int], None]] = {
    TensorBoardCallback: _to_tensorboard,
    WandbCallback: _to_wandb,
    TrackioCallback: _to_trackio,
}
