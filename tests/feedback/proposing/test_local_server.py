"""The plumbing against a server that others wrote, with a small real model; what the model says does not matter."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from envtune_gym.cli import main
from envtune_gym.errors import DataError
from envtune_gym.feedback import HintBook
from envtune_gym.feedback.proposing import MAX_ATTEMPTS, load_entries
from envtune_gym.tasks import save_jsonl

SAVE = """
import sys
from envtune_gym.integrations.models import SMOLLM2, load_model
for part in load_model(SMOLLM2):
    part.save_pretrained(sys.argv[1])
"""


@pytest.fixture
def small_model(tmp_path):
    """The directory of SmolLM2-135M-Instruct."""
    for package in ("torch", "transformers", "fastapi", "uvicorn"):
        pytest.importorskip(package)
    from envtune_gym.integrations import models

    try:
        models._smollm2_file()
    except DataError as error:
        pytest.skip(str(error))
    directory = tmp_path / "model"
    subprocess.run([sys.executable, "-c", SAVE, str(directory)], check=True, capture_output=True)
    yield directory
    shutil.rmtree(directory)  # half a gigabyte


@pytest.fixture
def base_url(small_model):
    """The address of `transformers serve` with the small model."""
    program = Path(sys.executable).with_name("transformers")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "serve", small_model, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(
        [*map(str, command), "--log-level", "info"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
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


@pytest.mark.slow
def test_a_run_against_a_real_server_ends_with_a_valid_book(base_url, small_model, ticket_task, tmp_path, capsys):
    tasks, rollouts, book = tmp_path / "tasks.jsonl", tmp_path / "rollouts.jsonl", tmp_path / "book.yaml"
    save_jsonl([ticket_task], tasks)
    rollouts.write_text(json.dumps({"task_id": "ticket", "steps": [[["mean(numbers=[])", "get_ticket(ticket_id=9)"]]]}))
    words = ["--from", rollouts, "--tasks", tasks, "--out", book, "--model", small_model, "--base-url", base_url]
    limits = ["--max-tokens", "80", "--seed", "0", "--concurrency", "1", "--json"]
    assert main(["hints", "propose", *map(str, (*words, *limits))]) == 0
    report = json.loads(capsys.readouterr().out)
    entries = load_entries(book)
    assert [str(entry.cause) for entry in entries] == ["MathAPI empty_list", "TicketAPI ticket_not_found"]
    assert report["approved"] + report["rejected"] == 2
    assert all(1 <= len(entry.attempts) <= MAX_ATTEMPTS for entry in entries)
    assert all(attempt.reasons for entry in entries for attempt in entry.attempts)
    HintBook.from_file(book)
