"""Families of TravelAPI: a flight from quote to invoice, a budget, and a trip that a colleague should know about."""

from __future__ import annotations

from typing import Any

from envtune_gym.domains._travel_tables import AIRPORT_OF_CITY, AIRPORTS, BASE_FARES
from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.message_api import workspace
from envtune_gym.tasks.families.phrases import FIRST_NAMES, full_name, future_day, notes
from envtune_gym.tasks.families.rng import Rng

_ROUTES = tuple(route for route in BASE_FARES if set(route) <= set(AIRPORTS))
_CITY_OF_AIRPORT = {airport: city for city, airport in AIRPORT_OF_CITY.items()}
_CLASSES = ("economy", "business", "first")
_CURRENCIES = {"EUR": "euros", "GBP": "British pounds", "CAD": "Canadian dollars", "AUD": "Australian dollars"}
_INSURANCES = ("cancellation", "luggage", "medical", "comprehensive")


def _traveller(rng: Rng) -> dict[str, Any]:
    """Return a traveller who is logged in, with two credit cards and an old booking."""
    first, last = full_name(rng)
    main, spare = rng.digits(12), rng.digits(12)
    endings = rng.sample(range(1000, 9999), 2)
    origin, target = rng.pick(_ROUTES)
    return {
        "credit_card_list": {
            card_id: {
                "card_number": f"{rng.digits(12)}{ending}",
                "expiration_date": f"{rng.between(1, 12):02}/{rng.between(2029, 2033)}",
                "cardholder_name": f"{first} {last}",
                "card_verification_number": rng.between(100, 999),
                "balance": float(rng.between(15_000, 60_000)),
            }
            for card_id, ending in zip((main, spare), endings, strict=True)
        },
        "booking_record": {
            rng.digits(7): {
                "card_id": main,
                "travel_date": future_day(rng)[0],
                "travel_from": origin,
                "travel_to": target,
                "travel_class": "economy",
                "travel_cost": BASE_FARES[origin, target],
                "transaction_id": rng.digits(8),
            }
        },
        "access_token": f"tk{rng.digits(8)}",
        "token_type": "Bearer",
        "token_expires_in": 3600,
        "token_scope": "read_write",
        "user_first_name": first,
        "user_last_name": last,
        "random_seed": rng.between(1, 999_999),
    }


def _ask_price(draft: Draft, flight: dict[str, str], spoken: str) -> None:
    """Open a turn that asks what a flight costs, and look it up."""
    origin, target, seat = flight["travel_from"], flight["travel_to"], flight["travel_class"]
    draft.ask(
        f"What does a flight in {seat} class from {origin} to {target} cost on {spoken}?",
        f"I want to fly from {origin} to {target} on {spoken}, in {seat} class. Get me the price.",
        f"Quote me a flight in {seat} class, {origin} to {target}, on {spoken}.",
        vague=(
            f"What does a flight in {seat} class from {origin} to {target} cost on the day I have in mind?",
            f"Quote me a flight from {origin} to {target} in {seat} class.",
        ),
        answer=(f"The day is {spoken}.", f"I want to fly on {spoken}."),
        withhold=("get_flight_cost",),
    )
    draft.call("get_flight_cost", **flight)


def _flight(rng: Rng) -> tuple[dict[str, str], str]:
    """Return a flight as the tools take it, and its day as people say it."""
    (origin, target), (day, spoken) = rng.pick(_ROUTES), future_day(rng)
    seat = rng.pick(_CLASSES)
    return {"travel_from": origin, "travel_to": target, "travel_date": day, "travel_class": seat}, spoken


def _pick_card(rng: Rng, config: dict[str, Any]) -> tuple[str, str]:
    """Return the id of one of the cards, and the digits that its number ends with."""
    card_id, card = rng.pick(tuple(config["credit_card_list"].items()))
    return card_id, card["card_number"][-4:]


