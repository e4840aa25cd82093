from functools import lru_cache

from envtune_gym.domains import domain_class
from envtune_gym.tasks.generation.planner import plan_task
from envtune_gym.tasks.generation.shape import Shape
from envtune_gym.tasks.goals import Discarded, goals_of
from envtune_gym.world import World

DOMAIN = "TicketAPI"
PLANS = 250


@lru_cache(maxsize=2)
def plans(filled=False):
    """Return plans of the largest shape, those that are given up left out."""
    found = []
    for number in range(PLANS if not filled else 30):
        try:
            found.append(plan_task((DOMAIN,), Shape(3, goals=2), f"desk {number}", filled, lambda key: True))
        except Discarded:
            continue
    assert len(found) > 0.95 * (PLANS if not filled else 30)
    return found


def steps():
    return [step for plan in plans() for turn in plan.turns for step in turn]


def test_every_tool_and_every_goal_occurs():
    assert {call.name for step in steps() for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps()} == set(goals_of((DOMAIN,)))


def test_most_goals_are_about_a_ticket_that_is_there():
    about = [step for step in steps() if any("ticket_id" in call.kwargs for call in step.calls)]
    assert len(about) > len(steps()) / 2


def test_ids_come_from_results_unless_a_colleague_has_told_the_number():
    for plan in plans():
        said, shown = "", ""
        for step in (step for turn in plan.turns for step in turn):
            said += step.request
            for call, result in zip(step.calls, step.results, strict=True):
                if "ticket_id" in call.kwargs:
                    number = str(call.kwargs["ticket_id"])
                    assert (number in step.request) == (step.goal == "read_a_ticket_by_number")
                    assert number in shown or number in step.request
                shown += result


def test_lists_and_new_tickets_are_wanted_only_of_somebody_who_is_logged_in():
    for plan in plans():
        world = World(plan.domains, plan.config)
        for step in (step for turn in plan.turns for step in turn):
            for call in step.calls:
                user = world.state()[DOMAIN]["current_user"]
                assert user or call.name not in ("create_ticket", "get_user_tickets", "logout")
                assert world.run(call).error is None


def test_a_login_is_said_only_if_it_is_needed():
    for step in steps():
        logins = [call for call in step.calls if call.name == "ticket_login"]
        assert all(call.kwargs["password"] in step.request for call in logins)
        if step.goal in ("report_a_problem", "list_all_tickets", "copy_a_ticket"):
            assert ("password" in step.request) == bool(logins)


def test_the_ticket_closed_as_the_latest_has_the_highest_open_id_in_a_long_queue_too():
    found = 0
    for plan in plans(filled=True) + plans():
        world = World(plan.domains, plan.config)
        for step in (step for turn in plan.turns for step in turn):
            for call in step.calls:
                if step.goal == "close_the_latest_open_ticket" and call.name == "close_ticket":
                    state = world.state()[DOMAIN]
                    mine = [t for t in state["ticket_queue"] if t["created_by"] == state["current_user"]]
                    assert call.kwargs["ticket_id"] == max(t["id"] for t in mine if t["status"] == "Open")
                    found += 1
                world.run(call)
    assert found


def test_a_copy_says_word_for_word_what_the_other_ticket_says():
    copies = 0
    for plan in plans():
        world = World(plan.domains, plan.config)
        for step in (step for turn in plan.turns for step in turn):
            if step.goal == "copy_a_ticket":
                description = step.calls[-1].kwargs["description"]
                assert description not in step.request
                assert description in {ticket["description"] for ticket in world.state()[DOMAIN]["ticket_queue"]}
                copies += 1
            for call in step.calls:
                world.run(call)
    assert copies


def test_no_message_asks_for_two_edits_of_one_ticket_or_names_it_twice():
    """One call could make both edits, and its result would come once."""
    edits = 0
    for plan in plans():
        for turn in plan.turns:
            edited = [call.kwargs["ticket_id"] for step in turn for call in step.calls if call.name == "edit_ticket"]
            edits += len(edited)
            assert len(edited) == len(set(edited))
            names = [call.name for step in turn for call in step.calls]
            titles = [call for step in turn for call in step.calls if "title" in call.kwargs.get("updates", ())]
            assert not titles or "create_ticket" not in names[: names.index("edit_ticket")]
    assert edits > 50


def test_a_ticket_in_the_users_own_name_is_never_wanted_while_a_colleague_is_logged_in():
    for plan in plans():
        world = World(plan.domains, plan.config)
        mine = plan.config[DOMAIN]["current_user"]
        for step in (step for turn in plan.turns for step in turn):
            for call in step.calls:
                world.run(call)
                if step.goal != "stand_in_for_a_colleague" and call.name == "ticket_login":
                    mine = call.kwargs["username"]
            if step.goal == "copy_a_ticket":
                assert world.state()[DOMAIN]["current_user"] == mine
