"""What the goals of TravelAPI keep in mind: who travels, and which cards and bookings are known."""

from __future__ import annotations

from dataclasses import dataclass, field

from envtune_gym.domains._travel_prices import fare_multiplier
from envtune_gym.domains._travel_tables import AIRPORT_OF_CITY, BASE_FARES
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.wording import word

__all__ = [
    "CLASSES",
    "CURRENCIES",
    "ROUTES",
    "Traveller",
    "charge",
    "fare",
    "find_airports_of",
    "find_booking",
    "find_card",
    "give_price",
    "lookup_note",
    "note_listed",
    "pick_payer",
    "pick_route",
    "token_note",
]

CLASSES = ("economy", "business", "first")
CURRENCIES = {
    "EUR": "euros", "GBP": "British pounds", "CAD": "Canadian dollars", "AUD": "Australian dollars", "JPY": "yen",
    "RMB": "yuan", "INR": "Indian rupees", "BRL": "Brazilian reals", "MXN": "Mexican pesos",
}  # fmt: skip
"""Currencies that can be changed for US dollars, and what people call them."""

_CITY_OF_AIRPORT = {airport: city for city, airport in AIRPORT_OF_CITY.items()}
_TAKEN = (
    ("San Francisco", "Los Angeles"), ("San Francisco", "Rome"), ("New York", "Los Angeles"),
    ("Rivermist", "Los Angeles"), ("Los Angeles", "Tokyo"),
)  # fmt: skip
"""Trips that the official benchmark is fond of: requests for them would read like its own."""
ROUTES = tuple(
    route
    for origin, target in BASE_FARES
    if target in _CITY_OF_AIRPORT and (route := (_CITY_OF_AIRPORT[origin], _CITY_OF_AIRPORT[target])) not in _TAKEN
)
"""Cities between which one can fly; routes have a direction."""


@dataclass
class Traveller:
    """Notes on the traveller.

    Attributes:
        token: The access token in force; empty while nobody is logged in.
        token_said: Whether the agent knows the token.
        budget: The limit in force, or None.
        budget_set: Whether a goal has set it.
        listed: Whether the agent has seen the bookings as they are.
        history_seen: Whether it has ever seen a list of them, and so the ids of cards.
        cities: Cities whose airports have been looked up.
        quoted: Prices of flights that have been asked for.
    """

    token: str
    token_said: bool
    budget: float | None
    budget_set: bool = False
    listed: bool = False
    history_seen: bool = False
    cities: set[str] = field(default_factory=set)
    quoted: set[float] = field(default_factory=set)


def token_note(plan: Plan) -> str:
    """Return a sentence that says the access token; nothing if the agent knows it."""
    notes = plan.book(Traveller)
    if notes.token_said:
        return ""
    notes.token_said = True
    templates = (" [My access token is|The access token is|My token is|Use the access token] {token}.",)
    return word(plan.rng, templates, {"token": notes.token})


def fare(origin: str, target: str, day: str, seat: str) -> float:
    """Return what a flight between two cities costs."""
    return BASE_FARES[AIRPORT_OF_CITY[origin], AIRPORT_OF_CITY[target]] * fare_multiplier(seat, day)


def give_price(plan: Plan, value: float, label: str, *short: str) -> None:
    """Leave an amount of US dollars behind for later goals."""
    plan.give("dollars", label, short, value=value)
    plan.give("figure", label, short, value=value)


def pick_route(plan: Plan) -> Thing:
    """Return a route whose airports have been looked up, or another one, which is not known, between new cities."""
    if plan.has("route") and plan.rng.chance(0.7):
        return plan.take("route")
    cities = plan.book(Traveller).cities
    new = [route for route in ROUTES if cities.isdisjoint(route)]
    if not new:
        raise Unfit("no new cities")
    origin, target = plan.rng.pick(new)
    return Thing("route", f"from {origin} to {target}", ("on that route",), False, {"origin": origin, "target": target})


def lookup_note(plan: Plan, route: Thing) -> str:
    """Return a sentence that asks for the airports of a route; nothing if they are known."""
    if route.known:
        return ""
    templates = (
        " [Look up|Find] the airports nearest to [both|the two] cities [first|for that].",
        " You'll have to look up [both nearest airports|the airport nearest to each city].",
        " [For that, get|First get] the nearest airport of each city.",
    )
    return word(plan.rng, templates, {})


def find_airports_of(plan: Plan, route: Thing) -> tuple[str, str]:
    """Look up the airports of a route unless they are known; return their codes."""
    ends = route["origin"], route["target"]
    if not route.known:
        for city in ends:
            plan.call("get_nearest_airport_by_city", location=city)
        plan.book(Traveller).cities.update(ends)
        plan.give("route", route.label, route.short, **route.values)
    return AIRPORT_OF_CITY[ends[0]], AIRPORT_OF_CITY[ends[1]]


def pick_payer(plan: Plan, cost: float) -> Thing:
    """Return a card that can pay and is still good for the budget afterwards."""
    needed = cost + (plan.book(Traveller).budget or 0)
    return plan.take("card", where=lambda card: card["balance"] > needed)


def find_card(plan: Plan, card: Thing) -> str:
    """List the cards unless a card is known; return its id."""
    if not card.known:
        plan.call("get_all_credit_cards")
        for one in plan.things("card"):
            one.known = one["shown"] = True
    card_id: str = card["id"]
    return card_id


def find_booking(plan: Plan, booking: Thing) -> str:
    """List the bookings unless a booking is known; return its id."""
    notes = plan.book(Traveller)
    if not booking.known:
        plan.call("get_booking_history", access_token=notes.token)
        note_listed(plan)
    booking_id: str = booking["id"]
    return booking_id


def note_listed(plan: Plan) -> None:
    """Note that the agent has seen all bookings."""
    notes = plan.book(Traveller)
    notes.listed = notes.history_seen = True
    for booking in plan.things("booking"):
        booking.known = True


def charge(card: Thing, cost: float) -> None:
    """Note what a card has paid or got back: its balance is not what the agent has seen."""
    card["balance"] -= cost
    card["shown"] = False
