"""The support desk of TicketAPI's scenarios: who works there, which tickets there are, and words for problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.goals.people import password
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit

__all__ = ["FIXES", "Account", "Desk", "Problem", "spoken_of"]

# fmt: off
_DEVICES = (
    "projector", "badge reader", "franking machine", "cash register", "router", "dishwasher", "elevator", "scanner",
    "conference phone", "heating", "doorbell", "mail server", "time clock", "roller door", "alarm panel", "tablet",
    "air conditioning", "video wall", "backup drive", "laminator", "water cooler", "paper shredder", "guest wifi",
    "intercom",
)
_FAULTS = (
    "does not start", "keeps restarting", "is very slow", "shows an error", "has no power", "loses connection",
    "does not respond", "has to be reset daily", "is locked", "was set up wrongly", "stopped overnight",
)
_PLACES = (
    "the lobby", "room 214", "the warehouse", "our Lyon office", "the workshop", "the canteen", "the east wing",
    "room 31",
)
_SINCE = (
    "first noticed at {} am", "since about {} am", "reported at {} am", "going on for {} days",
    "{} people are affected", "happened {} times this week",
)
FIXES = (
    "Replaced the cable", "Installed the latest update", "Swapped the power supply", "Reset it to factory settings",
    "The supplier exchanged it", "Cleaned the contacts", "Restored the configuration from a backup",
    "Renewed the certificate", "Gave the user the missing rights", "Moved it to another socket",
)
# fmt: on


class Problem(NamedTuple):
    """What a ticket is about.

    Attributes:
        title: Title of the ticket.
        description: Its description.
        device: What is broken.
    """

    title: str
    description: str
    device: str


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who can log in to the desk.

    Attributes:
        name: What people call them.
        username: Their user name.
        password: Their password.
    """

    name: str
    username: str
    password: str


class Desk:
    """The desk as the goals so far have left it.

    Attributes:
        me: The user's own account.
        colleague: Somebody whose tickets the user may look after.
        current: Who is logged in.
        tickets: All tickets there are. For goals, those whose id the agent has seen are of the kind "ticket", others of
            the kind "unseen ticket".
    """

    def __init__(self, plan: Plan) -> None:
        rng, cast = plan.rng, plan.cast
        friend = cast.others[0]
        username = f"{cast.first[0]}{cast.last}".lower()
        self.me = Account(cast.full_name, username, password(rng))
        self.colleague = Account(friend, f"{friend.lower()}{rng.digits(2)}", password(rng))
        self.current: Account | None = self.me if rng.chance(0.6) else None
        self.tickets: list[Thing] = []
        self._devices = rng.sample(_DEVICES, len(_DEVICES))

    def problem(self, rng: Rng, besides: Thing | None = None) -> Problem:
        """Return a problem that no ticket is about, or another problem of what a ticket is about.

        Raises:
            Unfit: If there is none left.
        """
        if besides is None and not self._devices:
            raise Unfit("everything is broken already")
        device = self._devices.pop() if besides is None else str(besides["device"])
        fault = rng.pick([fault for fault in _FAULTS if besides is None or fault not in besides["title"]])
        since = rng.pick(_SINCE).format(rng.between(6, 11))
        title = f"{device.capitalize()} {fault}"
        return Problem(title, f"The {device} in {rng.pick(_PLACES)} {fault}, {since}", device)

    def needs_login(self, plan: Plan) -> str:
        """Return what the user says at the end of a request for which somebody has to be logged in.

        Raises:
            Unfit: If somebody has just logged in or out.
        """
        if self.current is not None:
            return ""
        self.check_login_is_settled(plan)
        words = (
            " My login at the desk is {name}, password {password}.",
            " Log me in as {name} for that; the password is {password}.",
            " You have to log me in first: user {name}, password {password}.",
            " I'm {name} at the ticket desk, with the password {password}.",
        )
        return plan.rng.pick(words).format(name=self.me.username, password=self.me.password)

    def check_login_is_settled(self, plan: Plan) -> None:
        """Check that nobody has just logged in or out.

        Raises:
            Unfit: If somebody has.
        """
        if plan.lately_called("ticket_login", "logout"):
            raise Unfit("just logged in or out")

    def log_in(self, plan: Plan, account: Account | None = None) -> None:
        """Log somebody in, or the user if nobody is logged in."""
        if account is None and self.current is not None:
            return
        account = account or self.me
        plan.call("ticket_login", username=account.username, password=account.password)
        self.current = account

    def add(self, plan: Plan, ticket: dict[str, Any], device: str, known: bool) -> Thing:
        """Add a ticket as results show it, and return it for goals to be about."""
        thing = plan.give(
            "ticket" if known else "unseen ticket",
            f"the ticket '{ticket['title']}'",
            known=known,
            id=ticket["id"],
            title=ticket["title"],
            description=ticket["description"],
            priority=ticket["priority"],
            status=ticket["status"],
            owner=ticket["created_by"],
            resolution=ticket.get("resolution"),
            device=device,
            news=False,
        )
        self.tickets.append(thing)
        return thing

    def see(self, plan: Plan, ticket: Thing) -> Thing:
        """Note that a result has shown a ticket as it is now, and return it."""
        ticket["news"] = False
        if not ticket.known:
            plan.drop(ticket)
            self.tickets.remove(ticket)
            ticket = plan.give("ticket", ticket.label, **ticket.values)
            self.tickets.append(ticket)
        return ticket

    def own(self, status: str | None) -> list[Thing]:
        """Return the tickets of whoever is logged in, or of the user if nobody is: of one status, or all."""
        owner = (self.current or self.me).username
        return [ticket for ticket in self.tickets if ticket["owner"] == owner and status in (None, ticket["status"])]


def spoken_of(ticket: Thing) -> Thing:
    """Note that a ticket has been spoken of by itself, so that it can be "that ticket" from now on, and return it."""
    ticket.short = ticket.short or ("that ticket", "this ticket", "the ticket")
    return ticket
