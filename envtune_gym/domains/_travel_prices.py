"""What flights cost in TravelAPI, and what other currencies are worth."""

from __future__ import annotations

from envtune_gym.domains._travel_checks import is_date, refusal
from envtune_gym.domains._travel_tables import AIRPORTS, BASE_FARES, CLASS_FACTORS, USD_RATES
from envtune_gym.domains.base import ToolFailure

__all__ = ["exchange", "fare_multiplier", "flight_cost", "route_fare"]

_LONGEST_REPEATED = 1_000


def route_fare(travel_from: str, travel_to: str) -> float:
    """Return the economy fare of a direct flight.

    Raises:
        ToolFailure: If there is no such flight; officially `get_flight_cost` raises ValueError.
    """
    fare = BASE_FARES.get((travel_from, travel_to))
    if fare is None:
        raise _no_route(travel_from, travel_to, ValueError("No available route for the given airports."))
    return fare


def fare_multiplier(travel_class: str, travel_date: str) -> int:
    """Return by what class and day multiply an economy fare.

    A day counts double if the digits of its date add up to an even number.

    Raises:
        ToolFailure: If there is no such class; officially `get_flight_cost` raises ValueError.
    """
    factor = CLASS_FACTORS.get(travel_class) if isinstance(travel_class, str) else None
    if factor is None:
        text = "Invalid travel class. Options are: economy, business, first."
        raise _invalid_class(travel_class, ValueError(text))
    return factor if sum([int(char) for char in travel_date if char.isdigit()]) % 2 else 2 * factor


def flight_cost(travel_from: str, travel_to: str, travel_date: str, travel_class: str) -> float:
    """Return what a flight costs, or fail with what `book_flight` says of the first argument that is wrong."""
    status = "booking_status"
    for argument, airport, end in (("travel_from", travel_from, "departure"), ("travel_to", travel_to, "destination")):
        if airport not in AIRPORTS:
            official = refusal(f"Invalid {end} airport code: {airport}", status)
            raise ToolFailure("unknown_airport", official, argument=argument, value=airport)
    if not is_date(travel_date):
        official = refusal("Invalid date format. Use YYYY-MM-DD.", status)
        raise ToolFailure("invalid_date", official, argument="travel_date", value=travel_date)
    if travel_class not in CLASS_FACTORS:
        # Officially a set is printed, in an order that changes from run to run.
        official = refusal("Invalid travel class. Must be one of {'business', 'economy', 'first'}", status)
        raise _invalid_class(travel_class, official)
    fare = BASE_FARES.get((travel_from, travel_to))
    if fare is None:
        raise _no_route(travel_from, travel_to, refusal("No available route for the given airports.", status))
    return fare * fare_multiplier(travel_class, travel_date)


def exchange(base_currency: str, target_currency: str, value: float) -> float:
    """Convert an amount between US dollars and another currency; only amounts in other currencies are rounded.

    Raises:
        ToolFailure: If there is no such rate; officially `compute_exchange_rate` raises ValueError.
    """
    if base_currency == "USD" and isinstance(target_currency, str) and target_currency in USD_RATES:
        if isinstance(value, (str, list, tuple)):
            # The official tool repeats a sequence here, and a long one must not grow a hundredfold.
            value = value[:_LONGEST_REPEATED]
        return float(value * USD_RATES[target_currency])
    if target_currency == "USD" and isinstance(base_currency, str) and base_currency in USD_RATES:
        return round(value / USD_RATES[base_currency], 2)
    raise ToolFailure(
        "no_exchange_rate",
        ValueError("No available exchange rate for the given currencies."),
        argument="target_currency",
        value=target_currency,
        base_currency=base_currency,
        known=["USD", *USD_RATES],
    )


def _no_route(travel_from: str, travel_to: str, official: object) -> ToolFailure:
    for argument, airport in (("travel_from", travel_from), ("travel_to", travel_to)):
        if airport not in AIRPORTS:
            return ToolFailure("unknown_airport", official, argument=argument, value=airport)
    reachable = [destination for origin, destination in BASE_FARES if origin == travel_from]
    return ToolFailure(
        "no_route", official, argument="travel_to", value=travel_to, travel_from=travel_from, reachable=reachable
    )


def _invalid_class(travel_class: object, official: object) -> ToolFailure:
    known = list(CLASS_FACTORS)
    return ToolFailure("invalid_travel_class", official, argument="travel_class", value=travel_class, known=known)
