"""Goals of TravelAPI, second part: airports, flights, bookings and what belongs to them."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.people import future_day
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.travel_notes import (
    CLASSES,
    Traveller,
    charge,
    fare,
    find_airports_of,
    find_booking,
    find_card,
    give_price,
    lookup_note,
    note_listed,
    pick_payer,
    pick_route,
    token_note,
)

_INSURANCES = ("cancellation", "luggage", "medical", "comprehensive")
_CONCERNS = (
    "Please seat me by the window.", "I need a vegetarian meal on board.", "May I bring a folding bicycle?",
    "My suitcase weighs 31 kilograms. What does that cost?", "I need assistance from the gate to the plane.",
    "Is there a later departure on the same day?", "Two seats side by side, if that is possible.",
    "My violin has to travel in the cabin.", "Does the fare include checked baggage?", "I travel with a guide dog.",
    "Please send the boarding pass to my office.", "Can my seat be moved to the front row?",
    "I would like to board early because of a broken leg.", "Which terminal does the plane leave from?",
)  # fmt: skip


@goal("TravelAPI", weight=0.5, once=True)
def list_airports(plan: Plan) -> None:
    """Ask which airports there are."""
    plan.ask(
        "[Which|What] airports can be booked[ at all| here|]?",
        "[List|Show me|Give me] [all airports|all the airports|every airport] [that can be booked|I could fly from "
        "or to].",
        "I'm open to ideas for my next trip. [List|Show me] all airports [there are|you can book].",
        withhold=("list_all_airports",),
    )
    plan.call("list_all_airports")


@goal("TravelAPI", weight=0.9)
def find_airports(plan: Plan) -> None:
    """Ask for the airports at both ends of a trip between two cities."""
    route = pick_route(plan)
    if route.known:
        raise Unfit("the airports are known")
    plan.ask(
        "I'm going to fly {route}. [Find out|Look up|Tell me] which airport is nearest to each of the two cities.",
        "I'm going to fly {route}. Which airport is [nearest to|the nearest for] each of the two cities?",
        "[Which|What] are the nearest airports for a trip {route}? [I need|Give me] the one for each city.",
        "[Look up|Find|Get me] the [airport codes|nearest airports] for a trip {route}, both ends.",
        "[I want|I'd like|We want] to travel {route}. [Look up|Find] the nearest airport at both ends[, please|].",
        withhold=("get_nearest_airport_by_city",),
        route=route,
    )
    find_airports_of(plan, route)


@goal("TravelAPI", weight=1.6)
def quote_flight(plan: Plan) -> None:
    """Ask what a flight costs, between cities whose airports may have to be looked up."""
    rng = plan.rng
    route, (day, spoken), seat = pick_route(plan), future_day(rng), rng.pick(CLASSES)
    origin, target = route["origin"], route["target"]
    cost = fare(origin, target, day, seat)
    label = f"the {seat} class flight from {origin} to {target} on {spoken}"
    if cost in plan.book(Traveller).quoted:
        raise Unfit("the result would be one that has been seen")
    plan.ask(
        "What does {a_seat} class ticket {route} on {spoken} cost?{lookup}",
        "[I want|I'd like] to fly {route}, in {seat} class, on {spoken}. [Get|Find out|Tell me] the price.{lookup}",
        "[How much is|How much would I pay for] {a_seat} class [ticket|plane ticket] {route} on {spoken}?{lookup}",
        "[Quote|Please quote] me {a_seat} class [ticket|plane ticket] {route} on {spoken}.{lookup}",
        vague=(
            "What does {a_seat} class ticket {route} cost on the day [I have in mind|that suits me]?",
            "[I want|I'd like] to fly {route}, in {seat} class. [Get|Find out|Tell me] the price.",
        ),
        answer=(
            "[The day is|I want to fly on|It's for] {spoken}.{lookup}",
            "[On|The flight is on] {spoken}.{lookup}",
        ),
        withhold=("get_flight_cost",),
        route=route,
        spoken=spoken,
        seat=seat,
        a_seat=f"an {seat}" if seat == "economy" else f"a {seat}",
        lookup=lookup_note(plan, route),
    )
    travel_from, travel_to = find_airports_of(plan, route)
    flight = {"travel_from": travel_from, "travel_to": travel_to, "travel_date": day, "travel_class": seat}
    price = plan.call("get_flight_cost", **flight)["travel_cost_list"][0]
    plan.book(Traveller).quoted.add(cost)
    plan.give("flight", label, ("that flight", "this flight"), flight=flight, cost=cost, spoken=spoken, route=route)
    give_price(plan, price, f"the price of {label}", "that price", "that fare")


@goal("TravelAPI", needs=("flight", "card", "token"), weight=3.0)
def book_quoted_flight(plan: Plan) -> None:
    """Book a flight whose price has been asked for."""
    notes = plan.book(Traveller)
    flight = plan.take("flight", where=lambda one: notes.budget is None or one["cost"] <= notes.budget)
    card = pick_payer(plan, flight["cost"])
    # Which card it is to be can be told by nothing else only while none has been seen.
    open_choice = not card.known and not notes.history_seen
    plan.ask(
        "[Book|Please book|Go ahead and book] {flight}[ and pay|, and pay|, paying] with {card}.{token}",
        "I'll take {flight}. [Book it and charge it to|Please book it; it goes on|Book it, and pay with] "
        "{card}.{token}",
        "[Could|Can|Would] you book {flight} and charge it to {card}?{token}",
        "[I've made up my mind|My boss has agreed|Fine by me]: book {flight}, with {card} for the payment.{token}",
        vague=(
            "[Book|Please book|Go ahead and book] {flight} with one of my cards.{token}",
            "I'll take {flight}. [Book it|Please book it], and charge it to one of my cards.{token}",
        )
        if open_choice
        else (),
        answer=("[Pay with|Charge it to|Use|Take] {card}.", "[It goes on|Put it on] {card}."),
        withhold=("book_flight",),
        flight=flight,
        card=card,
        token=token_note(plan),
    )
    _book(plan, flight["flight"], flight["route"], flight["spoken"], flight["cost"], card)
    plan.drop(flight)


@goal("TravelAPI", needs=("card", "token"))
def book_flight_outright(plan: Plan) -> None:
    """Book a flight without asking for its price."""
    rng, notes = plan.rng, plan.book(Traveller)
    route, (day, spoken), seat = pick_route(plan), future_day(rng), rng.pick(CLASSES)
    cost = fare(route["origin"], route["target"], day, seat)
    if notes.budget is not None and cost > notes.budget:
        raise Unfit("beyond the budget")
    card = pick_payer(plan, cost)
    plan.ask(
        "[Book|Please book|Reserve] me {a_seat} class [ticket|plane ticket] {route} on {spoken}[ and charge it to|, "
        "paid with|, and use] {card}.{lookup}{token}",
        "I [have|need] to [travel|fly] {route} on {spoken}. [Book|Please book] {seat} class and [pay with|charge it "
        "to] {card}.{lookup}{token}",
        "[Could|Can|Would] you book me {a_seat} class [ticket|plane ticket] {route} on {spoken}, paid with "
        "{card}?{lookup}{token}",
        vague=(
            "[Book|Please book|Reserve] me {a_seat} class [ticket|plane ticket] {route}[ and charge it to|, paid with] "
            "{card}.{token}",
            "I [have|need] to [travel|fly] {route}. [Book|Please book] {seat} class and [pay with|charge it to] "
            "{card}.{token}",
        ),
        answer=(
            "[The day is|I want to fly on|It has to be] {spoken}.{lookup}",
            "[On|The flight is on] {spoken}.{lookup}",
        ),
        withhold=("book_flight",),
        route=route,
        spoken=spoken,
        seat=seat,
        a_seat=f"an {seat}" if seat == "economy" else f"a {seat}",
        card=card,
        lookup=lookup_note(plan, route),
        token=token_note(plan),
    )
    travel_from, travel_to = find_airports_of(plan, route)
    flight = {"travel_from": travel_from, "travel_to": travel_to, "travel_date": day, "travel_class": seat}
    _book(plan, flight, route, spoken, cost, card)


def _book(plan: Plan, flight: dict[str, str], route: Thing, spoken: str, cost: float, card: Thing) -> None:
    notes = plan.book(Traveller)
    card_id = find_card(plan, card)
    result = plan.call("book_flight", access_token=notes.token, card_id=card_id, **flight)
    charge(card, cost)
    notes.listed = False
    plan.give(
        "booking",
        f"my booking {route.label} on {spoken}",
        ("that booking", "this booking", "the booking"),
        id=result["booking_id"],
        card=card,
        cost=cost,
        invoiced=False,
        steps=len(plan.steps),
    )


@goal("TravelAPI", needs=("booking", "card", "token"), weight=1.2)
def insure_booking(plan: Plan) -> None:
    """Buy an insurance for a booking, with some card or with the one that paid for the flight."""
    rng, notes = plan.rng, plan.book(Traveller)
    booking = plan.take("booking")
    kind, premium = rng.pick(_INSURANCES), rng.price(35, 390)
    payer = None if rng.chance(0.5) else pick_payer(plan, premium)
    plan.ask(
        "[Buy|Purchase|Please buy] {kind} insurance for {booking} at {premium} dollars, [paid with|charged to] "
        "{payer}.{token}",
        "I'd like {booking} [insured|covered]: {kind} insurance for {premium} dollars, paid with {payer}.{token}",
        "[Can|Could] you add {kind} insurance to {booking}? [It costs|The price is] {premium} dollars; [use|charge] "
        "{payer}.{token}",
        "[Better safe than sorry|My partner insists|You never know]: get {kind} insurance for {booking}. It's "
        "{premium} dollars, on {payer}.{token}",
        vague=(
            "[Buy|Purchase|Please buy] an insurance for {booking}, [paid with|charged to] {payer}.{token}",
            "I'd like {booking} [insured|covered][, please|]; [use|charge] {payer}.{token}",
        ),
        answer=(
            "[I want|Make it|Take] {kind} insurance, for {premium} dollars.",
            "[The type is|It's] {kind}, and [it costs|the price is] {premium} dollars.",
        ),
        withhold=("purchase_insurance",),
        booking=booking,
        kind=kind,
        premium=premium,
        payer=payer or rng.pick(("the card that paid for the flight", "the card it was booked with")),
        token=token_note(plan),
    )
    booking_id = find_booking(plan, booking)
    card = payer or booking["card"]
    plan.call(
        "purchase_insurance",
        access_token=notes.token,
        insurance_type=kind,
        booking_id=booking_id,
        insurance_cost=premium,
        card_id=find_card(plan, card) if payer else card["id"],  # the list of bookings shows who paid
    )
    charge(card, premium)


@goal("TravelAPI", needs=("booking", "token"), weight=1.2)
def get_invoice(plan: Plan) -> None:
    """Ask for the invoice of a booking."""
    booking = plan.take("booking", where=lambda booking: not booking["invoiced"])
    choice = not booking.known and len(plan.things("booking")) > 1
    plan.ask(
        "[Get|Find|Fetch|Please get] me the invoice for {booking}.{token}",
        "I need the invoice of {booking}[ for my records| for my tax return| for my expenses|].{token}",
        "[Can|Could|May] I [have|see] the invoice for {booking}?{token}",
        "[Accounting|My boss|The tax office] [is asking|has asked] for the invoice of {booking}. [Get|Fetch] it[, "
        "please|].{token}",
        vague=(
            "[Get|Find|Fetch|Please get] me the invoice for one of my bookings.{token}",
            "I need the invoice of one of the flights I've booked[ for my records| for my expenses|].{token}",
        )
        if choice
        else (),
        answer=("[I mean|It's for|It is about] {booking}.", "[Of|The one for] {booking}."),
        withhold=("retrieve_invoice",),
        booking=booking,
        token=token_note(plan),
    )
    booking_id = find_booking(plan, booking)
    plan.call("retrieve_invoice", access_token=plan.book(Traveller).token, booking_id=booking_id)
    booking["invoiced"] = True
    give_price(plan, booking["cost"], f"the price of {booking.label}", "that price", "the sum on that invoice")


@goal("TravelAPI", needs=("booking", "token"), weight=0.8)
def cancel_a_booking(plan: Plan) -> None:
    """Cancel a booking."""
    # Nobody books a flight and cancels it in the same breath.
    booking = plan.take("booking", where=lambda booking: booking["steps"] < len(plan.steps) - 1)
    choice = not booking.known and len(plan.things("booking")) > 1
    plan.ask(
        "[Cancel|Please cancel|Call off] {booking}[; I can't travel then|, my plans have changed|].{token}",
        "[My plans have changed|Something has come up|The meeting is off]. [Cancel|Please cancel] {booking}.{token}",
        "[Can|Could|Would] you cancel {booking}[ for me|]?{token}",
        vague=(
            "[Cancel|Please cancel|Call off] one of my bookings.{token}",
            "[My plans have changed|Something has come up], so one of my flights [has to go|must be cancelled].{token}",
        )
        if choice
        else (),
        answer=("[I mean|It's|It is] {booking}.", "[Cancel|Take] {booking}."),
        withhold=("cancel_booking",),
        booking=booking,
        token=token_note(plan),
    )
    booking_id = find_booking(plan, booking)
    notes = plan.book(Traveller)
    plan.call("cancel_booking", access_token=notes.token, booking_id=booking_id)
    charge(booking["card"], -booking["cost"])
    notes.listed = False
    plan.drop(booking)


@goal("TravelAPI", needs=("booking", "token"), weight=0.8, once=True)
def contact_support(plan: Plan) -> None:
    """Write to customer support about a booking."""
    booking, text = plan.take("booking"), plan.rng.pick(_CONCERNS)
    plan.ask(
        "[Write to|Contact|Message] customer support about {booking}. [The message is|Send exactly this|Write]: "
        "'{text}'{token}",
        "[Could|Can] you send customer support a message about {booking}? It should say: '{text}'{token}",
        "I have [a question|a request] about {booking}. [Send|Please send] this message to customer "
        "support: '{text}'{token}",
        vague=(
            "[Write to|Contact|Message] customer support about {booking}.{token}",
            "[Could|Can] you send customer support a message about {booking}?{token}",
        ),
        answer=("[Write|Say|The message is|Send them this]: '{text}'", "[It should say|Let it read]: '{text}'"),
        withhold=("contact_customer_support",),
        booking=booking,
        text=text,
        token="" if booking.known else token_note(plan),
    )
    plan.call("contact_customer_support", booking_id=find_booking(plan, booking), message=text)


@goal("TravelAPI", needs=("token",), weight=0.8)
def review_bookings(plan: Plan) -> None:
    """Ask for all bookings."""
    notes = plan.book(Traveller)
    if notes.listed or plan.has_shown("get_booking_history", access_token=notes.token):
        raise Unfit("the bookings have been seen")
    plan.ask(
        "[Which|What] flights [have I booked|do I have bookings for][ at the moment|]?{token}",
        "[List|Show me|Pull up|Get me] [my bookings|my booking history|all my bookings][, please|].{token}",
        "I've lost track of my trips. [Pull up|Get|Show me] my booking history.{token}",
        withhold=("get_booking_history",),
        token=token_note(plan),
    )
    plan.call("get_booking_history", access_token=notes.token)
    note_listed(plan)
    if plan.has("booking"):
        booking = plan.rng.pick(plan.things("booking"))
        give_price(plan, booking["cost"], f"the cost of {booking.label}")
