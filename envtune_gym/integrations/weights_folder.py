"""A folder from which another process reads the weights of a model: written over as a whole, again and again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from transformers.utils import logging

from envtune_gym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["write_weights"]

_OURS = ".envtune-weights"
"""A file that says whose folder it is: what somebody keeps must not be written over."""
_NEW = ".new"
_ONE_FILE = "100000GB"
"""The size of a part; a single file is replaced in a single step."""


def write_weights(model: PreTrainedModel, folder: Path, dtype: torch.dtype) -> None:
    """Write a model, without tokenizer, in place of what was in the folder.

    Whoever reads the folder meanwhile finds the old weights or the new ones, and nothing in between.

    Args:
        model: The model.
        folder: Where to; made if it is not there.
        dtype: What the weights are written in.

    Raises:
        ConfigurationError: If the folder holds something else, or cannot be made.
    """
    _claim(folder)
    new = folder / _NEW
    shutil.rmtree(new, ignore_errors=True)  # of a run that was killed
    try:
        with _without_progress_bar():
            model.save_pretrained(new, state_dict=_in_precision(model, dtype), max_shard_size=_ONE_FILE)
        usual = (new / "config.json").stat().st_mode
        for file in sorted(new.iterdir(), key=lambda file: file.suffix == ".safetensors"):
            file.chmod(usual)  # safetensors lets only the owner read, and the server may run as somebody else
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def _without_progress_bar() -> Iterator[None]:
    """Keep transformers from showing one for each update."""
    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()


def _claim(folder: Path) -> None:
    """Make the folder ours.

    Raises:
        ConfigurationError: If it is somebody else's, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _OURS).exists():
            if any(folder.iterdir()):
                raise ConfigurationError(
                    f"{folder} holds other files, and weights are written over again and again; name a new folder"
                )
            (folder / _OURS).touch()
    except OSError as error:
        raise ConfigurationError(f"weights cannot be written to {folder}: {error.strerror or error}") from error


def _in_precision(model: PreTrainedModel, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return the state of a model in main memory; what is tied there is tied here."""
    converted: dict[tuple[int, torch.Size], torch.Tensor] = {}
    state: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape)
        if place not in converted:
            converted[place] = tensor.to("cpu", dtype if tensor.is_floating_point() else tensor.dtype)
        state[name] = converted[place]
    return state
