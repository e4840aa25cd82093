from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym import Task, World, load_tasks
from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.corruption import DEVELOPMENT, HELD_OUT, KINDS, corrupt
from envtune_gym.evaluation.learner import Draft
from envtune_gym.evaluation.scenes import scenes
from envtune_gym.scoring import ground_truth
from envtune_gym.tooldocs import offered_names

TASKS = list(load_tasks("generated", split="train")[:60])


def _failures(corruption):
    """Run a plan in a fresh world, independently of how the corruption was judged."""
    task = corruption.task
    world = World(task.domains, task.initial_config, task.long_context)
    for turn, steps in enumerate(corruption.plan):
        for step in steps:
            if isinstance(step, Draft):
                if parse_action(step.text, "tool_call").error:
                    yield "error"
                continue
            result = world.run(step, offered_names(task, turn, "strict"))
            if result.error or result.silent:
                yield "error" if result.error else "silent"
    if not world.differing_domains(ground_truth(task).states[len(corruption.plan) - 1]):
        yield "same state"


def test_the_kinds_come_in_two_halves():
    assert len(DEVELOPMENT) == len(HELD_OUT) >= 8
    assert not set(DEVELOPMENT) & set(HELD_OUT)
    assert set(KINDS) == {*DEVELOPMENT, *HELD_OUT}


@given(st.sampled_from(TASKS), st.sampled_from(sorted(KINDS)), st.integers(0, 1000), st.data())
def test_a_corruption_fails_or_has_another_effect(task, kind, seed, data):
    places = list(scenes(task))
    scene = data.draw(st.sampled_from(places))
    state = scene.before.state()
    corruption = corrupt(scene, kind, Random(seed))
    assert corrupt(scene, kind, Random(seed)) == corruption
    assert scene.before.state() == state
    if corruption is None:
        return
    shown = list(_failures(corruption))
    if corruption.effect == "unseen":
        assert not {"error", "silent"} & set(shown)
    else:
        assert shown[0] == corruption.effect
    assert corruption.plan != scene.turns[: len(corruption.plan)]


@pytest.mark.bfcl
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_shows_in_official_training_tasks(kind):
    tasks = load_tasks("bfcl", split="train")
    found = (corrupt(scene, kind, Random(1)) for task in tasks for scene in scenes(task))
    assert any(corruption is not None and corruption.effect != "unseen" for corruption in found)


def test_scenes_stop_where_the_ground_truth_does_not_work(ticket_task):
    broken = ticket_task.model_copy(
        update={"id": "broken", "ground_truth": (("mean(numbers=[1])",), ("get_ticket(ticket_id=99)",))}
    )
    assert [scene.call for scene in scenes(broken)] == [Call("mean", {"numbers": [1]})]


def test_scenes_name_positional_arguments_and_stand_before_their_call(ticket_task):
    task = ticket_task.model_copy(
        update={"id": "positional", "ground_truth": (("create_ticket('Lamp')",), ("close_ticket(7)",))}
    )
    first, second = scenes(task)
    assert first.call == Call("create_ticket", {"title": "Lamp"})
    assert not first.before.state()["TicketAPI"]["ticket_queue"]
    assert len(second.before.state()["TicketAPI"]["ticket_queue"]) == 1


def test_a_withheld_tool_is_called_in_the_turn_that_lacks_it(withheld_task: Task):
    scene = next(scene for scene in scenes(withheld_task) if scene.call.name == "close_ticket")
    corruption = corrupt(scene, "withheld_tool", Random(0))
    assert corruption is not None
    assert corruption.unsolvable
    assert corruption.plan[1:] == ((Call("close_ticket", {"ticket_id": 7}),),)
