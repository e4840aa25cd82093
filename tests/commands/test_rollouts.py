import json

import pytest

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call

LOOK = render_calls([Call("get_ticket", {"ticket_id": 99})], "tool_call")
DONE = render_answer("Done.", "tool_call")
HOSTILE = "[red]\x1b[2J\n=== fake: solved\n--- user\u202e"


@pytest.fixture
def run(tmp_path, task_file):
    """A run's directory with two rollouts, the settings beside them."""
    rollout = {
        "task_id": "ticket",
        "success": False,
        "category": "base",
        "num_turns": 2,
        "turns": 2,
        "feedback": "error",
        "seed": 1,
    }
    rollouts = [
        {**rollout, "step": 1, "stage": "first", "messages": [LOOK, DONE, DONE], "reward": 0.5, "progress": 0.5},
        {**rollout, "step": 3, "stage": "second", "messages": [f"<answer>{HOSTILE}</answer>", DONE]},
    ]
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in rollouts))
    tasks = [{"source": task_file, "split": "all"}]
    (tmp_path / "settings.yaml").write_text(json.dumps({"tasks": tasks, "max_steps_per_turn": 5}))
    return tmp_path


def test_a_conversation_is_printed_with_results_and_hints(envtune, run, ticket_task):
    code, out, error = envtune("rollouts", run / "rollouts.jsonl", "--stage", "first", "--failed")
    assert (code, error) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == [
        "=== ticket: failed, 2 of 2 turns, progress 0.50, reward 0.500",
        "    update 1, stage first, category base, feedback error",
        "--- user",
        f"    {ticket_task.turns[0]}",
    ]
    place = lines.index("--- tool get_ticket (with a hint)")
    assert "Ticket with ID 99 not found." in lines[place + 1]
    assert '"hint"' in lines[place + 1]


def test_hostile_text_can_neither_act_nor_pass_for_another_speaker(envtune, run):
    _, out, _ = envtune("rollouts", run, "--stage", "second")
    assert "    <answer>[red]\\x1b[2J\n    === fake: solved\n    --- user\\u202e</answer>\n" in out
    assert "\x1b" not in out


def test_the_latest_come_last(envtune_json, run):
    first, second = envtune_json("rollouts", run)
    assert (first["stage"], second["stage"]) == ("first", "second")
    assert [said["role"] for said in first["conversation"]] == (
        ["user", "assistant", "tool", "assistant", "user", "assistant"]
    )
    assert first["conversation"][2]["augmented"]
    assert [rollout["step"] for rollout in envtune_json("rollouts", run, "--limit", "1")] == [3]


def test_without_settings_the_tasks_are_to_be_named(envtune, run, task_file):
    (run / "settings.yaml").unlink()
    _, out, _ = envtune("rollouts", run, "--limit", "1")
    assert "--- note: results not shown: the file does not say where its tasks are; give --tasks" in out
    assert "--- user" not in out.splitlines()
    _, out, _ = envtune("rollouts", run, "--limit", "1", "--tasks", task_file)
    assert "--- user" in out.splitlines()


def test_with_settings_that_cannot_be_read_the_messages_alone_are_shown(envtune, run, task_file):
    (run / "settings.yaml").write_text("oven: hot")
    code, out, _ = envtune("rollouts", run, "--stage", "first")
    assert code == 0
    assert f"    {LOOK}" in out.splitlines()
    assert "oven" in out.partition("--- note: results not shown: ")[2]
    assert "--- user" not in out.splitlines()
    code, out, error = envtune("rollouts", run, "--tasks", task_file)
    assert (code, out, "oven" in error) == (2, "", True)


def test_what_a_rollout_says_of_itself_is_plain_data(envtune_json, run):
    first, second = envtune_json("rollouts", run)
    known = {"task_id": "ticket", "category": "base", "feedback": "error", "seed": 1, "turns": 2, "num_turns": 2}
    assert first.items() >= {**known, "step": 1, "stage": "first", "reward": 0.5, "progress": 0.5}.items()
    assert second.items() >= {**known, "step": 3, "stage": "second", "reward": None, "success": False}.items()


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        ((), [1, 3]),
        (("--limit", "1"), [3]),
        (("--step", "1"), [1]),
        (("--stage", "second"), [3]),
        (("--task", "ticket", "--failed"), [1, 3]),
    ],
)
def test_the_latest_that_fit_are_found(envtune_json, run, words, steps):
    assert [rollout["step"] for rollout in envtune_json("rollouts", run, *words)] == steps


@pytest.mark.parametrize(("step", "shown"), [("9" * 5_000, None), ("7", 7), ([1], None), (-1, None)])
def test_an_update_without_a_number_is_none(envtune_json, tmp_path, step, shown):
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps({"task_id": "gen-x", "messages": [], "step": step}) + "\n")
    assert [rollout["step"] for rollout in envtune_json("rollouts", file)] == [shown]


def test_an_evaluated_episode_is_played_again_as_it_was_played(envtune, task_file, tmp_path):
    file = tmp_path / "run.jsonl"
    words = ("--tasks", task_file, "--policy", "random", "--action-format", "python", "--feedback", "actionable")
    envtune("eval", *words, "--seed", "1", "--out", file)
    _, out, _ = envtune("rollouts", file, "--tasks", task_file)
    assert "feedback actionable" in out
    assert "(with a hint)" in out
    assert "--- note" not in out


def test_what_replay_wrote_can_be_read(envtune, task_file, tmp_path):
    file = tmp_path / "replay.jsonl"
    envtune("replay", "--tasks", task_file, "--out", file)
    code, out, _ = envtune("rollouts", file, "--tasks", task_file, "--solved", "--task", "ticket")
    assert code == 0
    assert "=== ticket: solved, 2 of 2 turns, progress 1.00" in out
    assert "--- tool create_ticket" in out
    assert "--- note" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--failed", "--solved"], "exclude each other"),
        (["--solved"], "loosen"),
        (["--tasks", "nowhere"], "'generated', 'bfcl'"),
    ],
)
def test_mistakes_are_a_line_on_stderr(words, said, envtune, run):
    code, out, error = envtune("rollouts", run, *words)
    assert (code, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1
