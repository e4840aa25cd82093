"""Goals of TicketAPI: logging in and out, reporting problems and going through one's tickets.

What happens to a single ticket is in `ticket_work`.
"""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.goals import ticket_work
from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.ticket_desk import FIXES, Desk, spoken_of

__all__ = ["ticket_work"]

_STATUSES = ("Open", "Closed", "Resolved")


@scenario("TicketAPI")
def desk(plan: Plan) -> dict[str, Any]:
    """A queue with tickets of the user and of a colleague; one of the two is logged in, or nobody."""
    rng = plan.rng
    state = Desk(plan)
    plan.keep(state)
    number = rng.between(2000, 9000)
    owners = [state.me.username] * rng.between(2, 4) + [state.colleague.username] * rng.between(1, 3)
    queue: list[dict[str, Any]] = []
    for owner in rng.sample(owners, len(owners)):
        problem = state.problem(rng)
        number += rng.between(1, 9)
        status = rng.weighted(_STATUSES, (5, 1, 2))
        ticket = {
            "id": number,
            "title": problem.title,
            "description": problem.description,
            "status": status,
            "priority": rng.between(1, 5),
            "created_by": owner,
        }
        if status == "Resolved":
            ticket["resolution"] = rng.pick(FIXES)
        queue.append(ticket)
        state.add(plan, ticket, problem.device, known=False)
    return {
        "ticket_queue": queue,
        "ticket_counter": number + rng.between(1, 40),
        "current_user": state.current.username if state.current else None,
    }


@goal("TicketAPI", weight=2.0)
def sign_in_at_the_desk(plan: Plan) -> None:
    """State name and password, and ask to be logged in."""
    state = plan.book(Desk)
    if state.current:
        raise Unfit("logged in already")
    state.check_login_is_settled(plan)
    plan.ask(
        "[Log|Sign|Please log|Please sign] me in [at|to] the [ticket|support] desk[ as|: user] {user}, password "
        "{password}.",
        "[My shift begins|I'm back at my desk|I have tickets to see to][. Log|, so log] me in to the ticket system as "
        "{user} with the "
        "password {password}.",
        "[Could|Can] you log me in to the [ticket|support] desk? [I'm {user}|The user name is {user}] and the password "
        "is {password}.",
        vague=(
            "[Log|Sign|Please log|Please sign] me in [at|to] the [ticket|support] desk[ now|].",
            "[My shift begins|I'm back at my desk|I have tickets to see to][. Log|, so log] me in to the ticket "
            "system.",
        ),
        answer=(
            "[User|The user is|I'm] {user}, [password|and the password is] {password}.",
            "[My account is|It's] {user}, with {password} as the password.",
        ),
        withhold=("ticket_login",),
        user=state.me.username,
        password=state.me.password,
    )
    state.log_in(plan)


@goal("TicketAPI", once=True, weight=0.5)
def sign_in_if_nobody_is(plan: Plan) -> None:
    """Ask whether somebody is logged in, and to be logged in if not."""
    state = plan.book(Desk)
    state.check_login_is_settled(plan)
    if plan.has_shown("ticket_get_login_status"):
        raise Unfit("shown already")
    plan.ask(
        "[Check|Please check|Find out] [whether anybody is|if somebody is] logged in at the ticket desk. If "
        "[not|nobody is], log me in as {user} "
        "with the password {password}.",
        "[Is anybody|Is someone] logged in at the ticket desk? "
        "[Check the login status, and if|Look at the login status; if] [not|nobody is], use "
        "my account {user}, password {password}.",
        "[I can't remember whether I logged in|I'm not sure that my login went through|The desk may have thrown me "
        "out]. Look up the login status "
        "at the ticket desk and log me in [only if|if] it says no: {user}, password {password}.",
        withhold=("ticket_get_login_status",),
        user=state.me.username,
        password=state.me.password,
    )
    plan.call("ticket_get_login_status")
    state.log_in(plan)


