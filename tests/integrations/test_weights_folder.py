import resource

import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.errors import ConfigurationError, TrainingError
from envtune_gym.integrations.weights_folder import write_weights


def test_a_folder_that_another_run_writes_to_is_left_to_it(model, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / ".envtune-weights").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ConfigurationError, match=r"another run writes its weights to .*; name another folder"):
            write_weights(model, tmp_path, torch.float32)
        assert [file.name for file in tmp_path.iterdir()] == [".envtune-weights"]
    for _ in range(2):
        write_weights(model, tmp_path, torch.float32)
    with (tmp_path / ".envtune-weights").open("a") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_weights_for_which_there_is_no_room_leave_the_old_ones(model, tmp_path):
    write_weights(model, tmp_path, torch.float32)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with torch.no_grad():
        model.lm_head.weight.mul_(2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["model.safetensors"]) - 1, hard))
    try:
        with pytest.raises(TrainingError, match=r"could not be written to .* the disk is full"):
            write_weights(model, tmp_path, torch.float32)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_that_can_no_longer_be_written_to_is_named(model, tmp_path):
    write_weights(model, tmp_path, torch.float32)
    (tmp_path / ".new").touch()  # where the next ones are to be put together
    with pytest.raises(TrainingError, match="could not be written to "):
        write_weights(model, tmp_path, torch.float32)
