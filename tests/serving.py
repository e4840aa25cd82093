"""SmolLM2-135M behind `transformers serve`, for the tests that want a server which others wrote."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from envtune_gym.errors import DataError

_SAVE = """
import sys
from envtune_gym.integrations.models import SMOLLM2, load_model
for part in load_model(SMOLLM2):
    part.save_pretrained(sys.argv[1])
"""
_ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
"""Threads that wait for one another are slow where test workers share the cores."""


@contextmanager
def small_model(directory):
    """Write the model to a directory for a while; skip the test where it cannot be had."""
    for package in ("torch", "transformers", "fastapi", "uvicorn"):
        pytest.importorskip(package)
    from envtune_gym.integrations import models

    try:
        models._smollm2_file()
    except DataError as error:
        pytest.skip(str(error))
    subprocess.run([sys.executable, "-c", _SAVE, str(directory)], check=True, capture_output=True, env=_ENVIRONMENT)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)  # half a gigabyte


@contextmanager
def served(directory):
    """Serve the model of a directory; yield the server's address."""
    program = Path(sys.executable).with_name("transformers")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "serve", directory, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(
        [*map(str, command), "--log-level", "info"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_ENVIRONMENT,
    )
    try:
        log = []
        for line in process.stdout:
            log.append(line)
            if "Uvicorn running" in line:
                break
        else:
            pytest.fail("the server did not start:\n" + "".join(log[-20:]))
        threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()