@family("TravelAPI")
def book_a_flight(draft: Draft) -> None:
    """Ask for the price of a flight, book it, insure it, get the invoice."""
    rng = draft.rng
    config = _traveller(rng)
    token = config["access_token"]
    card_id, ending = _pick_card(rng, config)
    flight, spoken = _flight(rng)
    kind, premium = rng.pick(_INSURANCES), rng.between(40, 390, 5)
    draft.start(TravelAPI=config)

    _ask_price(draft, flight, spoken)

    draft.ask(
        f"Book it. My access token is {token}; pay with my card that ends in {ending}, you'll find it among my cards.",
        f"Good, book that flight. Look up my credit cards and take the one ending in {ending}. Access token: {token}.",
        f"I'll take it. The card number ends in {ending} (list my cards for its id), the access token is {token}.",
        vague=(
            "Book it and pay with one of my cards.",
            "Good, book that flight with one of my credit cards.",
        ),
        answer=(
            f"My access token is {token}, and the number of the card ends in {ending}. List my cards for its id.",
            f"Access token {token}; look up my cards and take the one that ends in {ending}.",
        ),
        withhold=("book_flight",),
    )
    draft.call("get_all_credit_cards")
    booking_id = draft.call("book_flight", access_token=token, card_id=card_id, **flight)["booking_id"]

    draft.ask(
        f"Buy a {kind} insurance for this booking at {premium} dollars, with the same card.",
        f"Add insurance of the type {kind} to the booking. It costs {premium} dollars; use the same card.",
        f"With the same card, purchase {kind} insurance for the booking for {premium} dollars.",
        vague=("Buy an insurance for this booking with the same card.", "I'd like this booking insured, same card."),
        answer=(f"The type is {kind} and it costs {premium} dollars.", f"A {kind} insurance at {premium} dollars."),
        withhold=("purchase_insurance",),
    )
    draft.call(
        "purchase_insurance",
        access_token=token,
        insurance_type=kind,
        booking_id=booking_id,
        insurance_cost=premium,
        card_id=card_id,
    )

    draft.ask(
        "Get me the invoice of the booking.",
        "Retrieve the invoice for that booking by its booking id.",
        "I need the booking's invoice.",
    )
    draft.call("retrieve_invoice", access_token=token, booking_id=booking_id)


@family("TravelAPI")
def plan_a_budget(draft: Draft) -> None:
    """Turn a budget into dollars and set it, find airports, ask for a price, cancel an old booking."""
    rng = draft.rng
    config = _traveller(rng)
    token = config["access_token"]
    currency = rng.pick(tuple(_CURRENCIES))
    amount = rng.between(900, 7000, 10)
    flight, spoken = _flight(rng)
    origin, target = (_CITY_OF_AIRPORT[flight[end]] for end in ("travel_from", "travel_to"))
    seat = flight["travel_class"]
    booking_id, booking = next(iter(config["booking_record"].items()))
    draft.start(TravelAPI=config)

    money = f"{amount} {_CURRENCIES[currency]} ({currency})"
    draft.ask(
        f"My budget is {money}. Convert it to USD and set that as the budget limit; my access token is {token}.",
        f"Set my budget limit to what {money} are in USD, by your exchange rate. Access token: {token}.",
        f"Convert {money} to USD, then make the result my budget limit with the access token {token}.",
        vague=(
            "Convert my budget to USD and set that as the budget limit.",
            f"Set my budget limit to what my {_CURRENCIES[currency]} are in USD. Access token: {token}.",
        ),
        answer=(f"I have {money}, and my access token is {token}.", f"It is {money}. The access token is {token}."),
        withhold=("compute_exchange_rate", "set_budget_limit"),
    )
    dollars = draft.call("compute_exchange_rate", base_currency=currency, target_currency="USD", value=amount)
    draft.call("set_budget_limit", access_token=token, budget_limit=dollars["exchanged_value"])

    draft.ask(
        f"Look up the nearest airports to {origin} and to {target}.",
        f"Which airport is nearest to {origin}, and which to {target}? Look up both.",
        f"I need the codes of the airports nearest to {origin} and {target}.",
        vague=(
            "Look up the nearest airports to two cities.",
            "Which airports are nearest to where my trip begins and ends?",
        ),
        answer=(f"The cities are {origin} and {target}.", f"From {origin} to {target}."),
    )
    draft.call("get_nearest_airport_by_city", location=origin)
    draft.call("get_nearest_airport_by_city", location=target)

    draft.ask(
        f"What is the price of a flight from the first to the second on {spoken} in {seat} class?",
        f"Get the cost of flying from {origin} to {target} on {spoken}, {seat} class.",
        f"How much would a seat in {seat} class from {origin} to {target} cost on {spoken}?",
        vague=(f"How much would a seat in {seat} class from {origin} to {target} cost?",),
        answer=(f"On {spoken}.", f"The day is {spoken}."),
        withhold=("get_flight_cost",),
    )
    draft.call("get_flight_cost", **flight)

    day = booking["travel_date"]
    draft.ask(
        f"Go through my booking history and cancel the flight on {day}.",
        f"I also have a booking for {day}. Find it in my booking history and cancel it.",
        f"Get my booking history; the booking for {day} is to be cancelled.",
        withhold=("cancel_booking", "get_booking_history"),
    )
    draft.call("get_booking_history", access_token=token)
    draft.call("cancel_booking", access_token=token, booking_id=booking_id)


