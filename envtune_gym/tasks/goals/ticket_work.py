"""Goals of TicketAPI about single tickets: reading, changing, resolving, closing, reopening and copying one."""

from __future__ import annotations

from collections.abc import Sequence

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.ticket_desk import FIXES, Desk, spoken_of

_CHANGES = ("edit_ticket", "close_ticket", "resolve_ticket")
_STATUSES = ("Open", "Closed", "Resolved")


@goal("TicketAPI", needs=("unseen ticket",), weight=1.3)
def read_a_ticket_by_number(plan: Plan) -> None:
    """State the number of a colleague's ticket, which no list of one's own shows, and ask for the ticket."""
    state = plan.book(Desk)
    if state.current == state.colleague:
        raise Unfit("the agent can list them")
    ticket = plan.take("unseen ticket", where=lambda ticket: ticket["owner"] == state.colleague.username)
    plan.ask(
        "[Show me|Pull up|Bring up|Get me] ticket [number |no. |]{number}[, which|; it's one that] {name} "
        "[passed on to|shared with] me.",
        "Our colleague {name} [mentioned|told me about] ticket {number}[. What|; what] does it say?",
        "[Could|Can] you [fetch|show me|look up] [the ticket with the id|ticket] {number}? {name} asked me to "
        "[have a look|take care of it].",
        vague=(
            "[Show me|Pull up|Bring up|Get me] the ticket that {name} [passed on to|shared with] me.",
            "Our colleague {name} [mentioned|told me about] a ticket[. What|; what] does it say?",
        ),
        answer=("[It's|That's|The number is] {number}.", "[Number|Ticket] {number}[, I was told|]."),
        withhold=("get_ticket",),
        number=ticket["id"],
        name=state.colleague.name,
    )
    plan.call("get_ticket", ticket_id=ticket["id"])
    spoken_of(state.see(plan, ticket))


@goal("TicketAPI", needs=("ticket",), weight=0.7)
def show_a_changed_ticket(plan: Plan) -> None:
    """Ask for a ticket as it is after a change."""
    ticket = _pick(plan, [ticket for ticket in plan.things("ticket") if ticket["news"]])
    plan.ask(
        "[Show me|Pull up|Let me see|Get me] {ticket} as it is now.",
        "[I want to be sure that it's right|Just to check|I need it for my records]: [show me|fetch] {ticket} "
        "[once more|again][, please|].",
        "[Could|Can] you [fetch|show me] {ticket} [again|once more][, so that I can check the change|]?",
        ticket=ticket,
    )
    plan.call("get_ticket", ticket_id=ticket["id"])
    plan.book(Desk).see(plan, spoken_of(ticket))


@goal("TicketAPI", needs=("ticket",), weight=0.7)
def change_the_priority(plan: Plan) -> None:
    """Ask for another priority of a ticket."""
    _check_slept_on(plan)
    ticket = _settled(plan, "edit_ticket")
    priority = plan.rng.pick([number for number in range(1, 6) if number != ticket["priority"]])
    more = priority > ticket["priority"]
    plan.ask(
        f"[Change|Set|Please change] the priority of {{ticket}} to {{priority}}[{_URGENT if more else _CALM}|].",
        f"[{_WHY_URGENT if more else _WHY_CALM}]. "
        "[Give {ticket} priority {priority}|Edit {ticket}: the priority should be {priority}].",
        "[Could|Can] you [edit {ticket} so that it has|give {ticket}] priority {priority}?",
        withhold=("edit_ticket",),
        ticket=ticket,
        priority=priority,
    )
    _edit(plan, ticket, "priority", priority)


@goal("TicketAPI", needs=("ticket",), weight=1.3)
def rewrite_the_description(plan: Plan) -> None:
    """Dictate a new description of a ticket."""
    state = plan.book(Desk)
    ticket = _settled(plan, "edit_ticket")
    text = (
        plan.rng.pick(("Not what it seemed. ", "On a closer look: ", "")) + state.problem(plan.rng, ticket).description
    )
    plan.ask(
        "[Change|Replace|Please change] the description of {ticket}[; it should read| so that it reads]: '{text}'.",
        "[I've looked into it|We know more now|The first report was wrong]. [Edit|Please edit] {ticket} and make the "
        "description '{text}'.",
        "[Could|Can] you update {ticket}[ for me|]? [The|Its] new description is '{text}'.",
        vague=(
            "[Change|Rewrite|Please change] the description of {ticket}.",
            "[I've looked into it|We know more now|The first report was wrong]. [Edit|Please edit] {ticket} and put in "
            "the new description.",
        ),
        answer=(
            "[It should read|The new text is|Make it] '{text}'.",
            "[Sorry, here it is|The new description]: '{text}'.",
        ),
        withhold=("edit_ticket",),
        ticket=ticket,
        text=text,
    )
    _edit(plan, ticket, "description", text)


