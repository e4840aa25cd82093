"""TicketAPI: results, typed causes and state."""

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.ticket_api import TicketAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

TICKET = {
    "id": 1,
    "title": "Printer",
    "description": "No ink",
    "status": "Open",
    "priority": 2,
    "created_by": "ann",
}


def config():
    return {"ticket_queue": [dict(TICKET)], "ticket_counter": 2, "current_user": "ann"}


@pytest.fixture
def api():
    return TicketAPI(config())


def fail(function, *args):
    with pytest.raises(ToolFailure) as failure:
        function(*args)
    return failure.value


def test_a_missing_configuration_means_an_empty_desk():
    assert TicketAPI({}).state() == {"ticket_queue": [], "ticket_counter": 1, "current_user": None}


def test_a_ticket_from_opening_to_resolution(api):
    ticket = dict(TICKET, id=2, title="Mouse", description="", priority=1)
    assert api.create_ticket("Mouse") == ticket
    assert api.get_ticket(2) == ticket
    assert api.edit_ticket(2, {"priority": 5, "title": None}) == {"status": "Ticket 2 has been updated successfully."}
    assert api.resolve_ticket(2, "replaced") == {"status": "Ticket 2 has been resolved successfully."}
    assert api.get_ticket(2) == dict(ticket, priority=5, status="Resolved", resolution="replaced")
    assert api.close_ticket(1) == {"status": "Ticket 1 has been closed successfully."}
    assert [t["id"] for t in api.get_user_tickets()] == [1, 2]
    assert [t["id"] for t in api.get_user_tickets("CLOSED")] == [1]
    assert api.ticket_counter == 3


def test_login_and_logout(api):
    assert api.logout() == {"success": True}
    assert api.ticket_get_login_status() == {"login_status": False}
    assert api.ticket_login("bob", "pw") == {"success": True}
    assert api.ticket_get_login_status() == {"login_status": True}
    assert api.get_user_tickets() == []


@pytest.mark.parametrize(
    ("tool", "args"), [("get_ticket", ()), ("close_ticket", ()), ("resolve_ticket", ("x",)), ("edit_ticket", ({},))]
)
def test_an_unknown_ticket(api, tool, args):
    failure = fail(getattr(api, tool), 9, *args)
    assert (failure.code, failure.official) == ("ticket_not_found", {"error": "Ticket with ID 9 not found."})
    assert (failure.argument, failure.value, failure.details) == ("ticket_id", 9, {"known": [1]})


@pytest.mark.parametrize(
    ("tool", "args", "code", "argument", "text"),
    [
        (
            "create_ticket",
            ("x", "", 6),
            "invalid_priority",
            "priority",
            "Invalid priority. Priority must be between 1 and 5.",
        ),
        (
            "edit_ticket",
            (1, {"b": 1, "a": 2, "title": "x"}),
            "unknown_fields",
            "updates",
            "Invalid fields for update: a, b",
        ),
    ],
)
def test_bad_values_change_nothing(api, tool, args, code, argument, text):
    failure = fail(getattr(api, tool), *args)
    assert (failure.code, failure.argument, failure.official) == (code, argument, {"error": text})
    assert api.state() == config()


def test_closing_or_resolving_twice(api):
    api.close_ticket(1)
    assert fail(api.close_ticket, 1).official == {"error": "Ticket with ID 1 is already closed."}
    api.resolve_ticket(1, "x")
    failure = fail(api.resolve_ticket, 1, "y")
    assert (failure.code, failure.official) == ("already_resolved", {"error": "Ticket with ID 1 is already resolved."})
    assert api.get_ticket(1)["resolution"] == "x"


def test_creating_and_listing_need_a_login():
    api = TicketAPI({})
    create, listing = fail(api.create_ticket, "x"), fail(api.get_user_tickets)
    assert create.code == listing.code == "not_authenticated"
    assert create.official == {"error": "User not authenticated. Please log in to create a ticket."}
    assert listing.official == [{"error": "User not authenticated. Please log in to view tickets."}]


@pytest.mark.parametrize(
    ("tool", "args", "code", "official"),
    [
        ("ticket_login", ("ann", ""), "empty_credentials", {"success": False}),
        ("edit_ticket", (1, {"title": None}), "no_updates", {"status": "Ticket 1 has been updated successfully."}),
        ("get_user_tickets", ("opened",), "unknown_status", []),
    ],
)
def test_answers_that_cannot_have_been_meant_are_marked(api, tool, args, code, official):
    failure = fail(getattr(api, tool), *args)
    assert failure.silent
    assert (failure.code, failure.official) == (code, official)
    assert api.state() == config()


@pytest.mark.parametrize("status", ["CLOSED", "resolved"])
def test_a_status_that_no_ticket_has_yet_is_a_legitimate_question(api, status):
    assert api.get_user_tickets(status) == []


def test_logging_out_twice_is_marked(api):
    api.logout()
    failure = fail(api.logout)
    assert (failure.silent, failure.code, failure.official) == (True, "not_logged_in", {"success": False})


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "TicketAPI"
    configs = (config(), {})