@family("MessageAPI", "TravelAPI")
def trip_with_colleague(draft: Draft) -> None:
    """Ask for a price, write to a colleague, book, send the booking id."""
    rng = draft.rng
    me, friend, boss, *others = rng.sample(FIRST_NAMES, 6)
    config = _traveller(rng)
    token = config["access_token"]
    card_id, ending = _pick_card(rng, config)
    flight, spoken = _flight(rng)
    text = notes(rng, 1)[0]
    draft.start(MessageAPI=workspace(rng, [me, friend, boss, *others]), TravelAPI=config)

    _ask_price(draft, flight, spoken)

    draft.ask(
        f"Before I decide, send {friend} this message: '{text}'",
        f"Write to {friend}: '{text}'",
        f"{friend} should know something first. Send them '{text}'",
        vague=("Before I decide, send a colleague a message.", f"Send '{text}' to one of my colleagues."),
        answer=(f"To {friend}: '{text}'", f"It is for {friend} and says '{text}'"),
        withhold=("get_user_id", "send_message"),
    )
    friend_id = draft.call("get_user_id", user=friend)["user_id"]
    draft.call("send_message", receiver_id=friend_id, message=text)

    draft.ask(
        f"Now book the flight. My access token is {token}; list my cards and pay with the one ending in {ending}.",
        f"Book that flight with my card ending in {ending}, which you find in the list of cards. Access token {token}.",
        f"I'll take the flight: access token {token}, and the card whose number ends in {ending}. Look up its id.",
        vague=("Now book the flight with one of my cards.",),
        answer=(f"My access token is {token}. List my cards and take the one that ends in {ending}.",),
        withhold=("book_flight",),
    )
    draft.call("get_all_credit_cards")
    booking_id = draft.call("book_flight", access_token=token, card_id=card_id, **flight)["booking_id"]

    draft.ask(
        f"Send {boss} a message that consists of the booking id and nothing else.",
        f"{boss} needs the booking id. Send just the id as the message.",
        f"Please message {boss} the bare booking id, without any other words.",
        vague=("Send the bare booking id as a message to somebody else.",),
        answer=(f"Send it to {boss}.", f"It goes to {boss}."),
    )
    boss_id = draft.call("get_user_id", user=boss)["user_id"]
    draft.call("send_message", receiver_id=boss_id, message=booking_id)