@goal("TicketAPI", needs=("ticket",), weight=0.8)
def sign_out_of_the_desk(plan: Plan) -> None:
    """Ask to be logged out."""
    state = plan.book(Desk)
    if state.current is None or not plan.has_new("ticket"):
        raise Unfit("nothing done so far")
    state.check_login_is_settled(plan)
    plan.ask(
        "[Log|Sign|Please log|Please sign] me out of the [ticket|support] desk[ now|, for safety|].",
        "[I don't want to stay logged in|I must not stay logged in all day|My login should not stay open][. Log|, so "
        "log] me out of the [ticket|support] desk.",
        "[Could|Can|Would] you log me out of the [ticket|support] desk[ again|]?",
        withhold=("logout",),
    )
    plan.call("logout")
    state.current = None


@goal("TicketAPI", weight=0.7)
def stand_in_for_a_colleague(plan: Plan) -> None:
    """State a colleague's name and password, and ask to be logged in as that user."""
    state = plan.book(Desk)
    if state.current == state.colleague:
        raise Unfit("logged in already")
    state.check_login_is_settled(plan)
    friend = state.colleague
    plan.ask(
        "[Log|Please log] in to the ticket desk with {name}'s account[ now|]: user {user}, password {password}.",
        "[My colleague|Our colleague] {name} is [on holiday|out sick|at a trade fair] and I [stand in|take over the "
        "tickets]. Log in to the ticket desk as {user}, password {password}.",
        "[I'm looking after|I have to see to] {name}'s tickets [today|this week][. Use|, so use] that account to log "
        "in at the desk: {user}, "
        "password {password}.",
        vague=(
            "[Log|Please log] in to the ticket desk with {name}'s account[ now|].",
            "[I'm looking after|I have to see to] {name}'s tickets [today|this week][. Use|, so use] that account to "
            "log in at the desk.",
        ),
        answer=(
            "[The user name is|It's|That's] {user}, [password|and the password is] {password}.",
            "[User|Account] {user}, password {password}.",
        ),
        withhold=("ticket_login",),
        name=friend.name,
        user=friend.username,
        password=friend.password,
    )
    state.log_in(plan, friend)


@goal("TicketAPI", weight=3.0)
def report_a_problem(plan: Plan) -> None:
    """State title, description and priority of a problem, and ask for a ticket."""
    state, rng = plan.book(Desk), plan.rng
    login = state.needs_login(plan)
    problem = state.problem(rng)
    priority = rng.between(1, 5) if rng.chance(0.7) else None
    plan.ask(
        "[Open|Please open|Create|Raise] a [new ticket|ticket] [titled|with the title] '{title}', description "
        "'{description}', with {urgency}.{login}",
        "[I have a problem to report|Something else is broken|There's a new problem]: '{title}'. [Open|Create] a "
        "ticket with {urgency} under that "
        "title and describe it as '{description}'.{login}",
        "[Could|Can] you [open|create|file] a [ticket|new ticket]? [The title|Title]: '{title}'. "
        "[The description|Description]: '{description}'. {urgency_first}.{login}",
        vague=(
            "[Open|Please open|Create|Raise] a [new ticket|ticket][ now|].{login}",
            "[I have a problem to report|Something else is broken|There's a new problem]. [Open|Create] a ticket for "
            "it.{login}",
        ),
        answer=(
            "[The title is|Title:|Call it] '{title}', [the description is|description:] '{description}'. "
            "{urgency_first}.",
            "[It's about this|The problem]: '{title}', with {urgency}. [Describe it as|The description reads] "
            "'{description}'.",
        ),
        withhold=("create_ticket", *(("ticket_login",) if login else ())),
        title=problem.title,
        description=problem.description,
        urgency=f"priority {priority}" if priority else "the default priority",
        urgency_first=f"Priority {priority}" if priority else "The priority stays at its default",
        login=login,
    )
    state.log_in(plan)
    arguments = {"title": problem.title, "description": problem.description}
    ticket = plan.call("create_ticket", **arguments, **({"priority": priority} if priority else {}))
    spoken_of(state.add(plan, ticket, problem.device, known=True))


