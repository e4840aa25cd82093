import pytest

from envtune_gym.tasks import audit_task, audit_tasks, load_quarantine, write_quarantine
from envtune_gym.tasks.stated import Stated


def kinds(task):
    return [(finding.turn, finding.call, finding.kind) for finding in audit_task(task)]


@pytest.mark.parametrize(
    ("turns", "calls"),
    [
        (["Add two and 3."], [["add(a=2, b=3)"]]),
        (["Add 1,250 and 3k."], [["add(a=1250.0, b=3000)"]]),
        (["Add 20 and 30, and add 7 to that."], [["add(a=20, b=30)", "add(a=50, b=7)"]]),
        (["Add 20 and 30 and double the sum."], [["add(a=20, b=30)", "add(a=50, b=50)"]]),
    ],
)
def test_what_is_said_computed_or_returned_is_known(make_task, turns, calls):
    assert kinds(make_task(turns=turns, ground_truth=calls)) == []


def test_what_nobody_says_is_found(make_task):
    task = make_task(turns=["Add 20 and a number."], ground_truth=[["add(a=20, b=8713)"]])
    assert kinds(task) == [(0, 0, "argument_not_stated")]


def test_hidden_names_that_the_agent_can_look_up_are_known(make_task):
    config = {"GorillaFileSystem": {"root": {"home": {"type": "directory", "contents": {
        "plan.txt": {"type": "file", "content": "x"}}}}}}  # fmt: skip
    fields = {"domains": ["GorillaFileSystem"], "initial_config": config, "turns": ["Show the only file."]}
    assert kinds(make_task(**fields, ground_truth=[["cat(file_name='plan.txt')"]])) == []
    wrong = make_task(**fields, ground_truth=[["cat(file_name='absent.md')"]])
    assert kinds(wrong) == [(0, 0, "ground_truth_fails"), (0, 0, "argument_not_stated")]


def test_a_request_that_says_something_else(make_task):
    task = make_task(
        domains=["TwitterAPI"],
        turns=["Log in as ann with password pw and tweet 'See you in 2026'."],
        initial_config={"TwitterAPI": {"username": "ann", "password": "pw"}},
        ground_truth=[["authenticate_twitter(username='ann', password='pw')", "post_tweet(content='See you in 2025')"]],
    )
    assert kinds(task) == [(0, 1, "request_differs")]


def test_withheld_tools_and_past_dates(make_task):
    task = make_task(category="miss_func", missed_functions={1: ["add"]})
    assert kinds(task) == [(0, 0, "withheld_tool_called")]
    flight = "travel_from='SFO', travel_to='LAX', travel_date='{}', travel_class='economy'"
    for day, expected in (("2026-03-22", ["date_in_past"]), ("2026-03-23", [])):
        arguments = flight.format(day)
        task = make_task(
            domains=["TravelAPI"],
            turns=[f"Cost of {arguments}?"],
            ground_truth=[[f"get_flight_cost({arguments})"]],
        )
        assert [finding.kind for finding in audit_task(task)] == expected


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("on the 5th of November 2026", "2026-11-05", True),
        ("on the 6th of November 2026", "2026-11-05", False),
        ("expires 12/26", "12/2026", True),
        ("expires 12/26", "12/2025", False),
        ("Photos of the Grand Canyon", "grand_canyon_photo", True),
        ("Photos of the Grand Canyon", "grand_tour", False),
    ],
)
def test_strings_in_other_forms(text, value, said):
    assert Stated(text).string(value) is said


def test_the_packaged_quarantine_is_what_the_audit_supports(tmp_path, official):
    findings = audit_tasks(official)
    write_quarantine(findings, tmp_path / "quarantine.json")
    import envtune_gym.tasks.quarantine as module

    assert (tmp_path / "quarantine.json").read_text() == module._FILE.read_text()
    assert ("multi_turn_miss_func_49", "withheld_tool_called") in {(f.task_id, f.kind) for f in findings}
    quarantine = load_quarantine()
    assert quarantine["multi_turn_miss_func_49"].kind == "withheld_tool_called"
    left = official.without_quarantined()
    assert len(left) == len(official) - len(quarantine)
    assert not set(quarantine) & set(left.ids)
