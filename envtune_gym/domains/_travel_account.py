"""What TravelAPI keeps, and what its tools share: the traveller's token, cards and bookings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import Self

from envtune_gym.domains._travel_checks import booking_not_found, refusal
from envtune_gym.domains.base import Domain, LazyRandom, ToolFailure, copy_plain

__all__ = ["TravelAccount"]


class TravelAccount(Domain):
    """A traveller's access token, credit cards, bookings and budget."""

    state_fields: ClassVar[tuple[str, ...]] = (
        "credit_card_list",
        "booking_record",
        "access_token",
        "token_type",
        "token_expires_in",
        "token_scope",
        "user_first_name",
        "user_last_name",
        "budget_limit",
        "long_context",
    )
    hidden_fields: ClassVar[tuple[str, ...]] = ("_random",)

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        get = config.get
        self._random = LazyRandom(get("random_seed", 141053))
        self.credit_card_list: dict[str, dict[str, Any]] = copy_plain(get("credit_card_list", {}))
        self.booking_record: dict[str, dict[str, Any]] = copy_plain(get("booking_record", {}))
        self.access_token: str | None = get("access_token")
        self.token_type: str | None = get("token_type")
        self.token_expires_in: int | None = get("token_expires_in")
        self.token_scope: str | None = get("token_scope")
        self.user_first_name: str | None = get("user_first_name")
        self.user_last_name: str | None = get("user_last_name")
        self.budget_limit: float | None = get("budget_limit")
        self.long_context = filler is not None
        if filler is not None:
            for card_id, card in filler["CREDIT_CARD_EXTENSION"].items():
                self.credit_card_list.setdefault(card_id, card)
            for booking_id, booking in filler["BOOKING_RECORD_EXTENSION"].items():
                self.booking_record.setdefault(booking_id, booking)

    def fork(self) -> Self:
        """Return an independent copy; cards and bookings, which never change in place, are shared."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.credit_card_list = self.credit_card_list.copy()
        copy.booking_record = self.booking_record.copy()
        copy._random = self._random.fork()
        return copy

    def _require_token(self, access_token: str, status: str | None = None) -> None:
        """Fail unless the token is the one in force; `status` names the flag that the tool's refusals carry."""
        if self.token_expires_in == 0:
            raise ToolFailure("token_expired", refusal("Token expired", status))
        if access_token != self.access_token:
            official = refusal("Invalid access token", status)
            if self.access_token is None:
                raise ToolFailure("not_authenticated", official)
            raise ToolFailure("invalid_token", official, argument="access_token", value=access_token)

    def _booking(self, booking_id: str | None, status: str | None = None) -> dict[str, Any]:
        if booking_id not in self.booking_record:
            raise booking_not_found(booking_id, self.booking_record, status)
        return self.booking_record[booking_id]

    def _charge(self, card_id: str, cost: float) -> None:
        card = self.credit_card_list[card_id]
        balance = card["balance"]
        balance -= cost
        self.credit_card_list[card_id] = {**card, "balance": balance}
