import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from feedback.proposing.server import ScriptedServer, status

from envtune_gym import load_tasks
from envtune_gym.tasks import save_jsonl

RUN = "import sys; from envtune_gym.cli import main; sys.exit(main())"
SAID = {
    "Open a ticket": "I need a ticket named 'Lamp' saying the lamp is broken.",
    "Close it": "Now close it, and tell me the mean of 1, 2 and 6.",
}


def other_words(request):
    """The paraphrase of the message that a request asks about."""
    asked = request["messages"][1]["content"].partition("The message: ")[2]
    return json.dumps({"message": next(text for start, text in SAID.items() if asked.startswith(f'"{start}'))})


@pytest.fixture
def server():
    scripted = ScriptedServer(otherwise=other_words)
    yield scripted
    scripted.close()


@pytest.fixture
def tasks(tmp_path, ticket_task):
    path = tmp_path / "tasks.jsonl"
    save_jsonl([ticket_task.model_copy(update={"id": name}) for name in ("a", "b", "c")], path)
    return path


@pytest.fixture
def words(server, tasks, tmp_path):
    """The command line; the tasks go to `new.jsonl`."""
    options = {"--from": tasks, "--model": "m", "--base-url": server.url, "--out": tmp_path / "new.jsonl"}
    pairs = {**options, "--concurrency": "1", "--retries": "1"}
    return ["tasks", "paraphrase", *(str(word) for pair in pairs.items() for word in pair)]


def test_tasks_are_written_in_order_and_counted(envtune, words, tmp_path):
    code, out, err = envtune(*words, "--concurrency", "3")
    assert (code, err) == (0, "")
    assert "3 tasks written to" in out
    written = load_tasks(tmp_path / "new.jsonl")
    assert [task.id for task in written] == ["a-paraphrased", "b-paraphrased", "c-paraphrased"]
    assert {task.turns for task in written} == {tuple(SAID.values())}


def test_the_report_says_what_stayed_and_why(envtune_json, words, server, tmp_path):
    server.script = ["no"] * 3 + [json.dumps({"message": "Close it and average 1, 2, 6 and 8."})] * 3
    report = envtune_json(*words)
    assert report == {
        "out": str(tmp_path / "new.jsonl"),
        "tasks": 3,
        "tasks_paraphrased": 2,
        "messages": 6,
        "paraphrased": 4,
        "kept": {"malformed": 1, "added": 1},
        "replies": 10,
    }
    assert next(iter(load_tasks(tmp_path / "new.jsonl"))).id == "a"


def test_options_reach_the_server(envtune, words, server, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    more = ["--seed", "3", "--temperature", "0.5", "--max-tokens", "70", "--limit", "1", "--api-key-env", "MY_KEY"]
    assert envtune(*words, *more)[0] == 0
    for request in server.requests:
        assert (request["model"], request["seed"], request["temperature"], request["max_tokens"]) == ("m", 3, 0.5, 70)
    assert server.keys == ["Bearer secret"] * 2
    assert load_tasks(tmp_path / "new.jsonl").ids == ["a-paraphrased3"]


def test_a_second_run_asks_about_nothing_that_is_done(envtune, envtune_json, words, server, tasks, ticket_task):
    envtune(*words, "--limit", "2")
    before = len(server.requests)
    assert envtune_json(*words)["paraphrased"] == 6
    assert len(server.requests) - before == 2
    config = {"TicketAPI": {**ticket_task.initial_config["TicketAPI"], "current_user": "bea"}}
    save_jsonl([ticket_task.model_copy(update={"id": "a", "initial_config": config})], tasks)
    envtune(*words)
    envtune(*words, "--seed", "1")
    assert len(server.requests) - before == 2 + 2 + 2


def test_a_failing_server_is_reported_in_one_line_and_the_run_goes_on_later(envtune, words, server, tmp_path):
    server.script = [None, None, status(500), status(500)]
    code, _, err = envtune(*words)
    assert code == 2
    assert err.count("\n") == 1
    assert "InternalServerError" in err
    assert "1 of 3 tasks are done and kept in" in err
    assert not (tmp_path / "new.jsonl").exists()
    assert envtune(*words)[0] == 0
    assert len(load_tasks(tmp_path / "new.jsonl")) == 3
    assert len(server.requests) == 4 + 4


def test_a_refused_request_leaves_its_task_open_and_the_others_are_done(envtune, words, server):
    server.script = [status(400)]
    code, _, err = envtune(*words)
    assert code == 2
    assert "2 of 3 tasks are done" in err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--base-url", "localhost"], "http://localhost:8000/v1"),
        (["--base-url", "http://127.0.0.1:1/v1"], "no server takes connections at http://127.0.0.1:1 "),
        (["--from", "/nowhere.jsonl"], "cannot read the task file"),
        (["--from", "generated"], "unknown task source"),
    ],
)
def test_mistakes_are_reported_in_one_line(envtune, words, changed, message):
    code, _, err = envtune(*words, *changed)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_the_tasks_are_not_written_over_themselves(envtune, words, tasks):
    code, _, err = envtune(*words, "--out", tasks)
    assert code == 2
    assert "another file" in err
    assert list(tasks.parent.glob("*.journal")) == []


def test_a_broken_journal_is_named(envtune, words, tmp_path):
    (tmp_path / "new.jsonl.journal").write_text("{}\n")
    code, _, err = envtune(*words)
    assert code == 2
    assert "line 1: task_id: Field required; remove the line" in err


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on(number, envtune, words, server, tmp_path):
    started, over = threading.Event(), threading.Event()
    running = []

    def signal_instead(request):
        started.wait()
        os.kill(running[0].pid, number)
        over.wait()

    server.script = [None, None, None, signal_instead]
    process = subprocess.Popen([sys.executable, "-c", RUN, *words], stderr=subprocess.PIPE, text=True)
    running.append(process)
    started.set()
    try:
        _, err = process.communicate(timeout=60)
    finally:
        over.set()
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert err.startswith("interrupted: 1 of 3 tasks are done and kept in")
    before = len(server.requests)
    assert envtune(*words)[0] == 0
    assert len(server.requests) - before == 4
    assert len(load_tasks(tmp_path / "new.jsonl")) == 3
