import json

import pytest

from envtune_gym.errors import DataError
from envtune_gym.evaluation.official_files.reading import read_results
from envtune_gym.evaluation.official_files.writing import export_run
from envtune_gym.evaluation.playback import play_again

pytestmark = pytest.mark.bfcl

TASK = "multi_turn_base_0"
NAME = "BFCL_v4_multi_turn_base_result.json"


@pytest.fixture
def results(tmp_path):
    """Write a result file of a model; read it again."""

    def write(*lines, name=NAME):
        folder = tmp_path / "result/some-model/multi_turn"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return tmp_path / "result"

    return write


@pytest.mark.parametrize("action_format", ["python", "openai"])
def test_what_was_written_is_read_with_the_same_verdict(played, find, tmp_path, action_format):
    runs = [played(name, action_format) for name in (TASK, "multi_turn_miss_param_8", "multi_turn_long_context_31")]
    runs.append(played("multi_turn_base_1", action_format, runs[0].messages))  # of another task: it fails
    export_run(runs, tmp_path, "some-model", find)
    read = {episode.task_id: episode for episode in read_results(tmp_path)["some-model"]}
    for episode in runs:
        found = read[episode.task_id]
        told = ("success", "error_type", "turns", "turns_passed", "calls", "errors", "progress", "num_steps")
        assert [getattr(found, name) for name in told] == [getattr(episode, name) for name in told]
        assert found.run.action_format == action_format
        again = play_again(find(found.task_id, ""), found.messages, found.run)
        assert again.success == episode.success


def test_steps_that_officially_do_not_count_are_dropped(results, find):
    truth = find(TASK, "").ground_truth
    turns = [[None, "I see to it.", *[f"[{call}]" for call in calls]] for calls in truth]
    [episode] = read_results(results({"id": TASK, "result": turns}))["some-model"]
    assert (episode.success, episode.turns) == (False, len(truth))  # arguments by position are dropped officially
    solution = [
        ["Wait.", "[cd(folder='document'), mkdir(dir_name='temp'), mv(source='final_report.pdf', destination='temp')]"]
    ]
    turns = [*solution, *turns[1:]]
    [episode] = read_results(results({"id": TASK, "result": turns}))["some-model"]
    assert play_again(find(TASK, ""), episode.messages, episode.run).turns[0].result.passed


def test_a_native_step_that_does_not_decode(results):
    steps = [[{"ls": "{}"}, {"cd": "{"}], {"pwd": {}}, [5], 7, "Done."]
    [episode] = read_results(results({"id": TASK, "result": [steps]}))["some-model"]
    assert (episode.calls, episode.num_steps, episode.error_type) == (1, 5, "multi_turn:force_terminated")


def test_no_replies_are_an_inference_error(results):
    path = results({"id": TASK, "result": "Error during inference: timed out\nafter 60 s", "traceback": "..."})
    [episode] = read_results(path)["some-model"]
    assert (episode.success, episode.error_type) == (False, "multi_turn:inference_error")
    assert episode.broken == "Error during inference: timed out after 60 s"


def test_too_many_steps_are_cut_off(results):
    [episode] = read_results(results({"id": TASK, "result": [["[ls()]"] * 21]}))["some-model"]
    assert (episode.truncated_by, episode.error_type) == ("env", "multi_turn:force_terminated")


def test_models_are_told_apart(results, tmp_path):
    path = results({"id": TASK, "result": []})
    other = path / "other" / NAME
    other.parent.mkdir()
    other.write_text(json.dumps({"id": "multi_turn_base_1", "result": []}) + "\n")
    assert {model: len(episodes) for model, episodes in read_results(path).items()} == {"other": 1, "some-model": 1}
    assert list(read_results(other)) == ["other"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"id": TASK}, "'id' and 'result'"),
        ({"id": 5, "result": []}, "'id' and 'result'"),
        ({"id": "multi_turn_base_900", "result": []}, "no task 'multi_turn_base_900'"),
        ({"id": TASK, "result": ["ls()"]}, "a list \\(turns\\) of lists \\(steps\\)"),
    ],
)
def test_broken_lines_are_named(results, line, reason):
    with pytest.raises(DataError, match=f"line 2.*{reason}"):
        read_results(results({"id": "multi_turn_base_1", "result": []}, line))


def test_a_task_twice_is_refused(results):
    with pytest.raises(DataError, match="twice"):
        read_results(results({"id": TASK, "result": []}, {"id": TASK, "result": []}))


def test_files_of_other_versions_and_folders_without_any_are_refused(results, tmp_path):
    with pytest.raises(DataError, match="no official result file"):
        read_results(tmp_path)
    with pytest.raises(DataError, match="version 3"):
        read_results(results({"id": TASK, "result": []}, name=NAME.replace("v4", "v3")))
