import json

import pytest

from envtune_gym.errors import ConfigurationError, DataError, EnvtuneError
from envtune_gym.tasks import save_jsonl
from envtune_gym.viewer.opening import open_run
from tests.viewer.runs import FAILED, SOLVED, TASK, WITHHELD, played, save, save_tasks


def rollout(**changes):
    """Return a line as a training run writes it."""
    line = {"task_id": "ticket", "category": "base", "domains": ["TicketAPI"], "seed": 3, "reward": 0.5, "step": 2}
    return {**line, "stage": "hinted", "feedback": "error", "num_turns": 2, "messages": FAILED, **changes}


def write(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_run_is_opened_as_it_was_recorded(tmp_path):
    episodes = [played(TASK, SOLVED, feedback="error"), played(TASK, FAILED, sample=1)]
    run = open_run(save(tmp_path / "run.jsonl", episodes))
    assert [one.episode for one in run.episodes] == episodes
    assert [one.key for one in run.episodes] == [("ticket", 0), ("ticket", 1)]
    assert run.name == "run.jsonl"


def test_tasks_are_found_where_the_option_says(tmp_path):
    file = save(tmp_path / "run.jsonl", [played(TASK, SOLVED)])
    run = open_run(file, str(save_tasks(tmp_path / "tasks.jsonl")))
    assert run.find_task("ticket", "custom") == TASK
    with pytest.raises(ConfigurationError, match="give --tasks"):
        open_run(file).find_task("ticket", "custom")


def test_tasks_are_found_where_the_record_says(tmp_path):
    from envtune_gym import load_tasks

    task = load_tasks("generated", split="test")[5]
    run = open_run(save(tmp_path / "run.jsonl", [played(task, [])]))
    assert run.find_task(task.id, f"generated {task.source_version}") == task
    assert run.find_task(task.id, "") == task
    with pytest.raises(DataError, match="played on generated 0"):
        run.find_task(task.id, "generated 0")


def test_a_training_run_is_opened_with_its_settings(tmp_path):
    save_tasks(tmp_path / "tasks.jsonl")
    settings = {
        "tasks": [{"source": str(tmp_path / "tasks.jsonl"), "split": "all"}],
        "max_steps_per_turn": 4,
        "model": "mine",
        "seed": 9,
    }
    (tmp_path / "settings.yaml").write_text(json.dumps(settings))
    write(tmp_path / "rollouts.jsonl", rollout(), rollout(messages=SOLVED, success=True), rollout(task_id="withheld"))
    run = open_run(tmp_path)
    first = run.episodes[0]
    assert run.name == tmp_path.name
    assert [one.key for one in run.episodes] == [("ticket", 0), ("ticket", 1), ("withheld", 0)]
    assert first.extras == {"step": "2", "stage": "hinted"}
    assert (first.episode.run.policy, first.episode.run.feedback, first.episode.run.seed) == ("mine", "error", 9)
    assert first.episode.run.max_steps_per_turn == 4
    assert run.find_task("withheld", "") == WITHHELD


def test_the_tests_of_a_trained_model_are_played_on_the_tasks_that_the_settings_name(tmp_path):
    save_jsonl([TASK], tmp_path / "train.jsonl")
    save_jsonl([WITHHELD], tmp_path / "test.jsonl")
    test = {"name": "test", "tasks": {"source": str(tmp_path / "test.jsonl"), "split": "all"}}
    settings = {"tasks": [{"source": str(tmp_path / "train.jsonl"), "split": "all"}], "evaluations": [test]}
    (tmp_path / "settings.yaml").write_text(json.dumps(settings))
    run = open_run(save(tmp_path / "evaluations.jsonl", [played(WITHHELD, [], options={"evaluation": "test"})]))
    assert run.find_task("withheld", "custom") == WITHHELD
    assert run.find_task("ticket", "custom") == TASK
    with pytest.raises(EnvtuneError, match="no task 'stranger'"):
        run.find_task("stranger", "custom")


def test_tasks_are_found_whichever_of_them_a_limit_leaves(tmp_path):
    source = {"source": str(save_tasks(tmp_path / "tasks.jsonl")), "split": "all", "limit": 1}
    (tmp_path / "settings.yaml").write_text(json.dumps({"tasks": [source]}))
    run = open_run(write(tmp_path / "rollouts.jsonl", rollout()))
    assert [run.find_task(task.id, "") for task in (TASK, WITHHELD)] == [TASK, WITHHELD]


def test_settings_of_something_else_beside_a_run_are_let_be(tmp_path):
    (tmp_path / "settings.yaml").write_text("oven: hot")
    assert open_run(save(tmp_path / "run.jsonl", [played(TASK, SOLVED)])).episodes
    with pytest.raises(ConfigurationError, match="oven"):
        open_run(write(tmp_path / "rollouts.jsonl", rollout()))


def test_where_settings_can_be_done_without_they_are_why_no_task_is_to_be_had(tmp_path):
    (tmp_path / "settings.yaml").write_text("oven: hot")
    run = open_run(write(tmp_path / "rollouts.jsonl", rollout()), needs_settings=False)
    with pytest.raises(ConfigurationError, match="oven"):
        run.find_task("ticket", "")
    seen = run.look_again(run.episodes[0])
    assert seen.playback is None
    assert "oven" in seen.notes[0]
    with pytest.raises(ConfigurationError, match="oven"):  # for the format would be anybody's guess
        open_run(tmp_path, str(save_tasks(tmp_path / "tasks.jsonl")), needs_settings=False)


def test_of_a_long_file_only_the_lines_chosen_are_looked_at(tmp_path):
    file = write(tmp_path / "rollouts.jsonl", {"messages": "no list"}, rollout(), rollout(step=7))
    run = open_run(file, choose=lambda lines: list(lines)[-1:])
    assert [(one.extras["step"], one.seed) for one in run.episodes] == [("7", 3)]
    with pytest.raises(ConfigurationError, match="no such episode; loosen"):
        open_run(file, choose=lambda lines: [])


def test_a_task_that_has_changed_is_said_to_have(tmp_path):
    changed = played(TASK, SOLVED).model_copy(update={"fingerprint": "0" * 16})
    run = open_run(save(tmp_path / "run.jsonl", [changed]), str(save_tasks(tmp_path / "tasks.jsonl")))
    assert run.look_again(run.episodes[0]).notes == ["the task has changed since it was played"]


def test_what_an_error_repeats_of_a_file_cannot_act_on_a_terminal(tmp_path):
    line = played(TASK, SOLVED).model_dump()
    file = write(tmp_path / "run.jsonl", {**line, "run": {**line["run"], "\x1b[2J\u202e": 1}})
    with pytest.raises(DataError, match=r"run\.\\x1b\[2J\\u202e"):
        open_run(file)


def test_rollouts_without_settings_are_opened_too(tmp_path):
    run = open_run(write(tmp_path / "rollouts.jsonl", rollout()), str(save_tasks(tmp_path / "tasks.jsonl")))
    assert run.find_task("ticket", "") == TASK
    assert run.episodes[0].episode.run.policy == "recorded"


def test_files_that_were_joined_keep_all_episodes(tmp_path):
    run = open_run(save(tmp_path / "run.jsonl", [played(TASK, SOLVED), played(TASK, FAILED), played(TASK, FAILED)]))
    assert [one.key for one in run.episodes] == [("ticket", 0), ("ticket", 1), ("ticket", 2)]


def test_a_line_that_was_cut_off_is_passed_over(tmp_path):
    file = save(tmp_path / "run.jsonl", [played(TASK, SOLVED)])
    file.write_text(file.read_text() + '{"task_id": "tick')
    assert len(open_run(file).episodes) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no episode yet"), ("{oops}\n", "line 1: not JSON"), ('{"task_id": 3, "messages": []}\n', "line 1: task_id")],
)
def test_what_cannot_be_opened_is_said(text, said, tmp_path):
    (tmp_path / "run.jsonl").write_text(text)
    with pytest.raises(EnvtuneError, match=said):
        open_run(tmp_path / "run.jsonl")
    with pytest.raises(DataError, match="there is no file"):
        open_run(tmp_path / "none.jsonl")
