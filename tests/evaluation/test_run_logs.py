import json

import pytest
from training_logs import write_run

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.run_logs import group_runs, read_run


@pytest.fixture
def groups(tmp_path):
    """Write runs, each with its options, under their names; return the names and members of their groups."""

    def groups(**runs):
        read = [read_run(write_run(tmp_path / name, **options)) for name, options in runs.items()]
        return {group.name: [run.path.name for run in group.runs] for group in group_runs(read)}

    return groups


def test_the_updates_of_a_batch_count_as_one(tmp_path):
    run = read_run(write_run(tmp_path / "run", accuracies=[0.1, 0.3]))
    assert [(batch.number, batch.stage) for batch in run.batches] == [(1, "a"), (2, "a"), (3, "b"), (4, "b")]
    first = run.batches[0].figures
    assert (first["reward"], first["seconds/generation"]) == (0.1, 4.0)
    assert first["seconds/loss"] == 5.0
    assert first["grad_norm"] == pytest.approx(0.3)
    assert first["clip_ratio/region_mean"] == 0.01
    assert (run.updates, run.skipped, run.rollouts) == (8, 1, 24)
    assert [(one.number, one.figures["accuracy"]) for one in run.validations] == [(1, 0.1), (2, 0.3)]


@pytest.mark.parametrize("torn", ['{"step": 9, "rew', '{"step": 9', '{"step": 9, "stage": "\xe4'])
def test_a_run_that_is_still_written_can_be_read(torn, tmp_path):
    write_run(tmp_path)
    with (tmp_path / "updates.jsonl").open("ab") as stream:
        stream.write(torn.encode()[:-1])
    assert len(read_run(tmp_path).batches) == 4


def test_a_batch_whose_updates_are_not_done_is_there(tmp_path):
    write_run(tmp_path)
    lines = (tmp_path / "updates.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "updates.jsonl").write_text("".join(lines[:-1]))
    assert read_run(tmp_path).batches[-1].figures["seconds/loss"] == 2.0


@pytest.mark.parametrize("broken", ["null", "NaN"])
def test_what_was_not_finite_is_not_there(broken, tmp_path):
    write_run(tmp_path)
    text = (tmp_path / "updates.jsonl").read_text()
    (tmp_path / "updates.jsonl").write_text(text.replace('"grad_norm": 0.2', f'"grad_norm": {broken}'))
    assert read_run(tmp_path).batches[0].figures["grad_norm"] == 0.4


def test_broken_logs_are_named(tmp_path):
    with pytest.raises(DataError, match=r"no updates\.jsonl"):
        read_run(tmp_path)
    (tmp_path / "updates.jsonl").write_text('{"step": 1')
    with pytest.raises(DataError, match="no update yet"):
        read_run(tmp_path)
    (tmp_path / "updates.jsonl").write_text('{"step": 1}\nhello\n{"step": 2}\n')
    with pytest.raises(DataError, match="line 2: not JSON"):
        read_run(tmp_path)


def test_runs_that_differ_in_their_seed_alone_belong_together(groups):
    assert groups(
        **{"direct-seed1": {"seed": 1}, "tuned-1": {"more": "beta: 0.1"}},
        **{"direct-seed2": {"seed": 2}, "tuned-2": {"more": "beta: 0.1", "seed": 2}},
    ) == {"direct": ["direct-seed1", "direct-seed2"], "tuned": ["tuned-1", "tuned-2"]}


def test_runs_in_other_numbers_of_processes_are_of_another_kind(groups, tmp_path):
    found = groups(
        a={"seed": 1, "processes": [1] * 4}, b={"seed": 2, "processes": [2] * 4}, c={"seed": 3, "processes": [2] * 4},
        d={"seed": 4, "processes": [2, 2, 1, 1]}, e={"seed": 5},
    )  # fmt: skip
    assert sorted(found.values()) == [["a", "e"], ["b", "c"], ["d"]]  # a log that does not say so is of one process
    assert list(read_run(tmp_path / "d").processes) == [1, 2]


def test_seeds_may_be_directories_of_their_own(groups):
    assert list(groups(**{"tuned/1": {}, "tuned/2": {"seed": 2}})) == ["tuned"]


def test_names_stay_apart(groups):
    names = list(groups(**{"x/run": {}, "y/run": {"more": "beta: 0.5"}}))
    assert [name.split("/")[-2:] for name in names] == [["x", "run"], ["y", "run"]]


def test_without_settings_a_run_stands_alone(tmp_path):
    runs = []
    for name in ("one", "two"):
        path = write_run(tmp_path / name)
        (path / "settings.yaml").unlink()
        runs.append(read_run(path))
    assert [group.name for group in group_runs(runs)] == ["one", "two"]
    assert runs[0].rollouts is None


def test_a_run_counts_once(tmp_path):
    run = read_run(write_run(tmp_path / "run"))
    with pytest.raises(ConfigurationError, match="twice"):
        group_runs([run, read_run(tmp_path / "run" / ".." / "run")])


def test_the_settings_may_be_anything(tmp_path):
    write_run(tmp_path)
    (tmp_path / "settings.yaml").write_text(json.dumps(["no mapping"]))
    assert read_run(tmp_path).settings == {}
    (tmp_path / "settings.yaml").write_text("{")
    with pytest.raises(DataError, match=r"settings\.yaml"):
        read_run(tmp_path)
