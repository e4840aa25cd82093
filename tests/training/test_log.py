import json
import math
import weakref

import pytest

pytest.importorskip("trl")

from integrations.helpers import SOLUTION, answer, call

from envtune_gym.cli import main
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, RolloutRecord
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.tasks import save_jsonl
from envtune_gym.training.log import RunLog
from envtune_gym.wrappers import AugmentedFeedbackWrapper

LOST = (call("close_ticket", ticket_id=99), "<tool_call>[oops", answer(), answer())


@pytest.fixture
def rollouts(run, make_env, tokenizer, ticket_task, tmp_path):
    """Log a rollout that solves its task, one that does not, and one that broke before it had a task."""
    broken = Rollout(None, ChatTemplate(tokenizer), RolloutConfig(), EpisodeRequest(0))
    broken.start()
    played = run(SOLUTION, LOST, envs=[AugmentedFeedbackWrapper(make_env()) for _ in range(2)])
    RunLog(tmp_path / "run").add_rollouts([rollout.record for rollout in (broken, *played)])
    save_jsonl([ticket_task], tmp_path / "tasks.jsonl")
    return tmp_path / "run" / "rollouts.jsonl"


@pytest.fixture
def hints(rollouts, tmp_path, capsys):
    """Run a command of `envtune hints` on the rollouts; return what it prints as JSON."""

    def hints(command, *words):
        words = ["hints", command, "--from", rollouts, "--tasks", tmp_path / "tasks.jsonl", "--json", *words]
        assert main([str(word) for word in words]) == 0
        return json.loads(capsys.readouterr().out)

    return hints


def test_a_line_has_what_the_environment_was_sent_and_how_it_ended(rollouts):
    broken, solved, lost = (json.loads(line) for line in rollouts.read_text().splitlines())
    assert (broken["task_id"], broken["messages"]) == ("", [])
    assert broken["broken"]
    assert (solved["task_id"], solved["messages"], solved["success"]) == ("ticket", list(SOLUTION), True)
    assert (lost["messages"], lost["errors"], lost["hints"]) == (list(LOST), 2, 2)
    assert (lost["feedback"], lost["step"]) == ("actionable", 1)


def test_failures_are_found_with_their_official_texts(hints, tmp_path):
    server = ("--model", "m", "--base-url", "http://localhost:9", "--out", tmp_path / "book.yaml", "--dry-run")
    found = {(cause["domain"], cause["code"]): cause for cause in hints("propose", *server)}
    assert {cause: entry["failures"] for cause, entry in found.items()} == {
        ("TicketAPI", "ticket_not_found"): 1,
        ("general", "bad_syntax"): 1,
    }
    asked = found["TicketAPI", "ticket_not_found"]["messages"][-1]["content"]
    assert "Ticket with ID 99 not found." in asked
    assert "There is no ticket 99" not in asked


def test_successful_rollouts_are_mined(hints):
    graph = hints("graph")
    assert set(graph["turns"]) == {"create_ticket", "close_ticket", "mean"}
    assert graph["feeds"]["close_ticket.ticket_id"] == {"create_ticket.id": 1}


def test_what_came_after_a_checkpoint_is_dropped_and_so_is_a_line_cut_off(tmp_path):
    (tmp_path / "updates.jsonl").write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    (tmp_path / "rollouts.jsonl").write_text('{"step": 1}\n{"step": 2, "mess')
    RunLog(tmp_path, resumed=2)
    assert (tmp_path / "updates.jsonl").read_text() == '{"step": 1}\n{"step": 2}\n'
    assert (tmp_path / "rollouts.jsonl").read_text() == '{"step": 1}\n'


def test_rollouts_stay_on_the_disk_alone(tmp_path):
    log, record = RunLog(tmp_path), RolloutRecord(messages=["x" * 1000])
    left = weakref.ref(record)
    log.add_rollouts([record])
    del record
    assert left() is None
    assert "x" * 1000 in (tmp_path / "rollouts.jsonl").read_text()


def test_each_update_says_in_how_many_processes_it_was_made(tmp_path):
    log = RunLog(tmp_path, processes=3)
    log.on_log(None, type("State", (), {"global_step": 1}), None, {"grad_norm": 0.5})
    assert json.loads((tmp_path / "updates.jsonl").read_text())["processes"] == 3


def test_figures_that_json_has_no_numbers_for_are_null(tmp_path):
    log = RunLog(tmp_path)
    state = type("State", (), {"global_step": 1})
    log.on_log(None, state, None, {"grad_norm": math.nan, "loss": math.inf, "kl": 0.5})
    [update] = (json.loads(line) for line in (tmp_path / "updates.jsonl").read_text().splitlines())
    assert (update["grad_norm"], update["loss"], update["kl"]) == (None, None, 0.5)


def test_a_run_that_made_no_update_is_warned_of_none(tmp_path):
    log = RunLog(tmp_path)
    assert log.warnings() == []
    log.on_log(None, type("State", (), {"global_step": 1}), None, {"grad_norm": 0.5})
    assert "the clip range never acted" in log.warnings()[0]
