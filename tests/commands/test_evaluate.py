import json
import random
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from evaluation.models.proxy import Proxy

RUN = "import sys; from envtune_gym.cli import main; sys.exit(main())"
# Solves what it can by luck, in a time that kills can land in.
AGENT = """
import asyncio
from random import Random
async def act(messages, tools, seed):
    await asyncio.sleep(0.01)
    drawn = Random(f"{seed} {len(messages)}").random()
    if drawn < 0.4:
        return "<answer>Done.</answer>"
    name = tools[int(drawn * 1000) % len(tools)]["function"]["name"]
    return '<tool_call>[{"name": "%s", "arguments": {}}]</tool_call>' % name
async def breaks(messages, tools):
    raise RuntimeError("out of order")
def prints(messages, tools):
    print("thinking")
    return "<answer>Done.</answer>"
def hangs(messages, tools):
    import pathlib, threading
    pathlib.Path("hanging").touch()
    threading.Event().wait()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current directory with a policy in it."""
    (tmp_path / "slow_agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("slow_agent", None)
    return tmp_path


def lines(path):
    """The episodes of a file, sorted and without times."""
    episodes = [json.loads(line) for line in path.read_text().splitlines()]
    for episode in episodes:
        del episode["seconds"]
    return sorted(episodes, key=lambda one: (one["task_id"], one["sample"]))


def test_the_oracle_solves_everything_and_the_report_says_under_what(envtune_json, task_file, folder):
    report = envtune_json("eval", "--tasks", task_file, "--policy", "oracle", "--out", "x.jsonl")
    assert report["accuracy"] == {"base": 1.0, "miss_func": 1.0, "average": 1.0}
    assert report["progress"] == {"base": 1.0, "miss_func": 1.0, "average": 1.0}
    assert (report["episodes"], report["feedback"], report["quarantined"], report["broken"]) == (2, "off", [], 0)
    assert report["settings"]["decoder"] == "correct"
    assert [episode["success"] for episode in lines(folder / "x.jsonl")] == [True, True]


@pytest.mark.bfcl
def test_official_tasks_are_decoded_officially_and_the_unfair_ones_named(envtune_json, folder):
    words = ["eval", "--tasks", "bfcl", "--categories", "base", "--policy", "oracle", "--out", "x.jsonl"]
    report = envtune_json(*words)
    assert report["accuracy"] == {"base": 1.0, "average": 1.0}
    assert report["settings"]["decoder"] == "official"
    assert "multi_turn_base_187" in report["quarantined"]


def test_tables_state_feedback_and_quarantine(envtune, task_file, folder):
    words = ["eval", "--tasks", task_file, "--policy", "random", "--feedback", "actionable", "--out", "x.jsonl"]
    code, out, err = envtune(*words)
    assert (code, err) == (0, "")
    assert "feedback actionable" in out
    assert "quarantined" in out
    assert "2 episodes in x.jsonl" in out


def test_samples_are_episodes_of_their_own(envtune_json, task_file, folder):
    report = envtune_json("eval", "--tasks", task_file, "--policy", "random", "--samples", "3", "--out", "x.jsonl")
    assert (report["episodes"], report["samples"]) == (6, 3)
    assert [episode["sample"] for episode in lines(folder / "x.jsonl")] == [0, 1, 2] * 2


def test_a_run_is_extended_by_tasks_and_samples_and_plays_nothing_twice(envtune_json, task_file, folder):
    words = ["eval", "--tasks", task_file, "--policy", "python:slow_agent:act", "--out", "x.jsonl", "--resume"]
    envtune_json(*words, "--limit", "1")
    first = (folder / "x.jsonl").read_text()
    report = envtune_json(*words, "--samples", "2")
    assert (folder / "x.jsonl").read_text().startswith(first)
    assert report["episodes"] == len(lines(folder / "x.jsonl")) == 4
    assert envtune_json(*words, "--limit", "1")["episodes"] == 1


def test_the_seed_decides_what_is_drawn(envtune_json, task_file, folder):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        words = ["--policy", "random", "--samples", "4", "--seed", seed, "--out", f"{name}.jsonl"]
        envtune_json("eval", "--tasks", task_file, *words)
    a, b, c = (lines(folder / f"{name}.jsonl") for name in "abc")
    assert a == b
    assert [one["messages"] for one in a] != [one["messages"] for one in c]


def test_a_run_played_again_from_its_file_ends_the_same(envtune_json, task_file, folder):
    words = ["eval", "--tasks", task_file, "--samples", "3"]
    envtune_json(*words, "--policy", "random", "--action-format", "python", "--out", "x.jsonl")
    envtune_json(*words, "--policy", "replay:x.jsonl", "--out", "again.jsonl")
    first, again = lines(folder / "x.jsonl"), lines(folder / "again.jsonl")
    for one, other in zip(first, again, strict=True):
        assert (one.pop("run")["policy"], other.pop("run")["policy"]) == ("random", "replay:x.jsonl")
        assert one == other


def test_a_replay_goes_by_the_rules_that_its_file_was_played_by(envtune_json, task_file, folder):
    rules = ["--max-steps-per-turn", "2", "--offer", "official"]
    words = ["eval", "--tasks", task_file, "--samples", "3"]
    envtune_json(*words, "--policy", "random", *rules, "--out", "x.jsonl")
    report = envtune_json(*words, "--policy", "replay:x.jsonl", "--out", "again.jsonl")
    assert (report["settings"]["max_steps_per_turn"], report["settings"]["offer"]) == (2, "official")
    first, again = lines(folder / "x.jsonl"), lines(folder / "again.jsonl")
    assert any(one["truncated_by"] for one in first)
    assert [{**one, "run": 0} for one in first] == [{**one, "run": 0} for one in again]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "nobody"], "--policy must be one of oracle"),
        (["--policy", "oracle", "--temperature", "0.5"], "--temperature means nothing to the policy oracle"),
        (["--policy", "local:x", "--base-url", "http://a/v1"], "--base-url means nothing to the policy local"),
        (["--policy", "oracle", "--hints", "automatic"], "--hints needs a --feedback other than off"),
        (["--policy", "oracle", "--retry-broken"], "--retry-broken needs --resume"),
        (["--policy", "oracle", "--mode", "native"], "--mode is for models"),
        (["--policy", "replay:nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (["--policy", "python:slow_agent:nothing"], "slow_agent has no callable named nothing"),
        (["--policy", "oracle", "--feedback", "error", "--hints", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_episode(envtune, task_file, folder, words, said):
    code, out, err = envtune("eval", "--tasks", task_file, "--out", "x.jsonl", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
    assert not (folder / "x.jsonl").exists() or not (folder / "x.jsonl").read_text()


@pytest.fixture
def asks(task_file, folder, monkeypatch):
    """The words of a run that asks the server at an address."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def asks(base_url):
        words = ["eval", "--tasks", task_file, "--policy", "server:m", "--out", "x.jsonl"]
        return [*words, "--base-url", base_url]

    return asks


def test_where_nobody_listens_no_episode_is_begun_and_the_same_command_can_be_given_again(envtune, asks, folder):
    code, out, err = envtune(*asks("http://127.0.0.1:1/v1"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no server takes connections at http://127.0.0.1:1 " in err
    assert "--base-url" in err
    with Proxy(lambda request: {"content": "Done."}) as proxy:
        assert envtune(*asks(proxy.url))[0] == 0
    assert [one["broken"] for one in lines(folder / "x.jsonl")] == ["", ""]


def test_a_server_that_listens_and_fails_is_asked_again(envtune_json, asks):
    with Proxy(lambda request: {"content": "Done."}, ["503", "reset", "503"]) as proxy:
        assert envtune_json(*asks(proxy.url))["broken"] == 0


def test_a_run_that_is_finished_is_reported_without_its_server(envtune, envtune_json, asks):
    with Proxy(lambda request: {"content": "Done."}) as proxy:
        assert envtune(*asks(proxy.url))[0] == 0
    report = envtune_json(*asks(proxy.url), "--resume")
    assert report["episodes"] == 2


def test_other_settings_are_refused_in_one_line(envtune, task_file, folder):
    words = ["eval", "--tasks", task_file, "--out", "x.jsonl"]
    assert envtune(*words, "--policy", "oracle")[0] == 0
    before = (folder / "x.jsonl").read_bytes()
    code, _, err = envtune(*words, "--policy", "random", "--resume")
    assert code == 2
    assert "policy 'oracle' there, 'random' here" in err
    code, _, err = envtune(*words, "--policy", "oracle")
    assert (code, err.count("\n")) == (2, 1)
    assert "add --resume" in err
    assert (folder / "x.jsonl").read_bytes() == before


def test_broken_episodes_are_failures_that_can_be_retried(envtune, envtune_json, task_file, folder):
    words = ["eval", "--tasks", task_file, "--policy", "python:slow_agent:act", "--out", "x.jsonl"]
    agent = folder / "slow_agent.py"
    agent.write_text(AGENT.replace("drawn < 0.4", "1 / 0"))
    code, out, _ = envtune(*words)
    assert code == 1
    assert "broken: ticket, sample 0: ZeroDivisionError: division by zero (slow_agent.py, line 7)" in out
    assert envtune(*words, "--resume")[0] == 1
    agent.write_text(AGENT)
    sys.modules.pop("slow_agent")
    report = envtune_json(*words, "--resume", "--retry-broken")
    assert report["broken"] == 0
    assert len(lines(folder / "x.jsonl")) == 2


def test_what_a_policy_prints_stays_out_of_the_report(envtune, task_file, folder):
    words = ["--policy", "python:slow_agent:prints", "--out", "x.jsonl", "--json"]
    code, out, err = envtune("eval", "--tasks", task_file, *words)
    assert (code, json.loads(out)["episodes"]) == (0, 2)
    assert set(err.split()) == {"thinking"}


def test_a_file_that_quotes_a_terminal_does_not_reach_it_in_errors(envtune, task_file, folder):
    assert envtune("eval", "--tasks", task_file, "--policy", "oracle", "--out", "x.jsonl")[0] == 0
    hostile = json.loads((folder / "x.jsonl").read_text().splitlines()[0])
    hostile["run"]["options"] = {"\x1b[2J": 1}
    (folder / "x.jsonl").write_text(json.dumps(hostile) + "\n")
    code, _, err = envtune("eval", "--tasks", task_file, "--policy", "oracle", "--out", "x.jsonl", "--resume")
    assert (code, err.count("\n")) == (2, 1)
    assert "\x1b" not in err
    assert r"\x1b[2J 1 there" in err


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_says_what_is_kept_and_how_to_go_on(envtune, envtune_json, task_file, folder):
    import resource

    words = ["eval", "--tasks", task_file, "--policy", "oracle", "--samples", "5", "--concurrency", "1"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, limits[1]))
    try:
        code, out, err = envtune(*words, "--out", "x.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    done = len(lines(folder / "x.jsonl"))
    assert 0 < done < 10
    assert (code, out) == (2, "")
    assert f"cannot write x.jsonl: File too large; {done} of 10 episodes are done" in err
    assert envtune_json(*words, "--out", "x.jsonl", "--resume")["episodes"] == 10


def test_a_run_that_only_breaks_stops_and_says_how_to_go_on(envtune, task_file, folder):
    words = ["--policy", "python:slow_agent:breaks", "--samples", "100", "--concurrency", "1"]
    code, _, err = envtune("eval", "--tasks", task_file, *words, "--out", "x.jsonl")
    assert code == 2
    assert "RuntimeError: out of order" in err
    assert "18 of 200 episodes are done and kept in x.jsonl" in err
    assert "--retry-broken" in err


@pytest.fixture
def command():
    """The command line of a run that takes a few seconds."""
    words = ["eval", "--tasks", "generated", "--split", "test", "--limit", "60", "--samples", "3", "--json"]
    return [sys.executable, "-c", RUN, *words, "--policy", "python:slow_agent:act", "--concurrency", "6", "--resume"]


def start(command, folder, out):
    return subprocess.Popen(
        [*command, "--out", out], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(reached, process):
    """Wait for something that a process does, or for its end; the processor is left to it."""
    while not reached():
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.001)
            return


def wait_for_growth(path, process, size):
    wait_until(lambda: path.exists() and path.stat().st_size >= size, process)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_whole_lines_and_says_how_to_go_on(folder, command, kind):
    process = start(command, folder, "x.jsonl")
    wait_for_growth(folder / "x.jsonl", process, 1)
    process.send_signal(kind)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    done = len(lines(folder / "x.jsonl"))
    assert 0 < done < 180
    said = f"interrupted: {done} of 180 episodes are done and kept in x.jsonl; the same command with --resume goes on"
    assert said in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_callable_that_hangs_does_not_outlive_an_interruption(folder, command):
    process = start([word.replace(":act", ":hangs") for word in command], folder, "x.jsonl")
    wait_until((folder / "hanging").exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "interrupted: 0 of 180" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_killed_at_twenty_random_moments_ends_as_one_that_was_not(folder, command):
    whole = start(command, folder, "whole.jsonl")
    whole.communicate(timeout=120)
    assert whole.returncode == 0
    size = (folder / "whole.jsonl").stat().st_size
    out, kills, rng = folder / "killed.jsonl", 0, random.Random(6)
    while kills < 20:
        process = start(command, folder, out.name)
        here = out.stat().st_size if out.exists() else 0
        # Somewhere in what is left, but leaving something to the kills to come.
        wait_for_growth(out, process, here + rng.randint(1, max(1, 2 * (size - here) // (21 - kills))))
        process.kill()
        process.communicate(timeout=60)
        if process.returncode == -signal.SIGKILL:
            kills += 1
        else:  # it was through before it could be killed: the next kills are for another run
            assert process.returncode == 0
            assert lines(out) == lines(folder / "whole.jsonl")
            out = folder / f"killed-{kills}.jsonl"
    last = start(command, folder, out.name)
    report, err = last.communicate(timeout=120)
    assert (last.returncode, err) == (0, "")
    assert json.loads(report)["episodes"] == 180
    assert lines(out) == lines(folder / "whole.jsonl")
