"""Families of TicketAPI: a problem from report to resolution, and a backlog to clear."""

from __future__ import annotations

from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.phrases import full_name, password
from envtune_gym.tasks.families.rng import Rng

# fmt: off
_DEVICES = (
    "projector", "badge reader", "label printer", "cash register", "router", "coffee machine", "elevator", "scanner",
    "conference phone", "heating", "web shop", "mail server", "time clock", "parking gate", "alarm panel", "tablet",
)
_FAULTS = (
    "does not start", "keeps restarting", "is very slow", "shows an error", "makes a loud noise", "loses connection",
    "does not respond", "has overheated", "is locked",
)
_PLACES = ("the lobby", "room 214", "the warehouse", "our Lyon office", "the workshop", "the canteen")
_FIXES = (
    "Replaced the cable.", "Installed the latest update.", "Swapped the power supply.", "Reset it to factory settings.",
    "The supplier exchanged it.", "Cleaned the sensor.", "Restored the configuration from a backup.",
)
# fmt: on


def _problem(rng: Rng, device: str) -> tuple[str, str]:
    """Return title and description of a ticket."""
    fault = rng.pick(_FAULTS)
    return (
        f"{device.capitalize()} {fault}",
        f"The {device} in {rng.pick(_PLACES)} {fault}, first noticed at {rng.between(7, 11)} am.",
    )


def _user(rng: Rng) -> str:
    first, last = full_name(rng)
    return f"{first[0]}{last}".lower()


@family("TicketAPI")
def report_problem(draft: Draft) -> None:
    """Log in and report a problem, change its priority, resolve it, look at it."""
    rng = draft.rng
    user, secret = _user(rng), password(rng)
    title, description = _problem(rng, rng.pick(_DEVICES))
    priority, urgency = rng.sample((1, 2, 3, 4, 5), 2)
    fix = rng.pick(_FIXES)
    draft.start(TicketAPI={"ticket_queue": [], "ticket_counter": rng.between(2000, 9000), "current_user": None})

    text = f"title '{title}', description '{description}'"
    draft.ask(
        f"Log in to the support desk as {user}, password {secret}, and open a ticket: {text}, priority {priority}.",
        f"My account is {user}, password {secret}. Please create a ticket with {text} and priority {priority}.",
        f"I need a ticket of priority {priority}, {text}. Log me in as {user}; the password is {secret}.",
        vague=(
            "Log me in to the support desk and open a ticket for my problem.",
            f"I need a ticket of priority {priority}: {text}. Log me in as {user} for that.",
            f"Please log me in and create a ticket with {text} and priority {priority}.",
        ),
        answer=(
            f"User {user}, password {secret}. The ticket: {text}, priority {priority}.",
            f"My login is {user} with {secret}; the ticket gets {text}, and its priority is {priority}.",
        ),
        withhold=("ticket_login", "create_ticket"),
    )
    draft.call("ticket_login", username=user, password=secret)
    ticket_id = draft.call("create_ticket", title=title, description=description, priority=priority)["id"]

    draft.ask(
        f"Change the priority of that ticket to {urgency}.",
        f"On reflection the ticket should have priority {urgency}. Please edit it.",
        f"Please set the new ticket's priority to {urgency}.",
        vague=("Please change the priority of that ticket.", "Give the new ticket another priority."),
        answer=(f"It should be {urgency}.", f"Priority {urgency}."),
        withhold=("edit_ticket",),
    )
    draft.call("edit_ticket", ticket_id=ticket_id, updates={"priority": urgency})

    draft.ask(
        f"It works again. Resolve the ticket with the note '{fix}'",
        f"Mark the ticket as resolved; the resolution is '{fix}'",
        f"Please resolve that ticket. What we did: '{fix}'",
        vague=("It works again. Please resolve the ticket with a note on what was done.",),
        answer=(f"The note is '{fix}'", f"Write '{fix}'"),
        withhold=("resolve_ticket",),
    )
    draft.call("resolve_ticket", ticket_id=ticket_id, resolution=fix)

    draft.ask(
        "Show me the ticket as it is now, then log me out.",
        "Let me see the ticket once more and sign me out of the desk.",
        "Print that ticket and log out.",
    )
    draft.call("get_ticket", ticket_id=ticket_id)
    draft.call("logout")


@family("TicketAPI")
def clear_backlog(draft: Draft) -> None:
    """List the open tickets, resolve one, close one, open another."""
    rng = draft.rng
    user = _user(rng)
    first_id = rng.between(2000, 9000)
    problems = [_problem(rng, device) for device in rng.sample(_DEVICES, 5)]
    (solved, _), (dropped, _), *_, (title, description) = problems
    states = ("Open", "Open", "Open", "Closed")
    queue = [
        {
            "id": first_id + number,
            "title": problem[0],
            "description": problem[1],
            "status": status,
            "priority": rng.between(1, 5),
            "created_by": user,
        }
        for number, (problem, status) in enumerate(zip(problems, states, strict=False))
    ]
    fix = rng.pick(_FIXES)
    draft.start(
        TicketAPI={"ticket_queue": queue, "ticket_counter": first_id + rng.between(20, 90), "current_user": user}
    )

    draft.ask(
        "List my tickets with the status Open.",
        "Which of my tickets are still Open? Fetch only those.",
        "Get me those of my tickets whose status is Open.",
        withhold=("get_user_tickets",),
    )
    draft.call("get_user_tickets", status="Open")

    draft.ask(
        f"Resolve the one called '{solved}'. The resolution: '{fix}'",
        f"'{solved}' has been dealt with. Mark it as resolved with the note '{fix}'",
        f"Please mark the ticket '{solved}' as resolved and note '{fix}'",
        vague=(
            f"Resolve the one called '{solved}', with a note on the solution.",
            "Resolve one of them for me, please.",
        ),
        answer=(f"It is '{solved}', and the note is '{fix}'", f"Note '{fix}' on the ticket '{solved}'."),
        withhold=("resolve_ticket",),
    )
    draft.call("resolve_ticket", ticket_id=first_id, resolution=fix)

    draft.ask(
        f"Close the ticket '{dropped}', it is obsolete.",
        f"'{dropped}' has become obsolete. Please close that ticket.",
        f"We no longer need '{dropped}': close it.",
        vague=("One of the remaining ones is obsolete. Please close it.",),
        answer=(f"I mean '{dropped}'.", f"The one called '{dropped}'."),
    )
    draft.call("close_ticket", ticket_id=first_id + 1)

    draft.ask(
        f"Open a new ticket: title '{title}', description '{description}', priority {queue[0]['priority']}.",
        f"Create a ticket of priority {queue[0]['priority']} titled '{title}' and describe it as '{description}'",
        f"I have a new problem to report, '{title}', with priority {queue[0]['priority']}. Details: '{description}'",
        vague=("Please open a new ticket for me.", f"Open a ticket with priority {queue[0]['priority']}."),
        answer=(f"Title '{title}', description '{description}', priority {queue[0]['priority']}.",),
        withhold=("create_ticket",),
    )
    draft.call("create_ticket", title=title, description=description, priority=queue[0]["priority"])