@goal("TicketAPI", needs=("ticket",), weight=0.8)
def retitle_a_ticket(plan: Plan) -> None:
    """Ask for another title."""
    _check_slept_on(plan)
    state = plan.book(Desk)
    ticket = _settled(plan, "edit_ticket")
    title = state.problem(plan.rng, ticket).title
    plan.ask(
        "[Rename|Retitle|Please rename] {ticket}[; it|, which] should be called '{title}'[ from now on|].",
        "[The title is misleading|Nobody finds it under that name|I described it badly]. [Edit|Please edit] {ticket}: "
        "its title should be '{title}'.",
        "[Could|Can] you [change|set] the title of {ticket} to '{title}'?",
        vague=(
            "[Rename|Retitle|Please rename] {ticket}.",
            "[The title is misleading|Nobody finds it under that name|I described it badly]. [Give|Please give] "
            "{ticket} the title we have agreed on.",
        ),
        answer=("[Call it|The new title is|It should be] '{title}'.", "'{title}'[, please|]."),
        withhold=("edit_ticket",),
        ticket=ticket,
        title=title,
    )
    _edit(plan, ticket, "title", title)
    ticket.label = f"the ticket '{title}'"


@goal("TicketAPI", needs=("ticket",), weight=1.5)
def resolve_with_a_note(plan: Plan) -> None:
    """Ask to resolve a ticket with a note that the user dictates."""
    ticket = _settled(plan, *_CHANGES, status=("Open",))
    fix = plan.rng.pick(FIXES)
    plan.ask(
        "[Resolve|Please resolve] {ticket}[; the resolution is| with the resolution|, and note as the resolution] "
        "'{fix}'.",
        "[It works again|The technician was here|That one is done|Good news from the workshop]. Mark {ticket} as "
        "resolved [with the note|and give as "
        "the resolution] '{fix}'.",
        "[Could|Can] you mark {ticket} as resolved[ for me|]? [What we did|The resolution]: '{fix}'.",
        vague=(
            "[Resolve|Please resolve] {ticket} with a note on [how it was solved|what was done].",
            "[It works again|The technician was here|That one is done]. Mark {ticket} as resolved and say "
            "[how|what we did].",
        ),
        answer=("[The note is|Write|Put] '{fix}'.", "[The resolution|What we did]: '{fix}'."),
        withhold=("resolve_ticket",),
        ticket=ticket,
        fix=fix,
    )
    _resolve(plan, ticket, fix)


@goal("TicketAPI", needs=("ticket",), weight=2.0)
def resolve_like_another(plan: Plan) -> None:
    """Ask to resolve a ticket in the very words of one that is resolved."""
    ticket = _settled(plan, *_CHANGES, status=("Open",))
    models = [t for t in plan.things("ticket") if t["status"] == "Resolved" and t is not ticket]
    if not models:
        raise Unfit("nothing resolved")
    model = plan.rng.pick(models)
    plan.ask(
        "[Resolve|Please resolve] {ticket} with [the same resolution as|the exact resolution of] '{model}'.",
        "[It was the same cause|The same trick helped|We did the same thing again] as with '{model}'. [Mark|So mark] "
        "{ticket} as resolved, with "
        "[exactly that resolution|the identical resolution].",
        "[Could|Can] you mark {ticket} as resolved and [copy|take over] the resolution from '{model}'[ unchanged|]?",
        withhold=("resolve_ticket",),
        ticket=ticket,
        model=model["title"],
    )
    _resolve(plan, ticket, model["resolution"])


@goal("TicketAPI", needs=("ticket",), weight=0.8)
def close_a_ticket(plan: Plan) -> None:
    """Ask to close a ticket."""
    _check_slept_on(plan)
    ticket = _settled(plan, *_CHANGES, status=("Open",))
    plan.ask(
        "[Close|Please close|You can close] {ticket}[, it is obsolete|, we no longer need it|].",
        "[Nobody is waiting for that any more|That turned out to be a false alarm|The device was scrapped|It was a "
        "duplicate]. [Close|Please close] {ticket}.",
        "[Could|Can] you close {ticket}[ for me|, please|]?",
        ticket=ticket,
    )
    plan.call("close_ticket", ticket_id=ticket["id"])
    spoken_of(ticket)
    ticket["status"], ticket["news"] = "Closed", True


