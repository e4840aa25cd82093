"""TravelAPI: flights, credit cards, budget and travel insurance."""

from __future__ import annotations

from typing import Any, ClassVar

from envtune_gym.domains._travel_account import TravelAccount
from envtune_gym.domains._travel_checks import (
    card_not_found,
    check_age_and_passport,
    check_name,
    incomplete_booking,
    refusal,
)
from envtune_gym.domains._travel_prices import exchange, fare_multiplier, flight_cost, route_fare
from envtune_gym.domains._travel_tables import AIRPORT_OF_CITY, AIRPORTS, BASE_FARES
from envtune_gym.domains.base import ToolFailure, tool

__all__ = ["TravelAPI"]

_INVOICE_FIELDS = ("travel_date", "travel_from", "travel_to", "travel_class", "travel_cost", "transaction_id")


class TravelAPI(TravelAccount):
    """Flights, credit cards, budget and travel insurance, behind an access token.

    State: the credit cards and bookings by id, the access token with its type, scope and expiry, the
    traveller's name and the budget limit. A card or booking is replaced when it changes and never altered in
    place, so that copies of the state may share it.

    Official module: `travel_booking.py`.
    """

    random_tools: ClassVar[frozenset[str]] = frozenset(
        {"authenticate_travel", "register_credit_card", "book_flight", "purchase_insurance"}
    )

    @tool
    def authenticate_travel(
        self,
        client_id: str,
        client_secret: str,
        refresh_token: str,
        grant_type: str,
        user_first_name: str,
        user_last_name: str,
    ) -> dict[str, Any]:
        """Log a traveller in and issue the access token that the other travel tools ask for.

        Args:
            client_id: Id of the client application.
            client_secret: Secret of the client application.
            refresh_token: Refresh token of an earlier authentication.
            grant_type: Scope of the new token: read_write, read or write.
            user_first_name: First name of the traveller.
            user_last_name: Last name of the traveller.

        Returns:
            expires_in, access_token, token_type and scope.
        """
        self.token_expires_in = 2
        self.access_token = str(self._random.generator.randint(100_000, 999_999))
        self.token_type = "Bearer"  # noqa: S105 (a kind of token, not a password)
        self.token_scope = grant_type
        self.user_first_name = user_first_name
        self.user_last_name = user_last_name
        return {
            "expires_in": 2,
            "access_token": self.access_token,
            "token_type": self.token_type,
            "scope": grant_type,
        }

    @tool
    def travel_get_login_status(self) -> dict[str, bool]:
        """Tell whether a traveller is logged in with a token that has not expired.

        Returns:
            status: True when logged in.
        """
        return {"status": self.token_expires_in is not None and self.token_expires_in != 0}

    @tool
    def get_budget_fiscal_year(
        self, lastModifiedAfter: str | None = None, includeRemoved: str | None = None
    ) -> dict[str, str]:
        """Look up the fiscal year to which the travel budget belongs.

        Args:
            lastModifiedAfter: Only fiscal years changed after this UTC time, written YYYY-MM-DDTHH:MM:SS.
            includeRemoved: "true" to include fiscal years that have been removed.

        Returns:
            budget_fiscal_year: The year.
        """
        return {"budget_fiscal_year": "2018"}

    @tool
    def register_credit_card(
        self,
        access_token: str,
        card_number: str,
        expiration_date: str,
        cardholder_name: str,
        card_verification_number: int,
    ) -> dict[str, str]:
        """Add a credit card with which bookings can be paid.

        Args:
            access_token: Token from authenticate_travel.
            card_number: Number of the card.
            expiration_date: When the card expires, written MM/YYYY.
            cardholder_name: Name on the card.
            card_verification_number: Verification number of the card.

        Returns:
            card_id: Id by which the other tools know the card.
        """
        if self.token_expires_in is None:
            raise ToolFailure("not_authenticated", "Token not initialized")
        self._require_token(access_token)
        if card_number in self.credit_card_list:
            raise ToolFailure(
                "card_already_registered", "Card already registered", argument="card_number", value=card_number
            )
        draw = self._random.generator.randint
        card_id = str(draw(100_000_000_000, 999_999_999_999))
        self.credit_card_list[card_id] = {
            "card_number": card_number,
            "expiration_date": expiration_date,
            "cardholder_name": cardholder_name,
            "card_verification_number": card_verification_number,
            "balance": draw(10_000, 99_999),
        }
        return {"card_id": card_id}

    @tool
    def get_flight_cost(
        self, travel_from: str, travel_to: str, travel_date: str, travel_class: str
    ) -> dict[str, list[float]]:
        """Quote the price in USD of a direct flight on a given day.

        Args:
            travel_from: Three-letter code of the airport of departure.
            travel_to: Three-letter code of the airport of arrival.
            travel_date: Day of the flight, written YYYY-MM-DD.
            travel_class: economy, business or first.

        Returns:
            travel_cost_list: The price, as the only item of a list.
        """
        fare = route_fare(travel_from, travel_to)
        multiplier = fare_multiplier(travel_class, travel_date)
        fares = BASE_FARES.values() if self.long_context else (fare,)
        return {"travel_cost_list": [fare * multiplier for fare in fares]}

    @tool
    def get_credit_card_balance(self, access_token: str, card_id: str) -> dict[str, float]:
        """Look up the money left on a credit card.

        Args:
            access_token: Token from authenticate_travel.
            card_id: Id of the registered card.

        Returns:
            card_balance: The balance in USD.
        """
        self._require_token(access_token)
        if card_id not in self.credit_card_list:
            known = list(self.credit_card_list)
            official = f"Card not registered. Here are a list of card_id's: {known}"
            raise card_not_found(card_id, known, official)
        return {"card_balance": self.credit_card_list[card_id]["balance"]}

    @tool
    def book_flight(
        self,
        access_token: str,
        card_id: str,
        travel_date: str,
        travel_from: str,
        travel_to: str,
        travel_class: str,
    ) -> dict[str, Any]:
        """Book a direct flight and pay for it with a registered card.

        Args:
            access_token: Token from authenticate_travel.
            card_id: Id of the registered card that pays.
            travel_date: Day of the flight, written YYYY-MM-DD.
            travel_from: Three-letter code of the airport of departure.
            travel_to: Three-letter code of the airport of arrival.
            travel_class: economy, business or first.

        Returns:
            booking_id, transaction_id, booking_status, and booking_history (which may be empty although there
            are bookings).
        """
        status = "booking_status"
        self._require_token(access_token, status)
        if card_id not in self.credit_card_list:
            raise card_not_found(card_id, self.credit_card_list, refusal("Card not registered", status))
        card = self.credit_card_list[card_id]
        if "balance" not in card:
            official = refusal("Balance not found", status)
            raise ToolFailure("balance_missing", official, argument="card_id", value=card_id)
        cost = flight_cost(travel_from, travel_to, travel_date, travel_class)
        money = {"balance": card["balance"], "cost": cost, "budget_limit": self.budget_limit}
        if card["balance"] < cost:
            official = refusal("Insufficient funds", status)
            raise ToolFailure("insufficient_funds", official, argument="card_id", value=card_id, **money)
        if self.budget_limit is not None and card["balance"] < self.budget_limit:
            official = refusal("Balance is less than budget limit", status)
            raise ToolFailure("balance_below_budget", official, argument="card_id", value=card_id, **money)
        self._charge(card_id, cost)
        draw = self._random.generator.randint
        booking_id = str(draw(1_000_000, 9_999_999))
        transaction_id = str(draw(10_000_000, 99_999_999))
        self.booking_record[booking_id] = {
            "card_id": card_id,
            "travel_date": travel_date,
            "travel_from": travel_from,
            "travel_to": travel_to,
            "travel_class": travel_class,
            "travel_cost": cost,
            "transaction_id": transaction_id,
        }
        return {
            "booking_id": booking_id,
            "transaction_id": transaction_id,
            "booking_status": True,
            "booking_history": self.booking_record.copy() if self.long_context else {},
        }

    @tool
    def retrieve_invoice(
        self, access_token: str, booking_id: str | None = None, insurance_id: str | None = None
    ) -> dict[str, Any]:
        """Print the invoice of a booking.

        Args:
            access_token: Token from authenticate_travel.
            booking_id: Id of the booking.
            insurance_id: Id of an insurance bought for it.

        Returns:
            invoice: Id, date, route, class, cost and transaction of the booking.
        """
        self._require_token(access_token)
        booking = self._booking(booking_id)
        try:
            details = {name: booking[name] for name in _INVOICE_FIELDS}
        except KeyError as missing:
            raise incomplete_booking(booking_id, missing) from None
        return {"invoice": {"booking_id": booking_id, **details}}

    @tool
    def get_booking_history(self, access_token: str) -> dict[str, Any]:
        """List all bookings of the traveller.

        Args:
            access_token: Token from authenticate_travel.

        Returns:
            booking_history: The details of each booking, by booking id.
        """
        self._require_token(access_token)
        return {"booking_history": self.booking_record.copy()}

    @tool
    def list_all_airports(self) -> list[str]:
        """List the codes of all airports that can be booked.

        Returns:
            Three-letter codes.
        """
        return list(AIRPORTS)

    @tool
    def cancel_booking(self, access_token: str, booking_id: str) -> dict[str, bool]:
        """Cancel a booking and refund what it cost to the card that paid for it.

        Args:
            access_token: Token from authenticate_travel.
            booking_id: Id of the booking.

        Returns:
            cancel_status: True when the booking has been cancelled.
        """
        self._require_token(access_token, "cancel_status")
        booking = self._booking(booking_id, "cancel_status")
        try:
            card_id, cost = booking["card_id"], booking["travel_cost"]
        except KeyError as missing:
            raise incomplete_booking(booking_id, missing) from None
        if card_id not in self.credit_card_list:
            official = KeyError(card_id)
            raise ToolFailure("refund_card_missing", official, argument="booking_id", value=booking_id, card_id=card_id)
        self._charge(card_id, -cost)
        del self.booking_record[booking_id]
        return {"cancel_status": True}

    @tool
    def compute_exchange_rate(self, base_currency: str, target_currency: str, value: float) -> dict[str, float]:
        """Convert an amount of money between US dollars and another currency.

        Args:
            base_currency: Currency of the amount: USD, RMB, EUR, JPY, GBP, CAD, AUD, INR, RUB, BRL or MXN.
            target_currency: Currency to convert to, from the same list.
            value: The amount.

        Returns:
            exchanged_value: The amount in the target currency.
        """
        return {"exchanged_value": exchange(base_currency, target_currency, value)}

    @tool
    def verify_traveler_information(
        self, first_name: str, last_name: str, date_of_birth: str, passport_number: str
    ) -> dict[str, Any]:
        """Check that the person who travels is the one logged in, is of age and holds a US passport.

        Args:
            first_name: First name of the traveller.
            last_name: Last name of the traveller.
            date_of_birth: Date of birth, written YYYY-MM-DD.
            passport_number: Number of the passport.

        Returns:
            verification_status, and verification_failure with the reason when it is False.
        """
        check_name((self.user_first_name, self.user_last_name), (first_name, last_name))
        check_age_and_passport(date_of_birth, passport_number)
        return {"verification_status": True}

    @tool
    def set_budget_limit(self, access_token: str, budget_limit: float) -> dict[str, float]:
        """Set how much may be spent.

        Args:
            access_token: Token from authenticate_travel.
            budget_limit: The limit in USD.

        Returns:
            budget_limit: The limit now in force.
        """
        self._require_token(access_token)
        self.budget_limit = float(budget_limit)
        return {"budget_limit": self.budget_limit}

    @tool
    def get_nearest_airport_by_city(self, location: str) -> dict[str, str]:
        """Find the airport that serves a city.

        Args:
            location: Name of the city, one of Rivermist, Stonebrook, Maplecrest, Silverpine, Shadowridge, London,
                Paris, Sunset Valley, Oakendale, Willowbend, Crescent Hollow, Autumnville, Pinehaven, Greenfield,
                San Francisco, Los Angeles, New York, Chicago, Boston, Beijing, Hong Kong, Rome and Tokyo.

        Returns:
            nearest_airport: Three-letter code.
        """
        airport = AIRPORT_OF_CITY.get(location)
        if airport is None:
            official = {"nearest_airport": "Unknown"}
            raise ToolFailure("unknown_city", official, argument="location", value=location, silent=True)
        return {"nearest_airport": airport}

    @tool
    def purchase_insurance(
        self, access_token: str, insurance_type: str, booking_id: str, insurance_cost: float, card_id: str
    ) -> dict[str, Any]:
        """Buy an insurance for a booking.

        Args:
            access_token: Token from authenticate_travel.
            insurance_type: Kind of insurance.
            booking_id: Id of the booking that it covers.
            insurance_cost: Price in USD.
            card_id: Id of the registered card that pays.

        Returns:
            insurance_id and insurance_status.
        """
        status = "insurance_status"
        self._require_token(access_token, status)
        if self.budget_limit is not None and self.budget_limit < insurance_cost:
            official = refusal("Exceeded budget limit", status)
            limit = self.budget_limit
            raise ToolFailure(
                "budget_exceeded", official, argument="insurance_cost", value=insurance_cost, budget_limit=limit
            )
        self._booking(booking_id, status)
        if card_id not in self.credit_card_list:
            raise card_not_found(card_id, self.credit_card_list, refusal("Credit card not registered", status))
        self._charge(card_id, insurance_cost)
        return {
            "insurance_id": str(self._random.generator.randint(100_000_000, 999_999_999)),
            "insurance_status": True,
        }

    @tool
    def contact_customer_support(self, booking_id: str, message: str) -> dict[str, str]:
        """Send a message about a booking to customer support.

        Args:
            booking_id: Id of the booking.
            message: What to say.

        Returns:
            customer_support_message: The reply.
        """
        self._booking(booking_id)
        return {
            "customer_support_message": "Thank you for contacting customer support. "
            "Your message has been received and we will get back to you shortly."
        }

    @tool
    def get_all_credit_cards(self) -> dict[str, Any]:
        """List all registered credit cards.

        Returns:
            credit_card_list: Number, expiry, holder, verification number and balance of each card, by card id.
        """
        return {"credit_card_list": self.credit_card_list.copy()}
