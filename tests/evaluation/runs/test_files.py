import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.runs.episode import new_record
from envtune_gym.evaluation.runs.files import RunFile
from envtune_gym.evaluation.runs.records import RunSettings


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "x.jsonl"


@pytest.fixture
def full(path, run, ticket_task):
    """A file of four samples, one of them broken."""
    file = RunFile(path, run)
    for sample in range(4):
        record = new_record(ticket_task, sample, run)
        record.messages, record.broken = ["<answer>é\u2028\r</answer>"] * sample, "no answer" if sample == 2 else ""
        file.add(record)
    file.close()
    return path


def samples(path):
    return [json.loads(line)["sample"] for line in path.read_bytes().split(b"\n")[:-1]]


def test_an_episode_is_in_the_file_as_soon_as_it_is_added(path, run, ticket_task):
    file = RunFile(path, run)
    for sample in range(3):
        file.add(new_record(ticket_task, sample, run))
        assert samples(path) == list(range(sample + 1))
    file.close()


def test_a_run_goes_on_with_what_is_there(full, run, ticket_task, withheld_task):
    file = RunFile(full, run, resume=True)
    assert [file.episode(ticket_task, sample) is not None for sample in range(5)] == [True] * 4 + [False]
    assert file.episode(withheld_task, 0) is None
    assert len(file) == 4
    file.close()


def test_a_file_with_episodes_is_not_taken_over_by_accident(full, run):
    before = full.read_bytes()
    with pytest.raises(ConfigurationError, match=r"x\.jsonl exists already: add --resume"):
        RunFile(full, run)
    assert full.read_bytes() == before


def test_other_settings_are_refused_and_named(full):
    other = RunSettings(policy="test", feedback="error", seed=3, options={"temperature": 0.5})
    with pytest.raises(ConfigurationError) as caught:
        RunFile(full, other, resume=True)
    message = str(caught.value)
    assert "feedback 'off' there, 'error' here" in message
    assert "seed 0 there, 3 here" in message
    assert "temperature None there, 0.5 here" in message
    assert "policy" not in message
    assert "\n" not in message


def test_a_task_that_has_changed_is_refused(full, run, ticket_task):
    file = RunFile(full, run, resume=True)
    with pytest.raises(ConfigurationError, match="task 'ticket' has changed"):
        file.episode(ticket_task.model_copy(update={"turns": ("Other.", "Words.")}), 0)
    file.close()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000))
def test_a_file_cut_off_anywhere_loses_the_last_line_at_most(full, run, ticket_task, cut):
    content = full.read_bytes()
    torn = full.with_name("torn.jsonl")
    cut %= len(content) + 1
    torn.write_bytes(content[:cut])
    file = RunFile(torn, run, resume=True)
    whole = content[:cut].count(b"\n")
    assert len(file) == whole
    for sample in range(4):
        if file.episode(ticket_task, sample) is None:
            record = new_record(ticket_task, sample, run)
            record.messages, record.broken = ["<answer>é\u2028\r</answer>"] * sample, "no answer" if sample == 2 else ""
            file.add(record)
    file.close()
    assert torn.read_bytes() == content


def test_broken_episodes_are_taken_out_to_be_played_again(full, run, ticket_task):
    file = RunFile(full, run, resume=True, retry_broken=True)
    assert file.episode(ticket_task, 2) is None
    assert samples(full) == [0, 1, 3]
    file.add(new_record(ticket_task, 2, run))
    file.close()
    assert samples(full) == [0, 1, 3, 2]
    assert [one.name for one in full.parent.iterdir()] == ["x.jsonl"]


@pytest.mark.parametrize(
    "content", ["my notes\nend without a line feed", "notes", '{"task_id": 3}\n{"task', "[1]\nrest", "\n", "{}\n"]
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(path, run, content):
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(DataError, match=r"x\.jsonl"):
        RunFile(path, run, resume=True)
    assert path.read_text() == content


def test_an_episode_that_is_there_twice_is_a_fault(full, run):
    full.write_bytes(full.read_bytes() + full.read_bytes().split(b"\n")[0] + b"\n")
    with pytest.raises(DataError, match="sample 0 of task 'ticket' twice"):
        RunFile(full, run, resume=True)


def test_two_runs_do_not_write_one_file_at_a_time(full, run):
    file = RunFile(full, run, resume=True)
    with pytest.raises(DataError, match=r"x\.jsonl is being written by another run"):
        RunFile(full, run, resume=True)
    file.close()
    RunFile(full, run, resume=True).close()


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["/dev/full", "/dev/zero", "."])
def test_what_is_no_ordinary_file_is_refused(tmp_path, run, name, resume):
    with pytest.raises(DataError, match="no ordinary file"):
        RunFile(tmp_path / name, run, resume=resume)


def test_where_the_disk_is_full_the_lines_before_stay_whole(full, run, ticket_task):
    resource = pytest.importorskip("resource")
    file = RunFile(full, run, resume=True)
    before = full.read_bytes()
    record = new_record(ticket_task, 4, run)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        with pytest.raises(DataError, match=r"cannot write .*x\.jsonl: File too large"):
            file.add(record)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert full.read_bytes() == before
    file.add(record)
    file.close()
    assert samples(full) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "fault",
    [
        {"sample": -1},
        {"progress": float("nan")},
        {"progress": 2.0},
        {"reward": float("inf")},
        {"seconds": -float("inf")},
    ],
)
def test_figures_that_no_run_has_are_refused(full, run, fault):
    line = json.loads(full.read_text(encoding="utf-8").split("\n")[0])
    full.write_text(json.dumps(line | fault) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"line 1: {next(iter(fault))}: "):
        RunFile(full, run, resume=True)