@goal("TicketAPI", weight=0.9)
def list_all_tickets(plan: Plan) -> None:
    """Ask for all tickets of whoever is logged in."""
    state = plan.book(Desk)
    login = state.needs_login(plan)
    _check_list(plan, None)
    plan.ask(
        "[List|Show me|Please list|Get me] all of {my} "
        "tickets[, whatever their status|, finished ones included|].{login}",
        "[I've lost track|I need an overview|My team lead needs the numbers]: [list|show me] all of {my} "
        "tickets[, of any status|].{login}",
        "[Which|What] tickets {do_i} have[ in all|, finished ones included|, whatever their status]? "
        "[List them all|I need the whole list].{login}",
        withhold=("get_user_tickets",),
        **_owner_words(state),
        login=login,
        several=Thing("ticket", "several"),  # after these, "that ticket" means none of them
    )
    state.log_in(plan)
    plan.call("get_user_tickets")
    _note_shown(plan, None)


@goal("TicketAPI", weight=0.9)
def list_tickets_of_a_status(plan: Plan) -> None:
    """Ask for the tickets of one status."""
    state = plan.book(Desk)
    login = state.needs_login(plan)
    status = plan.rng.weighted(_STATUSES, (3, 1, 1))
    _check_list(plan, status)
    plan.ask(
        "[List|Show me|Please list|Get me] those of {my} tickets [whose status is|with the status] {status}.{login}",
        "[Which|What] tickets with the status {status} {do_i} have? "
        "[List only those|Fetch just these|Leave out all others].{login}",
        "[I've lost track|I need an overview|My team lead needs the numbers]: [list|show me] {my} tickets, but only "
        "[those with|the ones that have] the "
        "status {status}.{login}",
        withhold=("get_user_tickets",),
        **_owner_words(state),
        status=status,
        login=login,
        several=Thing("ticket", "several"),
    )
    state.log_in(plan)
    plan.call("get_user_tickets", status=status)
    _note_shown(plan, status)


@goal("TicketAPI", weight=0.7)
def close_the_latest_open_ticket(plan: Plan) -> None:
    """Ask to find the latest open ticket and to close it."""
    state = plan.book(Desk)
    login = state.needs_login(plan)
    _check_list(plan, "Open")
    if plan.lately_called("create_ticket", "close_ticket", "resolve_ticket", "edit_ticket"):
        raise Unfit("just changed")
    plan.ask(
        "[List|Show me|Go through] {my} tickets with the status Open, and close the [latest|most recent] of them, the "
        "one with the highest id.{login}",
        "[Something solved itself|One matter is settled|One complaint was withdrawn]. [Get|List] those of {my} tickets "
        "with the status Open; the one "
        "[whose id is highest|with the highest id] can be closed.{login}",
        "[Could|Can] you [list|fetch] {my} tickets of status Open and close whichever has the highest id?{login}",
        withhold=("get_user_tickets",),
        **_owner_words(state),
        login=login,
    )
    state.log_in(plan)
    plan.call("get_user_tickets", status="Open")
    _note_shown(plan, "Open")
    latest = spoken_of(max(state.own("Open"), key=lambda ticket: int(ticket["id"])))
    plan.call("close_ticket", ticket_id=latest["id"])
    latest["status"], latest["news"] = "Closed", True


def _owner_words(state: Desk) -> dict[str, str]:
    """Return words for whose tickets are listed: those of whoever is logged in."""
    if state.current == state.colleague:
        return {"my": f"{state.colleague.name}'s", "do_i": f"does {state.colleague.name}"}
    return {"my": "my", "do_i": "do I"}


def _check_list(plan: Plan, status: str | None) -> None:
    """Check that a list of tickets has some, and that no result has shown it.

    Raises:
        Unfit: If there are none, or they have been shown.
    """
    own = plan.book(Desk).own(status)
    if all(ticket.known and not ticket["news"] for ticket in own):
        raise Unfit("nothing new in the list")


def _note_shown(plan: Plan, status: str | None) -> None:
    state = plan.book(Desk)
    for ticket in state.own(status):
        state.see(plan, ticket)
