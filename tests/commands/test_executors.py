"""`envtune eval` in a real Ray cluster: the same file, whatever dies."""

import json
import subprocess
import sys

import pytest
from integrations.scripted_model import MODEL, oracle_script, scripted_model

from envtune_gym import load_tasks

RUN = "import sys; from envtune_gym.cli import main; sys.exit(main())"
GENERATED = ("eval", "--tasks", "generated", "--split", "test", "--limit", "10")

AGENT = """
import os, signal
from pathlib import Path
from random import Random
def act(messages, tools, seed):
    drawn = Random(f"{seed} {len(messages)}").random()
    if len(messages) > 4 and Path("deadly").exists():
        Path("deadly").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if drawn < 0.4:
        return "<answer>Done.</answer>"
    name = tools[int(drawn * 1000) % len(tools)]["function"]["name"]
    return '<tool_call>[{"name": "%s", "arguments": {}}]</tool_call>' % name
def prints(messages, tools):
    print("thinking")
    return "<answer>Done.</answer>"
def fails(messages, tools):
    return 1 / 0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The current directory, with a policy in it; Ray's workers look for it where they were started."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "ray_agent.py").write_text(AGENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        yield folder
    sys.modules.pop("ray_agent", None)


@pytest.fixture
def cluster(request, folder):
    pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')
    request.getfixturevalue("ray_cluster")


def lines(path):
    """The episodes of a file, sorted and without times."""
    episodes = [json.loads(line) for line in path.read_text().splitlines()]
    for episode in episodes:
        del episode["seconds"]
    return sorted(episodes, key=lambda one: (one["task_id"], one["sample"]))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("policy", ["oracle", "random"])
def test_the_file_and_the_report_are_those_of_one_process(envtune_json, folder, tmp_path, policy):
    words = [*GENERATED, "--samples", "2", "--policy", policy, "--feedback", "actionable", "--concurrency", "4"]
    here = envtune_json(*words, "--out", tmp_path / "x.jsonl")
    there = envtune_json(*words, "--out", tmp_path / "y.jsonl", "--engine", "ray")
    assert lines(tmp_path / "y.jsonl") == lines(tmp_path / "x.jsonl")
    assert there | {"file": ""} == here | {"file": ""}


@pytest.mark.usefixtures("cluster")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_worker_that_is_killed_in_the_middle_leaves_no_trace(envtune, envtune_json, folder, tmp_path):
    words = [*GENERATED, "--policy", "python:ray_agent:act", "--samples", "2", "--concurrency", "4"]
    envtune_json(*words, "--out", tmp_path / "x.jsonl")
    (folder / "deadly").touch()
    code, out, _ = envtune(
        *words, "--out", tmp_path / "y.jsonl", "--engine", "ray", "--json"
    )  # Ray tells stderr of the death
    assert not (folder / "deadly").exists()
    assert (code, json.loads(out)["episodes"]) == (0, 20)
    assert lines(tmp_path / "y.jsonl") == lines(tmp_path / "x.jsonl")


@pytest.mark.usefixtures("cluster")
def test_a_run_goes_on_in_a_cluster_and_back(envtune_json, folder, tmp_path):
    words = [*GENERATED, "--policy", "random", "--out", tmp_path / "x.jsonl", "--resume"]
    envtune_json(*words, "--limit", "2")
    first = (tmp_path / "x.jsonl").read_text()
    envtune_json(*words, "--limit", "5", "--engine", "ray")
    second = (tmp_path / "x.jsonl").read_text()
    assert envtune_json(*words)["episodes"] == 10
    assert (tmp_path / "x.jsonl").read_text().startswith(second)
    assert second.startswith(first)


@pytest.mark.usefixtures("cluster")
def test_a_replay_takes_its_data_along(envtune_json, folder, tmp_path):
    envtune_json(*GENERATED, "--policy", "random", "--out", tmp_path / "x.jsonl")
    words = ["eval", "--tasks", "generated", "--policy", f"replay:{tmp_path / 'x.jsonl'}", "--engine", "ray"]
    envtune_json(*words, "--out", tmp_path / "y.jsonl")
    one, other = ([episode["messages"] for episode in lines(tmp_path / name)] for name in ("x.jsonl", "y.jsonl"))
    assert one == other


@pytest.mark.usefixtures("cluster")
def test_a_server_is_asked_from_the_workers(envtune_json, folder, tmp_path):
    tasks = load_tasks("generated", split="test")[:10]
    with scripted_model(oracle_script(tasks)) as (url, seen):
        words = ["--policy", f"server:{MODEL}", "--base-url", url, "--action-format", "tool_call"]
        report = envtune_json(
            *GENERATED, *words, "--engine", "ray", "--concurrency", "4", "--out", tmp_path / "x.jsonl"
        )
    assert set(report["accuracy"].values()) == {1.0}
    assert len(seen) == sum(episode["num_steps"] for episode in lines(tmp_path / "x.jsonl"))


@pytest.mark.usefixtures("cluster")
def test_what_breaks_in_a_worker_is_recorded_as_here(envtune, folder, tmp_path):
    words = [*GENERATED, "--policy", "python:ray_agent:fails", "--concurrency", "2"]
    ends = [
        envtune(*words, "--out", tmp_path / "x.jsonl"),
        envtune(*words, "--out", tmp_path / "y.jsonl", "--engine", "ray"),
    ]
    assert [end[0] for end in ends] == [1, 1]
    assert ends[1][1].replace("y.jsonl", "x.jsonl") == ends[0][1]
    assert "ZeroDivisionError: division by zero (ray_agent.py, line 18)" in ends[1][1]
    assert lines(tmp_path / "y.jsonl") == lines(tmp_path / "x.jsonl")


def command(*words):
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_a_local_cluster_is_started_and_stdout_is_for_the_report(folder, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    words = ["--policy", "python:ray_agent:prints", "--concurrency", "2", "--engine", "ray", "--json"]
    code, out, _ = command(*GENERATED, *words, "--out", tmp_path / "x.jsonl")
    assert (code, json.loads(out)["episodes"]) == (0, 10)  # what the policy prints is not among it


def test_a_cluster_that_is_not_there_is_said_at_once(folder, tmp_path):
    pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')
    words = ["--policy", "oracle", "--engine", "ray", "--ray-address", "127.0.0.1:1", "--out", tmp_path / "x.jsonl"]
    code, out, err = command(*GENERATED, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: cannot join the Ray cluster '127.0.0.1:1': ")


def test_what_cannot_be_played_in_a_cluster_is_refused(envtune, folder, tmp_path, monkeypatch):
    for words, said in (
        (["--policy", "local:smollm2-135m", "--engine", "ray"], "use --policy server:MODEL"),
        (["--policy", "oracle", "--ray-address", "auto"], "--ray-address needs --engine ray"),
    ):
        code, out, err = envtune(*GENERATED, *words, "--out", tmp_path / "x.jsonl")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "envtune_gym.integrations.ray", raising=False)
    _, _, err = envtune(*GENERATED, "--policy", "oracle", "--engine", "ray", "--out", tmp_path / "x.jsonl")
    assert err == "error: --engine ray needs Ray: pip install 'envtune-gym[ray]'\n"
