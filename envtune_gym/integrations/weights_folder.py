"""A folder from which another process reads the weights of a model: written over as a whole, again and again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from transformers.utils import logging

from envtune_gym.errors import ConfigurationError, TrainingError

try:
    import fcntl
except ImportError:  # Windows has no such locks; two runs in one folder are then the user's own affair
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["write_weights"]

_OURS = ".envtune-weights"
"""A file that says whose folder it is: what somebody keeps must not be written over."""
_locked: dict[Path, IO[Any]] = {}
"""By folder the file that keeps other processes from it, open as long as this one lives."""
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
        ConfigurationError: If the folder holds something else, another run writes there, or it cannot be made.
        TrainingError: If there is no room for the weights.
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
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            f"the weights could not be written to {folder} ({error}); most likely the disk is full, or the folder may "
            "no longer be written to: what it held is intact"
        ) from error
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
        ConfigurationError: If it is somebody else's, another process writes there, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _OURS).exists():
            if any(folder.iterdir()):
                raise ConfigurationError(
                    f"{folder} holds other files, and weights are written over again and again; name a new folder"
                )
            (folder / _OURS).touch()
        _lock(folder)
    except OSError as error:
        raise ConfigurationError(f"weights cannot be written to {folder}: {error.strerror or error}") from error


def _lock(folder: Path) -> None:
    """Keep other processes from writing to the folder; a lock ends with its process, however that ends.

    Raises:
        ConfigurationError: If another process has it.
    """
    place = folder.resolve()
    if fcntl is None or place in _locked:
        return
    file = (place / _OURS).open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ConfigurationError(
            f"another run writes its weights to {folder}; name another folder, and a server of its own"
        ) from None
    except OSError:  # a file system without locks
        file.close()
        return
    _locked[place] = file


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
