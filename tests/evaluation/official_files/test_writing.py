import json

import pytest

from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.official_files.writing import export_run, official_result

pytestmark = pytest.mark.bfcl

TASK = "multi_turn_base_0"


def entries(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_layout_and_form_of_the_prompting_mode(played, find, tmp_path):
    runs = [played(name, "python") for name in ("multi_turn_base_10", TASK, "multi_turn_miss_func_3")]
    exported = export_run(runs, tmp_path / "result", "org/some-model", find)
    base = tmp_path / "result/org_some-model/multi_turn/BFCL_v4_multi_turn_base_result.json"
    assert exported.files[base] == 2
    assert exported.differing == []
    first, second = entries(base)
    assert (first["id"], second["id"]) == (TASK, "multi_turn_base_10")  # by number, as officially
    assert first["result"][0][-1] == "Done."
    assert all(isinstance(step, str) for steps in first["result"] for step in steps)
    assert len(first["result"]) == find(TASK, "").num_turns


@pytest.mark.parametrize(("action_format", "decoder"), [("openai", "official"), ("tool_call", "correct")])
def test_form_of_the_native_mode(played, find, action_format, decoder):
    episode = played(TASK, action_format, decoder=decoder)
    result = official_result(episode, find(TASK, ""))
    calls, answer = result[0]
    assert answer == "Done."
    [(name, arguments)] = calls[0].items()
    assert name == "cd"
    assert json.loads(arguments) == {"folder": "document"}


def test_replies_stand_as_they_were(played, find):
    odd = ["```\n[ls()]\n```", "[ls(a=+5)", "Done."]
    assert official_result(played(TASK, "python", odd), find(TASK, ""))[0] == odd


def test_what_was_read_otherwise_is_written_anew(played, find):
    messages = ["<think>Look.</think>```python\n[cd('document')]\n```", "[ls()", "[]"]
    first, second = official_result(played(TASK, "python", messages, decoder="correct"), find(TASK, ""))
    assert first == ["[cd(folder='document')]", ""]  # the official decoder would complete the list and run it
    assert second == [""]


def test_an_unfinished_turn_is_left_out(played, find):
    result = official_result(played(TASK, "python", ["[ls()]", "Done.", "[ls()]"]), find(TASK, ""))
    assert result == [["[ls()]", "Done."]]


def test_a_turn_that_hit_the_limit_is_finished(played, find):
    result = official_result(played(TASK, "python", ["[ls()]"] * 30), find(TASK, ""))
    assert [len(steps) for steps in result] == [21]


def test_verdicts_that_will_differ_are_named(played, find, tmp_path):
    solved = played(TASK, "python").model_copy(update={"success": False})
    assert export_run([solved], tmp_path, "m", find).differing == [TASK]


def test_tokens_are_written_where_they_are_known(played, find, tmp_path):
    episode = played(TASK, "openai").model_copy(update={"prompt_tokens": 12, "completion_tokens": 3})
    [file] = export_run([episode], tmp_path, "m", find).files
    [entry] = entries(file)
    assert (entry["input_token_count"], entry["output_token_count"]) == (12, 3)


def test_what_cannot_be_exported_is_refused(played, find, tmp_path):
    episode = played(TASK, "python")
    with pytest.raises(ConfigurationError, match="sample 1"):
        export_run([episode], tmp_path, "m", find, sample=1)
    with pytest.raises(ConfigurationError, match="official task"):
        export_run([episode.model_copy(update={"source": "generated 2"})], tmp_path, "m", find)
    for name in ("", "..", "a\nb"):
        with pytest.raises(ConfigurationError, match="name of a model"):
            export_run([episode], tmp_path, name, find)
