"""TicketAPI: the support desk of a company."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from envtune_gym.domains.base import Domain, ToolFailure, copy_plain, tool

__all__ = ["TicketAPI", "TicketUpdates"]

_DEFAULTS: Mapping[str, Any] = {"ticket_queue": [], "ticket_counter": 1, "current_user": None}

_STATUSES = frozenset({"open", "closed", "resolved"})
_EDITABLE = frozenset({"title", "description", "status", "priority"})


class TicketUpdates(TypedDict, total=False):
    """New values for some fields of a ticket.

    Args:
        title: New title; leave out to keep it.
        description: New description; leave out to keep it.
        status: New status; leave out to keep it.
        priority: New priority, 1 to 5; leave out to keep it.
    """

    title: str
    description: str
    status: str
    priority: int


class TicketAPI(Domain):
    """A queue of support tickets and the user who works on it.

    Creating and listing tickets needs a login; showing, closing, resolving and editing one by its id does not.

    Attributes:
        ticket_queue: Tickets in order of creation: `id`, `title`, `description`, `status`, `priority`,
            `created_by`, and `resolution` once resolved.
        ticket_counter: Id of the next ticket.
        current_user: Name of the user who is logged in, or None.
    """

    state_fields = ("ticket_queue", "ticket_counter", "current_user")

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        given = {**_DEFAULTS, **config}
        self.ticket_queue: list[dict[str, Any]] = copy_plain(given["ticket_queue"])
        self.ticket_counter = copy_plain(given["ticket_counter"])
        self.current_user = copy_plain(given["current_user"])

    @tool
    def create_ticket(self, title: str, description: str = "", priority: int = 1) -> dict[str, Any]:
        """Open a ticket in the name of the user who is logged in.

        Args:
            title: What the ticket is about.
            description: The details.
            priority: Urgency from 1 (lowest) to 5 (highest).

        Returns:
            The ticket: `id`, `title`, `description`, `status`, `priority`, `created_by`.
        """
        if not self.current_user:
            raise ToolFailure("not_authenticated", "User not authenticated. Please log in to create a ticket.")
        if priority < 1 or priority > 5:
            message = "Invalid priority. Priority must be between 1 and 5."
            raise ToolFailure("invalid_priority", message, argument="priority", value=priority)
        ticket = {
            "id": self.ticket_counter,
            "title": title,
            "description": description,
            "status": "Open",
            "priority": priority,
            "created_by": self.current_user,
        }
        self.ticket_queue.append(ticket)
        self.ticket_counter += 1
        return ticket

    @tool
    def get_ticket(self, ticket_id: int) -> dict[str, Any]:
        """Show one ticket.

        Args:
            ticket_id: Id of the ticket.

        Returns:
            The ticket: `id`, `title`, `description`, `status`, `priority`, `created_by`.
        """
        return self._find_ticket(ticket_id)

    @tool
    def close_ticket(self, ticket_id: int) -> dict[str, Any]:
        """Set a ticket to closed.

        Args:
            ticket_id: Id of the ticket.

        Returns:
            `status`: a confirmation.
        """
        ticket = self._find_ticket(ticket_id)
        if ticket["status"] == "Closed":
            message = f"Ticket with ID {ticket_id} is already closed."
            raise ToolFailure("already_closed", message, argument="ticket_id", value=ticket_id)
        ticket["status"] = "Closed"
        return {"status": f"Ticket {ticket_id} has been closed successfully."}

    @tool
    def resolve_ticket(self, ticket_id: int, resolution: str) -> dict[str, Any]:
        """Mark a ticket as resolved and note how.

        Args:
            ticket_id: Id of the ticket.
            resolution: How it was resolved.

        Returns:
            `status`: a confirmation.
        """
        ticket = self._find_ticket(ticket_id)
        if ticket["status"] == "Resolved":
            message = f"Ticket with ID {ticket_id} is already resolved."
            raise ToolFailure("already_resolved", message, argument="ticket_id", value=ticket_id)
        ticket["status"] = "Resolved"
        ticket["resolution"] = resolution
        return {"status": f"Ticket {ticket_id} has been resolved successfully."}

    @tool
    def edit_ticket(self, ticket_id: int, updates: TicketUpdates) -> dict[str, Any]:
        """Change fields of a ticket.

        Args:
            ticket_id: Id of the ticket.
            updates: New values by field.

        Returns:
            `status`: a confirmation.
        """
        ticket = self._find_ticket(ticket_id)
        unknown = sorted(set(updates.keys()) - _EDITABLE, key=str)
        if unknown:
            raise ToolFailure(
                "unknown_fields",
                f"Invalid fields for update: {', '.join(unknown)}",
                argument="updates",
                value=updates,
                unknown=unknown,
                editable=sorted(_EDITABLE),
            )
        changes = {field: value for field, value in updates.items() if value is not None}
        ticket.update(changes)
        official = {"status": f"Ticket {ticket_id} has been updated successfully."}
        if not changes:
            raise ToolFailure("no_updates", official, argument="updates", value=updates, silent=True)
        return official

    @tool
    def ticket_login(self, username: str, password: str) -> dict[str, Any]:
        """Log a user in.

        Args:
            username: Name of the user.
            password: The user's password; any but an empty one will do.

        Returns:
            `success`: false if the name or the password is empty.
        """
        if username and password:
            self.current_user = username
            return {"success": True}
        empty = ("password", password) if username else ("username", username)
        raise ToolFailure("empty_credentials", {"success": False}, argument=empty[0], value=empty[1], silent=True)

    @tool
    def ticket_get_login_status(self) -> dict[str, Any]:
        """Tell whether somebody is logged in.

        Returns:
            `login_status`: true after a login.
        """
        return {"login_status": bool(self.current_user)}

    @tool
    def logout(self) -> dict[str, Any]:
        """Log the user out.

        Returns:
            `success`: false if nobody was logged in.
        """
        if not self.current_user:
            raise ToolFailure("not_logged_in", {"success": False}, silent=True)
        self.current_user = None
        return {"success": True}

    @tool
    def get_user_tickets(self, status: str | None = None) -> list[dict[str, Any]]:
        """List the tickets of the user who is logged in.

        Args:
            status: List only tickets of this status, whatever its case; leave out for all.

        Returns:
            The tickets: `id`, `title`, `description`, `status`, `priority`, `created_by`.
        """
        if not self.current_user:
            message = "User not authenticated. Please log in to view tickets."
            raise ToolFailure("not_authenticated", [{"error": message}])
        tickets = [ticket for ticket in self.ticket_queue if ticket["created_by"] == self.current_user]
        if status:
            tickets = [ticket for ticket in tickets if ticket["status"].lower() == status.lower()]
            if not tickets and isinstance(status, str) and status.lower() not in self._statuses():
                raise ToolFailure("unknown_status", tickets, argument="status", value=status, silent=True)
        return tickets

    def _statuses(self) -> frozenset[str]:
        """Return the statuses that the tools give, and those that any ticket has, in lower case."""
        return _STATUSES | {str(ticket.get("status")).lower() for ticket in self.ticket_queue}

    def _find_ticket(self, ticket_id: int) -> dict[str, Any]:
        for ticket in self.ticket_queue:
            if ticket["id"] == ticket_id:
                return ticket
        raise ToolFailure(
            "ticket_not_found",
            f"Ticket with ID {ticket_id} not found.",
            argument="ticket_id",
            value=ticket_id,
            known=[ticket["id"] for ticket in self.ticket_queue],
        )
