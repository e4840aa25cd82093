"""Generated tasks are fair by the official backends and checker, and the second proof rejects tasks that are not."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from envtune_gym import Task, load_tasks
from envtune_gym.tasks import CATEGORIES, save_jsonl

from .oracle import official_verdict

from official_proof import CHECKS, check_task  # isort: skip - the oracle skips where the official package is missing

TASKS = 300
COMBINED = ("miss_func+miss_param", "miss_func+long_context", "miss_func+miss_param+long_context")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "second_proof.py"


@pytest.mark.parametrize("categories", [CATEGORIES, COMBINED], ids=["plain", "combined"])
def test_generated_tasks_are_fair(categories, figures):
    counts = Counter()
    for task in load_tasks("generated", categories=categories)[: TASKS // 2]:
        assert check_task(task, counts) == []
    for check in CHECKS:
        assert counts[check] > 0 or (check == "random order" and not counts["hidden order"]), check
    figures.update({f"generated tasks, checks made: {check}": count for check, count in counts.items()})


def test_leaving_a_call_out_fails_in_the_official_checker_as_a_whole():
    """The proof copies worlds to save time; whole trajectories come to the same."""
    for task in load_tasks("generated", difficulty=[2, 3])[:25]:
        truth = [list(calls) for calls in task.ground_truth]
        right = [[calls] if calls else [] for calls in truth]
        assert official_verdict(task.to_bfcl(), truth, right) == (True, None)
        for turn, calls in enumerate(truth):
            for index in range(len(calls)):
                rest = [*calls[:index], *calls[index + 1 :], "no_such_tool()"]  # so that the turn is not empty
                valid, error_type = official_verdict(task.to_bfcl(), truth, [*right[:turn], [rest], *right[turn + 1 :]])
                assert not valid, f"{task.id}: without {calls[index]}"
                assert error_type in ("multi_turn:instance_state_mismatch", "multi_turn:execution_response_mismatch")


@pytest.fixture
def fair_task():
    return Task(
        id="hinge",
        category="base",
        domains=("TicketAPI", "MathAPI", "GorillaFileSystem", "MessageAPI"),
        initial_config={
            "TicketAPI": {"ticket_queue": [], "ticket_counter": 4711, "current_user": None},
            "GorillaFileSystem": {"root": {"shop": {"type": "directory", "contents": {
                "bills": {"type": "directory", "contents": {}},
            }}}},
            "MessageAPI": {
                "user_count": 2, "user_map": {"Ines": "SHOP-1", "Ravi": "SHOP-2"},
                "inbox": [], "message_count": 0, "current_user": "SHOP-1",
            },
        },
        turns=(
            "Log into the ticket system as Ines; my password is copper-2291.",
            "Open a ticket 'Loose hinge', 'The door squeaks.', priority 4, and give me the mean of 12 and 18.",
            "That was quick. You can close it. And message Ravi, he is SHOP-2: 'Hinge done.'",
            "Go into bills and list what is there.",
        ),
        ground_truth=(
            ("ticket_login(username='Ines', password='copper-2291')",),
            (
                "create_ticket(title='Loose hinge', description='The door squeaks.', priority=4)",
                "mean(numbers=[12, 18])",
            ),
            ("close_ticket(ticket_id=4711)", "send_message(receiver_id='SHOP-2', message='Hinge done.')"),
            ("cd(folder='bills')", "ls()"),
        ),
    )  # fmt: skip


def checks_failed(task):
    return {fault.check for fault in check_task(task)}


def with_turn(task, turn, *calls, **update):
    truth = [*task.ground_truth[:turn], calls, *task.ground_truth[turn + 1 :]]
    return task.model_copy(update={"ground_truth": truth, **update})


def test_the_fair_task_passes(fair_task):
    assert check_task(fair_task) == []


@pytest.mark.parametrize(
    ("turn", "calls", "check"),
    [
        # A call that is not needed: its result has been seen before.
        (2, ["close_ticket(ticket_id=4711)", "mean(numbers=[12, 18])"], "not needed"),
        # Arguments that nobody said: a text, a number, an id.
        (1, ["create_ticket(title='Broken hinge', description='The door squeaks.', priority=4)"], "unheard of"),
        (1, ["create_ticket(title='Loose hinge', description='The door squeaks.', priority=3)"], "unheard of"),
        (2, ["send_message(receiver_id='SHOP-20', message='Hinge done.')"], "unheard of"),
        # Wrong order.
        (0, ["close_ticket(ticket_id=4711)", "ticket_login(username='Ines', password='copper-2291')"], "call fails"),
        (3, ["touch(file_name='Hinge')", "touch(file_name='Loose')", "ls()"], "hidden order"),
        (
            2,
            [
                "send_message(receiver_id='SHOP-2', message='Hinge done.')",
                "send_message(receiver_id='SHOP-2', message='quick')",
            ],
            "random order",
        ),
        # A turn that asks for nothing that was not there before.
        (2, ["mean(numbers=[12, 18])"], "nothing passes"),
    ],
)
def test_broken_tasks_are_rejected(fair_task, turn, calls, check):
    assert check in checks_failed(with_turn(fair_task, turn, *calls))


def test_a_change_of_directory_is_no_hidden_order(fair_task):
    """Neither call prints anything of the other, but the documentation says how they belong together."""
    assert check_task(with_turn(fair_task, 3, "cd(folder='bills')", "touch(file_name='Hinge')")) == []


def test_vague_requests_that_leave_nothing_out_are_rejected(fair_task):
    update = {
        "category": "miss_param",
        "turns": (*fair_task.turns, "Average 12, 18 and one more.", "The other one is 55."),
        "ground_truth": (*fair_task.ground_truth, (), ("mean(numbers=[12, 18, 55])",)),
    }
    vague = fair_task.model_copy(update=update)
    assert check_task(vague) == []
    assert checks_failed(with_turn(vague, 5, "mean(numbers=[12, 18, 4])")) == {"nothing left out"}


def test_tools_that_are_needed_too_early_are_rejected(fair_task):
    update = {"category": "miss_func", "turns": (*fair_task.turns, "Go on."), "missed_functions": {4: ("mean",)}}
    truth = (*fair_task.ground_truth, ("mean(numbers=[12, 18, 4])",))
    early = fair_task.model_copy(update={**update, "ground_truth": truth})
    assert checks_failed(early) == {"withheld"}
    fair = with_turn(early, 1, fair_task.ground_truth[1][0])
    assert check_task(fair) == []


@pytest.mark.parametrize("task_id", ["gen-A+B-1", "my_long_context_7"])
def test_ids_that_the_official_code_stumbles_over_are_rejected(fair_task, task_id):
    assert checks_failed(fair_task.model_copy(update={"id": task_id})) == {"format"}


def test_the_command_reports_faults_by_its_exit_code(fair_task, tmp_path):
    broken = with_turn(fair_task, 3, "touch(file_name='Hinge')", "touch(file_name='Loose')", "ls()", id="broken")
    path = tmp_path / "tasks.jsonl"
    save_jsonl([fair_task, broken], path)
    command = [sys.executable, SCRIPT, "--tasks", path, "--jobs", "1"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["tasks"], report["faulty_tasks"], report["faults"][0]["task_id"]) == (2, 1, "broken")
    assert report["category"] == {"base": {"tasks": 2, "faults": 1}}
    save_jsonl([fair_task], path)
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    done = subprocess.run([*command, "--categories", "none"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
