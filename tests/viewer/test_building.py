import json
import re

import pytest

from envtune_gym.viewer.building import build_page, paired_rows
from envtune_gym.viewer.opening import open_run
from envtune_gym.viewer.selecting import Conditions, select, view
from tests.viewer.runs import (
    FAILED,
    HOSTILE,
    HOSTILE_MESSAGES,
    OPEN,
    SOLVED,
    TASK,
    WITHHELD,
    answer,
    played,
    save,
    save_tasks,
)


@pytest.fixture
def make(tmp_path):
    """Make runs of some episodes and view them."""
    tasks = str(save_tasks(tmp_path / "tasks.jsonl"))

    def make(*runs, **conditions):
        opened = [open_run(save(tmp_path / f"{at}.jsonl", one), tasks) for at, one in enumerate(runs)]
        chosen = Conditions(**conditions)
        return view(opened, select(opened, chosen), chosen)

    return make


def data(runs):
    """Return the data in a page, with the texts put in for their numbers where details are looked at."""
    page = build_page(runs)
    found = (re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)[1] for name in ("index", "details"))
    return tuple(map(json.loads, found))


def test_the_list_has_what_became_of_each_episode(make):
    index, _ = data(make([played(TASK, SOLVED), played(TASK, FAILED, sample=1, feedback="error")]))
    solved, failed = index["episodes"][0]
    assert (solved["solved"], solved["pips"], solved["progress"], solved["reward"]) == (True, "11", 1.0, 1.0)
    assert "failure" not in solved
    assert (failed["sample"], failed["pips"], failed["failure"], failed["hints"]) == (1, "00", "wrong_argument", 1)
    assert index["rows"] == [[0], [1]]


def test_the_overview_counts_what_the_numbers_count(make):
    index, _ = data(make([played(TASK, SOLVED), played(WITHHELD, [OPEN, answer(), answer(), answer()])]))
    run = index["runs"][0]
    charts = {chart["id"]: chart for chart in run["figures"]["charts"]}
    assert [(row["label"], row["value"]) for row in charts["accuracy"]["rows"]] == [("base", 1.0), ("miss_func", 0.0)]
    assert charts["failures"]["rows"] == [{"label": "gave_up", "value": 1, "filter": {"failure": "gave_up"}}]
    assert dict(run["settings"])["policy"] == "scripted"
    assert dict(run["settings"])["feedback"] == "off"


def test_texts_are_kept_once(make):
    _, details = data(make([played(TASK, FAILED), played(TASK, FAILED, sample=1)]))
    strings = details["strings"]
    assert len(strings) == len(set(strings))
    first, second = details["episodes"][0]
    assert first == second
    assert strings[first["turns"][0]["request"]] == TASK.turns[0]


def test_documentation_of_tools_that_come_back_stands_apart_from_the_request(make):
    _, details = data(make([played(WITHHELD, [OPEN, answer(), answer(), answer()])]))
    turn = details["episodes"][0][0]["turns"][2]
    assert details["strings"][turn["request"]] == WITHHELD.turns[2]
    assert "close_ticket" in details["strings"][turn["tools"]]


def test_an_episode_whose_task_is_not_to_be_had_keeps_its_messages(make):
    stranger = played(TASK, SOLVED).model_copy(update={"task_id": "stranger"})
    index, details = data(make([played(TASK, SOLVED), stranger]))
    detail = details["episodes"][0][1]
    assert [details["strings"][at] for at in detail["unsent"]] == SOLVED
    assert "no task 'stranger'" in details["strings"][detail["notes"][0]]
    (note,) = index["notes"]
    assert note.startswith("0.jsonl: 1 of the episodes could not be played again")
    assert "no task 'stranger'" in note


def test_settings_that_are_hostile_come_through(make):
    options = {HOSTILE: HOSTILE, "long": "x" * 1_000_000, "deep": json.loads('{"a":' * 400 + "1" + "}" * 400)}
    index, _ = data(make([played(TASK, SOLVED, hints="", options=options)]))
    settings = dict(index["runs"][0]["settings"])
    assert settings[HOSTILE] == HOSTILE
    assert len(settings["long"]) < 1100


def test_episodes_played_under_different_settings_are_told_apart(make):
    episodes = [played(TASK, SOLVED), played(TASK, SOLVED, sample=1, feedback="error", options={"evaluation": "a"})]
    index, _ = data(make(episodes))
    plain, told = index["episodes"][0]
    assert plain["under"] == "feedback off, evaluation none"
    assert told["under"] == "feedback error, evaluation a"
    assert "the figures mix episodes that were played under different settings" in index["notes"][0]
    index, _ = data(make([played(TASK, SOLVED), played(TASK, FAILED, sample=1)]))
    assert index["notes"] == []
    assert "under" not in index["episodes"][0][0]


