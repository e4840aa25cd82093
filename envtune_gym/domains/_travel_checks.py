"""What the tools of TravelAPI check before they act, and the typed failures with which they refuse."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from envtune_gym.domains.base import TODAY, ToolFailure

__all__ = [
    "booking_not_found",
    "card_not_found",
    "check_age_and_passport",
    "check_name",
    "incomplete_booking",
    "is_date",
    "refusal",
]


def refusal(text: str, status: str | None) -> dict[str, Any]:
    """Return an official error, after the tool's status flag if it has one."""
    return {"error": text} if status is None else {status: False, "error": text}


def card_not_found(card_id: object, known: Iterable[str], official: object) -> ToolFailure:
    """Return the failure for a card that is not registered."""
    return ToolFailure("card_not_found", official, argument="card_id", value=card_id, known=list(known))


def booking_not_found(booking_id: object, known: Iterable[str], status: str | None) -> ToolFailure:
    """Return the failure for a booking that does not exist."""
    official = refusal("Booking not found", status)
    return ToolFailure("booking_not_found", official, argument="booking_id", value=booking_id, known=list(known))


def incomplete_booking(booking_id: object, missing: KeyError) -> ToolFailure:
    """Return the failure for a booking of the initial configuration that lacks what the tool needs."""
    field = str(missing.args[0])
    return ToolFailure("incomplete_booking", missing, argument="booking_id", value=booking_id, missing=field)


def is_date(text: str) -> bool:
    """Tell whether a text is a date, written YYYY-MM-DD."""
    try:
        datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        return False
    return True


def check_name(user: tuple[str | None, str | None], given: tuple[str, str]) -> None:
    """Fail unless the first and last name given are those of the user who is logged in."""
    if user[0] == given[0] and user[1] == given[1]:
        return
    reason = f"Cannot book flight information for another user.Expected {user[0]} {user[1]}, got {given[0]} {given[1]}"
    if user[0] is None:
        raise _unfit("not_authenticated", reason)
    wrong = 1 if user[0] == given[0] else 0
    raise _unfit("another_traveler", reason, ("first_name", "last_name")[wrong], given[wrong], expected=user[wrong])


def check_age_and_passport(date_of_birth: str, passport_number: str) -> None:
    """Fail unless the date of birth is that of an adult and the passport is American."""
    try:
        born = datetime.strptime(date_of_birth, "%Y-%m-%d")
    except ValueError:
        reason = "Invalid date of birth format. Please use YYYY-MM-DD."
        raise _unfit("invalid_date", reason, "date_of_birth", date_of_birth) from None
    age = TODAY.year - born.year - ((TODAY.month, TODAY.day) < (born.month, born.day))
    if age < 18:
        reason = "Traveler must be at least 18 years old."
        raise _unfit("traveler_too_young", reason, "date_of_birth", date_of_birth, age=age)
    if not passport_number.startswith("US"):
        reason = "Passport must be issued by the United States."
        raise _unfit("foreign_passport", reason, "passport_number", passport_number)


def _unfit(code: str, reason: str, argument: str | None = None, value: object = None, **details: Any) -> ToolFailure:
    official = {"verification_status": False, "verification_failure": reason}
    return ToolFailure(code, official, argument=argument, value=value, **details)
