"""The tasks under `verifiers`' own command: its loaders, its agents, its interception and its traces."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers.v1", reason='needs verifiers, in an environment of its own: pip install ".[verifiers]"')

import gymnasium as gym
from verifiers.v1.cli.eval.main import main as vf_eval
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

from envtune_gym import TaskSet, load_tasks
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import save_jsonl
from envtune_gym.wrappers import AugmentedFeedbackWrapper

from .page_example import run_example
from .scripted_model import MODEL, oracle_script, scripted_model

COMMAND = Path(sys.executable).with_name("vf-eval")
ANSWER = "<answer>Done.</answer>"


@pytest.fixture
def tasks(ticket_task, withheld_task):
    """Two tasks with openings by which the scripted model tells them apart."""
    opening = f"Hello. {withheld_task.turns[0]}"
    return [ticket_task, withheld_task.model_copy(update={"turns": (opening, *withheld_task.turns[1:])})]


@pytest.fixture
def evaluate(tmp_path, tasks):
    """Evaluate the tasks with `vf-eval` against scripts; return the episodes, and the conversations that were sent."""
    save_jsonl(tasks, tmp_path / "tasks.jsonl")

    def evaluate(scripts, *words, run=vf_eval):
        with scripted_model(scripts) as (url, seen):
            run(
                [
                    *("envtune-verifiers", "--env.taskset.tasks", str(tmp_path / "tasks.jsonl"), "-m", MODEL),
                    *("--client.base-url", url, "--client.api-key-var", "NO_KEY", "--no-push", "--no-rich"),
                    *("--output-dir", str(tmp_path / "runs"), *words),
                ]
            )
        [log] = (tmp_path / "runs").rglob("traces.jsonl")
        episodes = [json.loads(line) for line in log.read_text().splitlines()]
        return {episode["task"]["data"]["id"]: episode for episode in episodes}, seen

    return evaluate


def outcome(episode):
    """The reward and the metrics of an episode's only trace."""
    assert episode["ok"], episode["errors"]
    [trace] = episode["traces"]
    return trace["rewards"]["envtune"]["score"], trace["metrics"]


def test_the_command_pays_the_oracle_in_full(evaluate, tasks, tmp_path):
    def run(words):
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr

    episodes, seen = evaluate(oracle_script(tasks), run=run)
    assert set(episodes) == {"ticket", "withheld"}
    for episode in episodes.values():
        assert outcome(episode) == (1.0, {"success": 1.0, "progress": 1.0})
    assert len(seen) == sum(map(len, oracle_script(tasks).values()))


@pytest.mark.parametrize("reward", ["verdict", "progress"])
def test_the_model_reads_what_the_environment_says(evaluate, tasks, reward):
    scripts = oracle_script(tasks, "python")
    episodes, seen = evaluate(scripts, "--env.action-format", "python", "--env.reward", reward)
    assert {outcome(episode)[0] for episode in episodes.values()} == {1.0}
    for task in tasks:
        env = gym.make(MULTI_DOMAIN_ID, tasks=TaskSet([task]), action_format="python")
        _, info = env.reset()
        expected = [(message["role"], message["content"]) for message in info["messages"]]
        for text in scripts[task.turns[0]][:-1]:
            observation, *_ = env.step(text)
            expected += [("assistant", text), ("user", observation)]
        longest = max((sent for sent in seen if sent[1]["content"] == task.turns[0]), key=len)
        assert [(message["role"], message["content"]) for message in longest] == expected


def test_a_part_of_the_turns_earns_a_part_of_the_progress(evaluate, tasks):
    scripts = oracle_script(tasks)
    ticket = tasks[0].turns[0]
    scripts[ticket] = [*scripts[ticket][:2], ANSWER]
    episodes, _ = evaluate(scripts, "--env.reward", "progress")
    assert outcome(episodes["ticket"]) == (0.5, {"success": 0.0, "progress": 0.5})
    assert outcome(episodes["withheld"])[0] == 1.0


def test_a_limit_of_the_framework_ends_an_episode_unsolved(evaluate, tasks):
    episodes, seen = evaluate(oracle_script(tasks), "--env.player.max-turns", "2", "--env.reward", "progress")
    assert outcome(episodes["ticket"]) == (0.5, {"success": 0.0, "progress": 0.5})
    assert len(seen) == 2 * len(tasks)


def test_hints_reach_the_model(evaluate, tasks):
    wrong = '<tool_call>[{"name": "create_ticket", "arguments": {"titel": "Lamp"}}]</tool_call>'
    env = AugmentedFeedbackWrapper(gym.make(MULTI_DOMAIN_ID, tasks=TaskSet(tasks)))
    env.reset(options={"task_id": "ticket"})
    hint, *_ = env.step(wrong)
    scripts = {task.turns[0]: [wrong, *[ANSWER] * task.num_turns] for task in tasks}
    _, seen = evaluate(scripts, "--env.feedback", "actionable", "--select.limit", "1")
    assert seen[1][3] == {"role": "user", "content": hint}


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "<tool_call>" + "[" * 5_000,
        r'<tool_call>[{"name": "create_ticket", "arguments": {"title": "\ud800"}}]</tool_call>',
        '<tool_call>[{"name": "__init__", "arguments": {}}, {"name": "eval", "arguments": {"x": "1/0"}}]</tool_call>',
        '<tool_call>[{"name": "mean", "arguments": {"numbers": [1e999, -1e999]}}]</tool_call>',
    ],
    ids=["empty", "brackets", "surrogate", "dunder", "infinity"],
)
def test_whatever_a_model_writes_the_episode_comes_to_an_end(evaluate, tasks, hostile):
    scripts = {task.turns[0]: [hostile, *[ANSWER] * task.num_turns] for task in tasks}
    episodes, _ = evaluate(scripts)
    assert {outcome(episode)[0] for episode in episodes.values()} == {0.0}


def test_an_endless_source_asks_for_a_bound():
    env = load_environment(resolve_env_config({"taskset": {"id": "envtune-verifiers", "difficulty": [1]}}))
    assert not env.taskset.bounded
    first, second = env.taskset.take(2)
    assert first.key == first.data.id != second.key


def test_the_example_of_the_page_runs(monkeypatch, capsys):
    tasks = load_tasks("generated", split="test", difficulty=[1])[:4]
    with scripted_model(oracle_script(tasks)) as (url, _):
        monkeypatch.setenv("MODEL_URL", url)
        run_example("verifiers")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[-4:]] == [[task.id, "1.0"] for task in tasks]