def test_an_episode_of_no_known_category_is_in_one_of_that_name(make):
    nowhere = played(TASK, SOLVED).model_copy(update={"task_id": "stranger", "category": ""})
    index, _ = data(make([nowhere], category="unknown"))
    assert index["episodes"][0][0]["category"] == "unknown"
    assert index["runs"][0]["figures"]["charts"][0]["rows"][0]["filter"] == {"category": "unknown"}


def test_a_task_that_has_changed_is_noted(make):
    changed = played(TASK, SOLVED).model_copy(update={"fingerprint": "0123456789abcdef"})
    _, details = data(make([changed]))
    assert details["strings"][details["episodes"][0][0]["notes"][0]] == "the task has changed since it was played"


def test_what_broke_an_episode_is_kept(make):
    broken = played(TASK, [OPEN])
    assert broken.broken
    index, details = data(make([broken]))
    assert details["strings"][details["episodes"][0][0]["broken"]] == broken.broken
    assert index["episodes"][0][0]["failure"] == "broken"


def test_an_episode_that_broke_before_it_had_a_task_is_shown(make):
    nothing = played(TASK, []).model_copy(update={"task_id": "", "category": "", "broken": "ValueError: too long"})
    index, details = data(make([nothing]))
    assert index["episodes"][0][0]["failure"] == "broken"
    assert details["episodes"][0][0]["unsent"] == []
    assert index["runs"][0]["figures"]["charts"][0]["rows"][0]["label"] == "unknown"


def test_flips_come_first(make):
    solved, failed = (played(TASK, messages) for messages in (SOLVED, FAILED))

    def run(*verdicts):
        episodes = [solved if verdict else failed for verdict in verdicts]
        return [episode.model_copy(update={"sample": sample}) for sample, episode in enumerate(episodes)]

    ones, others = make(run(True, False, False, True, True), run(True, False, True, False))
    rows = paired_rows(ones.episodes, others.episodes)
    assert rows == [[3, 3], [2, 2], [1, 1], [0, 0], [4, None]]
    index, _ = data([ones, others])
    assert index["rows"] == rows
    assert "McNemar" in " ".join(index["comparison"]["lines"])


def test_runs_that_cannot_be_compared_say_why(make):
    changed = played(TASK, SOLVED).model_copy(update={"fingerprint": "0123456789abcdef"})
    index, _ = data(make([played(TASK, SOLVED)], [changed]))
    assert index["comparison"]["lines"][0].startswith("Not compared: task 'ticket' is another one")


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({"success": True}, [("ticket", 0)]),
        ({"success": False}, [("ticket", 1), ("withheld", 0)]),
        ({"category": "miss_func"}, [("withheld", 0)]),
        ({"domain": "MathAPI", "limit": 2}, [("ticket", 0), ("ticket", 1)]),
        ({"failure": "gave_up"}, [("withheld", 0)]),
        ({"task_id": "ticket"}, [("ticket", 0), ("ticket", 1)]),
        ({"text": "TICKET WITH ID 99"}, [("ticket", 1)]),
    ],
)
def test_episodes_are_selected(make, conditions, found):
    episodes = [
        played(TASK, SOLVED),
        played(TASK, FAILED, sample=1),
        played(WITHHELD, [OPEN, answer(), answer(), answer()]),
    ]
    (run,) = make(episodes, **conditions)
    assert [one.opened.key for one in run.episodes] == found
    index, _ = data([run])
    assert f"{len(found)} of its 3 episodes" in index["notes"][0]


def test_of_two_runs_an_episode_is_shown_in_both(make):
    ones, others = make([played(TASK, SOLVED)], [played(TASK, FAILED)], success=False)
    assert [one.opened.key for one in ones.episodes] == [one.opened.key for one in others.episodes] == [("ticket", 0)]


def test_hostile_messages_come_through(make):
    hostile = played(TASK, [OPEN]).model_copy(update={"messages": HOSTILE_MESSAGES, "broken": ""})
    _, details = data(make([hostile]))
    detail = details["episodes"][0][0]
    kept = [step["message"] for turn in detail["turns"] for step in turn["steps"]] + detail["unsent"]
    assert [details["strings"][at] for at in kept] == HOSTILE_MESSAGES
