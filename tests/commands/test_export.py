import json

import pytest


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_conversations(envtune, task_file, tmp_path):
    path = tmp_path / "chat.jsonl"
    code, out, err = envtune("tasks", "export", path, "--tasks", task_file, "--format", "sft")
    assert (code, err) == (0, "")
    assert "2 conversations of 2 tasks written to" in out
    assert [set(row) for row in lines(path)] == [{"id", "category", "messages"}] * 2
    assert "<tool_call>" in lines(path)[0]["messages"][2]["content"]


def test_rows_for_trl_with_all_options(envtune, task_file, tmp_path):
    path = tmp_path / "rows.jsonl"
    words = ("--format", "trl", "--action-format", "openai", "--thoughts", "plan", "--tool-docs", "compact")
    code, out, _ = envtune("tasks", "export", path, "--tasks", task_file, *words)
    assert code == 0
    assert "2 conversations of 2 tasks" in out
    assert "in 3 lines" in out
    assert set(lines(path)[0]) == {"id", "category", "prompt", "completion", "tools"}
    assert "I use create_ticket." in str(lines(path)[0]["completion"])


def test_documentation_is_as_long_as_asked_for(envtune, task_file, tmp_path):
    lengths = []
    for style in ("full", "compact"):
        words = ("--tasks", task_file, "--format", "sft", "--tool-docs", style)
        assert envtune("tasks", "export", tmp_path / style, *words)[0] == 0
        lengths.append((tmp_path / style).stat().st_size)
    assert lengths[1] < lengths[0] / 2


def test_what_is_left_out_is_said(envtune, tmp_path, ticket_task):
    tasks = tmp_path / "tasks.jsonl"
    truth = [["mean(numbers=[add(a=1, b=2)])"], []]
    nested = {**ticket_task.model_dump(mode="json"), "id": "nested", "ground_truth": truth}
    tasks.write_text(f"{ticket_task.model_dump_json()}\n{json.dumps(nested)}\n")
    code, out, _ = envtune("tasks", "export", tmp_path / "chat", "--tasks", tasks, "--format", "sft")
    assert code == 0
    assert "1 conversations of 2 tasks" in out
    assert "left out: 1, such as task nested, turn 0" in out


@pytest.mark.parametrize("option", [("--action-format", "python"), ("--tool-docs", "full"), ("--thoughts", "none")])
def test_options_of_conversations_are_refused_elsewhere(envtune, task_file, tmp_path, option):
    code, _, err = envtune("tasks", "export", tmp_path / "x", "--tasks", task_file, *option)
    assert code == 2
    assert f"{option[0]} applies to --format sft and trl only" in err
    assert list(tmp_path.glob("x*")) == []
