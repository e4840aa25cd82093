"""The plumbing against a server that others wrote, with a small real model; what the model says does not matter."""

import json

import pytest
from serving import served, small_model

from envtune_gym.cli import main
from envtune_gym.feedback import HintBook
from envtune_gym.feedback.proposing import MAX_ATTEMPTS, load_entries
from envtune_gym.tasks import save_jsonl


@pytest.mark.slow
def test_a_run_against_a_real_server_ends_with_a_valid_book(ticket_task, tmp_path, capsys):
    tasks, rollouts, book = tmp_path / "tasks.jsonl", tmp_path / "rollouts.jsonl", tmp_path / "book.yaml"
    save_jsonl([ticket_task], tasks)
    rollouts.write_text(json.dumps({"task_id": "ticket", "steps": [[["mean(numbers=[])"]]]}))
    words = ["--from", rollouts, "--tasks", tasks, "--out", book]
    limits = ["--max-tokens", "32", "--seed", "0", "--concurrency", "1", "--json"]
    with small_model(tmp_path / "model") as model, served(model) as base_url:
        server = ["--model", model, "--base-url", base_url]
        assert main(["hints", "propose", *map(str, (*words, *server, *limits))]) == 0
    report = json.loads(capsys.readouterr().out)
    entries = load_entries(book)
    assert [str(entry.cause) for entry in entries] == ["MathAPI empty_list"]
    assert report["approved"] + report["rejected"] == 1
    assert all(1 <= len(entry.attempts) <= MAX_ATTEMPTS for entry in entries)
    assert all(attempt.reasons for entry in entries for attempt in entry.attempts)
    HintBook.from_file(book)