@goal("TicketAPI", needs=("ticket",), weight=0.7)
def reopen_a_ticket(plan: Plan) -> None:
    """Ask to set a finished ticket back to open."""
    ticket = _settled(plan, *_CHANGES, status=("Closed", "Resolved"))
    plan.ask(
        "[Reopen|Please reopen] {ticket}: [set|edit] its status [back |]to 'Open'.",
        "[It happened again|We were too optimistic|The fault is back|That was premature]. [Edit|Please edit] {ticket} "
        "so that its status is 'Open'[ again|].",
        "[Could|Can] you change the status of {ticket} [back |]to 'Open'?",
        withhold=("edit_ticket",),
        ticket=ticket,
    )
    _edit(plan, ticket, "status", "Open")


@goal("TicketAPI", needs=("ticket",), weight=6.0)
def copy_a_ticket(plan: Plan) -> None:
    """Ask for a new ticket with what a colleague's ticket says."""
    state = plan.book(Desk)
    if state.current == state.colleague:
        raise Unfit("a ticket in the user's own name needs the user's own login")
    login = state.needs_login(plan)
    others = [ticket for ticket in plan.things("ticket") if ticket["owner"] != state.me.username]
    ticket = _pick(plan, [ticket for ticket in others if ticket["status"] == "Open" and not ticket["news"]])
    plan.ask(
        "[Open|Create|Please create] a ticket [of my own|in my name] that says the same as {ticket}: same title, same "
        "description, same "
        "priority.{login}",
        "[I'm affected as well|We have that here too|The same goes for my team]. [Open|Please open] a new ticket with "
        "the title, description and "
        "priority of {ticket}, word for word.{login}",
        "[Could|Can] you copy {ticket} into a new one, with the title, description and priority "
        "[unchanged|exactly as they are]?{login}",
        withhold=("create_ticket",),
        ticket=ticket,
        login=login,
    )
    state.log_in(plan)
    new = plan.call(
        "create_ticket", title=ticket["title"], description=ticket["description"], priority=ticket["priority"]
    )
    plan.drop(ticket)  # which of the two would be meant from now on?
    spoken_of(state.add(plan, new, ticket["device"], known=True))


_URGENT = "; it's urgent|; this can't wait|; people are waiting"
_CALM = "; it can wait|; there's no hurry|; nobody is waiting"
_WHY_URGENT = "The boss has asked about it|More people complain by the hour|This is getting urgent"
_WHY_CALM = "There's a workaround|It turned out to be a small thing|There are worse problems"


def _pick(plan: Plan, tickets: list[Thing]) -> Thing:
    """Return one of some tickets, often the latest.

    Raises:
        Unfit: If there is none.
    """
    if not tickets:
        raise Unfit("no such ticket")
    return tickets[-1] if plan.rng.chance(0.6) else plan.rng.pick(tickets)


def _settled(plan: Plan, *tools: str, status: Sequence[str] = _STATUSES) -> Thing:
    """Return a ticket that the agent has seen, of some status, to change it.

    Args:
        plan: The plan.
        tools: Tools by which the last two steps, which may be part of the same turn, must not have changed it: one call
            could edit all that two requests ask for, and nobody reopens and closes a ticket in one message.
        status: What its status may be.

    Raises:
        Unfit: If there is none.
    """
    changed = {call.kwargs["ticket_id"] for step in plan.steps[-3:-1] for call in step.calls if call.name in tools}
    return _pick(
        plan,
        [ticket for ticket in plan.things("ticket") if ticket["status"] in status and ticket["id"] not in changed],
    )


def _check_slept_on(plan: Plan) -> None:
    """Check that the last step, which may be part of the same turn, has created no ticket.

    Raises:
        Unfit: If it has: nobody gives a ticket a title and in the same breath another.
    """
    if plan.lately_called("create_ticket", steps=1):
        raise Unfit("just created")


def _edit(plan: Plan, ticket: Thing, field: str, value: object) -> None:
    plan.call("edit_ticket", ticket_id=ticket["id"], updates={field: value})
    spoken_of(ticket)
    ticket[field], ticket["news"] = value, True


def _resolve(plan: Plan, ticket: Thing, resolution: str) -> None:
    plan.call("resolve_ticket", ticket_id=ticket["id"], resolution=resolution)
    spoken_of(ticket)
    ticket["status"], ticket["resolution"], ticket["news"] = "Resolved", resolution, True
