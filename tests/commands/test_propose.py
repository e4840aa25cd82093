import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from feedback.proposing.server import ScriptedServer, judgement, proposal, status

from envtune_gym.feedback.proposing import load_entries

RUN = "import sys; from envtune_gym.cli import main; sys.exit(main())"
CAUSES = ["MathAPI empty_list", "TicketAPI ticket_not_found", "general unknown_tool"]


@pytest.fixture
def server():
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture
def rollouts(tmp_path):
    """Two runs of one task and one of another; three causes of failure."""
    lost = {"task_id": "ticket", "steps": [[["close_ticket(ticket_id=99)", "mean(numbers=[])"]]]}
    unknown = {"task_id": "withheld", "messages": ['<tool_call>[{"name": "clos_ticket", "arguments": {}}]</tool_call>']}
    path = tmp_path / "rollouts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (lost, lost, unknown)))
    return path


@pytest.fixture
def words(server, rollouts, task_file, tmp_path):
    """The command line; the book goes to `book.yaml`."""
    options = {
        "--from": rollouts,
        "--tasks": task_file,
        "--model": "m",
        "--base-url": server.url,
        "--out": tmp_path / "book.yaml",
        "--concurrency": "1",
        "--retries": "1",
    }
    return ["hints", "propose", *(str(word) for pair in options.items() for word in pair)]


def causes(book):
    return [str(entry.cause) for entry in load_entries(book)]


def test_a_book_is_written_and_reported(envtune, words, tmp_path):
    code, out, err = envtune(*words)
    assert (code, err) == (0, "")
    assert "3 approved, 0 rejected" in out
    assert causes(tmp_path / "book.yaml") == CAUSES
    assert [path.name for path in tmp_path.glob("book*")] == ["book.yaml"]


def test_the_report_as_json(envtune_json, words, server):
    server.script = [proposal(need="Idle.", category="none")] * 3
    report = envtune_json(*words)
    assert (report["approved"], report["rejected"]) == (2, 1)
    assert {entry["status"] for entry in report["entries"]} == {"approved", "rejected"}


def test_options_reach_the_server(envtune, words, server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    more = ["--judge-model", "j", "--seed", "3", "--temperature", "0.5", "--max-tokens", "70", "--causes", "1"]
    assert envtune(*words, *more, "--api-key-env", "MY_KEY")[0] == 0
    to_generator, to_judge = server.requests
    assert (to_generator["model"], to_judge["model"]) == ("m", "j")
    for request in server.requests:
        assert (request["seed"], request["temperature"], request["max_tokens"]) == (3, 0.5, 70)
    assert server.keys == ["Bearer secret"] * 2


def test_by_default_nothing_is_set_that_some_servers_refuse(envtune, words, server):
    envtune(*words, "--causes", "1")
    assert set(server.requests[0]) == {"model", "messages", "max_tokens"}


def test_a_dry_run_asks_nobody_and_writes_nothing(envtune, envtune_json, words, server, tmp_path):
    code, out, _ = envtune(*words, "--dry-run")
    assert code == 0
    assert "Write a hint for the error ticket_not_found" in out
    assert "3 causes" in out
    requests = envtune_json(*words, "--dry-run")
    assert [request["failures"] for request in requests] == [2, 2, 1]
    assert server.requests == []
    assert not (tmp_path / "book.yaml").exists()


def test_a_dry_run_needs_no_server_and_no_book(envtune, rollouts, task_file):
    words = ["hints", "propose", "--from", rollouts, "--tasks", task_file]
    code, out, _ = envtune(*words, "--dry-run")
    assert code == 0
    assert "3 causes" in out
    flags = {"--model": "m", "--base-url": "http://127.0.0.1:1/v1", "--out": "book.yaml"}
    for missing in flags:
        given = [word for name, value in flags.items() if name != missing for word in (name, value)]
        code, _, err = envtune(*words, *given)
        assert code == 2
        assert f"{missing} is missing" in err


def test_a_second_run_asks_about_nothing_that_stands_in_the_book(envtune, words, server, tmp_path):
    envtune(*words, "--causes", "2")
    before = len(server.requests)
    assert envtune(*words)[0] == 0
    assert len(server.requests) - before == 2
    assert causes(tmp_path / "book.yaml") == CAUSES


def test_a_failing_server_is_reported_in_one_line_and_the_run_goes_on_later(envtune, words, server, tmp_path):
    server.script = [proposal(), judgement(), status(500), status(500)]
    code, _, err = envtune(*words)
    assert code == 2
    assert err.count("\n") == 1
    assert "InternalServerError" in err
    assert "1 of 3 causes are done and kept in" in err
    assert len(causes(tmp_path / "book.yaml")) == 1
    assert envtune(*words)[0] == 0
    assert causes(tmp_path / "book.yaml") == CAUSES
    assert len(server.requests) == 4 + 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--base-url", "localhost"], "http://localhost:8000/v1"),
        (["--base-url", "http://127.0.0.1:1/v1"], "no server takes connections at http://127.0.0.1:1 "),
        (["--from", "/nowhere"], "cannot read the actions"),
        (["--domains", "TravelAPI"], "no task"),
    ],
)
def test_mistakes_are_reported_in_one_line(envtune, words, changed, message):
    code, _, err = envtune(*words, *changed)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_runs_without_failures_have_nothing_to_explain(envtune, words, rollouts):
    rollouts.write_text(json.dumps({"task_id": "ticket", "messages": []}))
    code, _, err = envtune(*words)
    assert code == 2
    assert "nothing fails" in err


@pytest.fixture
def interrupt(words, server):
    """Run the command, send it a signal while it waits for its second proposal; return its exit code and stderr."""

    def interrupt(number):
        started, over = threading.Event(), threading.Event()
        running = []

        def signal_instead(request):
            started.wait()
            os.kill(running[0].pid, number)
            over.wait()

        server.script = [proposal(), judgement(), signal_instead]
        process = subprocess.Popen([sys.executable, "-c", RUN, *words], stderr=subprocess.PIPE, text=True)
        running.append(process)
        started.set()
        try:
            _, err = process.communicate(timeout=60)
        finally:
            over.set()
        return process.returncode, err

    return interrupt


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_an_interrupted_run_leaves_a_book_and_goes_on(interrupt, envtune, words, server, tmp_path):
    code, err = interrupt(signal.SIGINT)
    assert code == 130
    assert err.startswith("interrupted: 1 of 3 causes are done and kept in")
    assert len(causes(tmp_path / "book.yaml")) == 1
    before = len(server.requests)
    assert envtune(*words)[0] == 0
    assert len(server.requests) - before == 4
    assert causes(tmp_path / "book.yaml") == CAUSES


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_a_killed_run_goes_on(interrupt, envtune, words, server, tmp_path):
    assert interrupt(signal.SIGKILL)[0] == -signal.SIGKILL
    assert [path.name for path in tmp_path.glob("book*")] == ["book.yaml.journal"]
    before = len(server.requests)
    assert envtune(*words)[0] == 0
    assert len(server.requests) - before == 4
    assert causes(tmp_path / "book.yaml") == CAUSES
