"""Goals that join two domains: what one returns goes into the other. Here: numbers, files, tickets and money.

What is sent or tweeted is in `across_messages`. Ids and numbers are asked for by themselves, without a word around
them, so that there is one way of writing them.
"""

from __future__ import annotations

import json
from typing import Any

from envtune_gym.callsyntax import Call
from envtune_gym.tasks.goals import across_messages, file_desk, ticket_desk, trading_notes
from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.travel_notes import Traveller, find_booking, find_card, token_note
from envtune_gym.tasks.goals.vehicle_car import Car

__all__ = ["across_messages"]

_WEIGHT = 2.5
"""Goals of a single domain are many more."""

_FLIGHT_MATTERS = (
    "Wrong name on the ticket", "Refund of a flight", "Seat next to the aisle", "Extra suitcase", "Vegetarian meal",
    "Receipt missing", "Earlier departure wanted", "Wheelchair at the gate",
)  # fmt: skip
_CAR_MATTERS = (
    "New tires wanted", "Puncture on the way", "Tire change in autumn", "Wheels out of balance",
    "Appointment for the car", "Pickup of the company car",
)  # fmt: skip
_OWN_MONEY = ("share", "balance", "budget", "order")


@goal("MathAPI", "TradingBot", needs=("stock",), weight=_WEIGHT)
def cost_of_shares(plan: Plan) -> None:
    """Ask what some shares would cost, at a price that may have to be looked up."""
    stock, amount = plan.take("stock"), plan.rng.between(103, 980)
    plan.ask(
        "[What would|How much would] {amount} shares of {stock} cost[ me|] at the current price[, fees aside|]?{note}",
        "[Work out|Calculate|Tell me] the price of {amount} shares of {stock}: [the current price|what one costs "
        "now] times {amount}.{note}",
        "[I'm thinking of|I'm dreaming of] [buying|getting] {amount} shares of {stock}. [Multiply|Please multiply] "
        "the current price of one by [that number|the number of shares].{note}",
        vague=(
            "[What would|How much would] a [batch|block] of shares of {stock} cost[ me|] at the current price?{note}",
            "[I'm thinking of|I'm dreaming of] [buying|getting] shares of {stock}. What would they cost in all?{note}",
        ),
        answer=("[I mean|Let's say|Take] {amount} shares.", "[It would be|That's] {amount} of them."),
        withhold=("multiply",),
        stock=stock,
        amount=amount,
        note=trading_notes.lookup_note(plan, stock, price=True),
    )
    price = trading_notes.see_price(plan, stock)
    cost = plan.call("multiply", a=price, b=amount)["result"]
    trading_notes.give_price(plan, cost, f"the price of {amount} shares of {stock['name']}", "that price", "that sum")


@goal("MathAPI", "TravelAPI", needs=("card", "dollars", "token"), weight=_WEIGHT)
def card_after_a_price(plan: Plan) -> None:
    """Ask what a card would hold after a price is paid; its balance may have to be looked up."""
    price = plan.take("dollars", where=lambda price: "balance" not in price.label and "limit" not in price.label)
    card = plan.take("card")
    plan.ask(
        "[How much would be|What would be] left on {card} [after I pay|once I have paid] {price}? [Subtract it "
        "from|Take it off] "
        "the balance.{lookup}{token}",
        "[Subtract|Please subtract|Deduct] {price} from the balance of {card}[; I want to know what would be "
        "left|].{lookup}{token}",
        "[Suppose|Imagine] I [pay|have to pay] {price} with {card}. [Work out|Calculate] the balance [minus|less] "
        "that.{lookup}{token}",
        withhold=("subtract",),
        price=price,
        card=card,
        lookup=plan.rng.pick((" Look the balance up first.", " You'll have to look up the balance."))
        if not card["shown"]
        else "",
        token="" if card["shown"] or not card.known else token_note(plan),
    )
    if not card.known:
        find_card(plan, card)
    balance = card["balance"]
    if not card["shown"]:
        arguments = {"access_token": plan.book(Traveller).token, "card_id": card["id"]}
        balance = plan.call("get_credit_card_balance", **arguments)["card_balance"]
        card["shown"] = True
    left = plan.call("subtract", a=balance, b=price["value"])["result"]
    plan.give("figure", f"what {card.label} would hold after {price.label}", ("what would be left",), value=left)


@goal("MathAPI", "VehicleControlAPI", needs=("figure",), weight=3 * _WEIGHT)
def reach_in_miles(plan: Plan) -> None:
    """Ask for a distance in miles, and whether the fuel lasts for it."""
    distance = plan.take("figure", where=lambda figure: figure.label.startswith("the distance from"))
    convert = {"value": distance["value"], "unit_in": "km", "unit_out": "miles"}
    miles = _peek(plan, "imperial_si_conversion", **convert)["result"]
    if plan.has_shown("imperial_si_conversion", **convert):
        raise Unfit("converted already")
    if plan.has_shown("estimate_drive_feasibility_by_mileage", distance=miles):
        raise Unfit("that answer was given")
    plan.ask(
        "[Convert|Turn] {distance} from km to miles, [without rounding|unrounded], and [check|estimate] whether the "
        "fuel lasts for [that many|them].",
        "[Does|Will] the fuel last for {distance}? It is in km, so convert it to miles[ first|], [unrounded|without "
        "rounding].",
        "[I can't tell|I wonder] whether the tank is full enough for {distance}. [Take it in miles|Get it in miles], "
        "converted from "
        "km [and not rounded|without rounding], and estimate [whether we can drive that far|the feasibility].",
        withhold=("imperial_si_conversion",),
        distance=distance,
    )
    plan.call("imperial_si_conversion", **convert)
    outcome = plan.call("estimate_drive_feasibility_by_mileage", distance=miles)["canDrive"]
    plan.book(Car).lasts.add(bool(outcome))
    plan.give("figure", f"the miles {distance.label.removeprefix('the distance ')}", ("those miles",), value=miles)


@goal("TradingBot", "TravelAPI", needs=("dollars", "broker session", "open market"), weight=_WEIGHT)
def withdraw_the_fare(plan: Plan) -> None:
    """Take what a flight costs out of the trading account."""
    account = plan.book(trading_notes.Account)
    price = plan.take(
        "dollars",
        where=lambda price: (
            price["value"] < account.balance
            and round(price["value"], 2) == price["value"]  # "to the cent" would round it
            and not any(word in price.label for word in _OWN_MONEY)
        ),
    )
    plan.ask(
        "[Withdraw|Please withdraw|Take] {price}[, to the cent,|] from my trading account.",
        "[My trading account|The broker] is to pay for this: withdraw [exactly|precisely] {price}.",
        "[I need|I'd like to have] {price} in cash. [Withdraw|Please withdraw] exactly that from my trading account.",
        withhold=("withdraw_funds",),
        price=price,
    )
    account.balance = plan.call("withdraw_funds", amount=price["value"])["new_balance"]
    account.listed = True  # a list would show whether it was 520 or 520.0, which means the same: nobody asks for one
    trading_notes.give_balance(plan, account.balance)


@goal("GorillaFileSystem", "MathAPI", needs=("figure",), weight=_WEIGHT)
def keep_a_quotient(plan: Plan) -> None:
    """Ask to divide a figure and to keep the result in a new file."""
    figure, parts = plan.take("figure"), plan.rng.price(3, 70)
    if plan.has_shown("divide", a=figure["value"], b=parts) or figure["value"] / parts % 1 == 0:
        raise Unfit("worked out already, or a number that may be written with a point or without")
    plan.ask(
        "[Divide|Please divide] {figure} by {parts} and [write|put] the result{alone} into a new file {new} in the "
        "current directory.",
        "[How much is|What is] {figure} divided by {parts}? [Keep|Save] the result{alone} in a new file {new} "
        "[right here|in the current directory].",
        "[I need|I'd like] a new file {new} in the current directory [that holds|with] the result of dividing "
        "{figure} by {parts}{alone}.",
        vague=(
            "[Divide|Please divide] {figure} by our usual [rate|ratio] and [write|put] the result{alone} into a new "
            "file {new} in the current directory.",
        ),
        answer=("[It's|Divide by|The usual one is] {parts}.", "{parts}[, this year| this time|]."),
        withhold=("echo",),
        figure=figure,
        parts=parts,
        new=(new := plan.book(file_desk.Desk).new_file(plan)),
        alone=plan.rng.pick(
            (
                " (just the number, unrounded)",
                " (the bare number, unrounded)",
                " (only the number, with all its digits)",
            )
        ),
    )
    result = plan.call("divide", a=figure["value"], b=parts)["result"]
    _keep(plan, new, json.dumps(result))
    plan.give("figure", f"the number in {new}", ("that quotient",), value=result)


@goal("GorillaFileSystem", "TravelAPI", needs=("booking", "token"), weight=_WEIGHT)
def keep_a_booking(plan: Plan) -> None:
    """Ask to write the id of a booking into a new file."""
    booking = plan.take("booking")
    new = plan.book(file_desk.Desk).new_file(plan)
    _ask_to_keep(plan, new, booking, "id", token_note(plan) if not booking.known else "")
    _keep(plan, new, find_booking(plan, booking))


@goal("GorillaFileSystem", "TradingBot", needs=("order",), weight=_WEIGHT)
def keep_an_order(plan: Plan) -> None:
    """Ask to write the id of an order into a new file."""
    order = plan.take("order")
    new = plan.book(file_desk.Desk).new_file(plan)
    _ask_to_keep(plan, new, order, "id")
    _keep(plan, new, str(order["id"]))


def _ask_to_keep(plan: Plan, new: str, thing: Thing, what: str, token: str = "") -> None:
    plan.ask(
        "[Write|Put|Please write] the {what} of {thing}[, and nothing else,| and nothing else] into a new file {new} "
        "in the current directory.{token}",
        "[I need|I'd like] a new file {new} in the current directory [that holds|containing] the {what} of {thing} "
        "and nothing [else|more].{token}",
        "[So that I don't lose it|For my records|In case somebody asks]: [keep|save] the {what} of {thing}, by "
        "itself, in a new "
        "file {new} in the current directory.{token}",
        vague=(
            "[Write|Put|Please write] the {what} of {thing}, and nothing else, into a new file in the current "
            "directory, under the name [I always use|I have in mind].{token}",
            "[So that I don't lose it|For my records]: [keep|save] the {what} of {thing}, by itself, in a new file "
            "in the current directory; I have a name in mind for it.{token}",
        ),
        answer=("[Call it|Name it|The file is called] {new}.", "{new}[ is the name|, please|]."),
        withhold=("echo",),
        what=what,
        thing=thing,
        new=new,
        token=token,
    )


def _keep(plan: Plan, new: str, text: str) -> None:
    plan.call("touch", file_name=new)
    plan.call("echo", content=text, file_name=new)
    plan.book(file_desk.Desk).write(plan, new, text)


@goal("TicketAPI", "TravelAPI", needs=("booking", "token"), weight=_WEIGHT)
def ticket_about_a_booking(plan: Plan) -> None:
    """Ask for a ticket whose description is the id of a booking."""
    booking = plan.take("booking")
    _open_ticket(plan, booking, plan.rng.pick(_FLIGHT_MATTERS), f"the id of {booking.label}")


@goal("TicketAPI", "VehicleControlAPI", needs=("address",), weight=_WEIGHT)
def ticket_about_an_address(plan: Plan) -> None:
    """Ask for a ticket whose description is an address that came up."""
    address = plan.take("address")
    _open_ticket(plan, address, plan.rng.pick(_CAR_MATTERS), address.label)


def _open_ticket(plan: Plan, thing: Thing, title: str, description: str) -> None:
    if plan.has_come_up(title):
        raise Unfit("there is a ticket with that title")
    state = plan.book(ticket_desk.Desk)
    login = state.needs_login(plan)
    priority = plan.rng.between(2, 5)
    booking = thing.kind == "booking"
    plan.ask(
        "[Open|Create|Please open] a ticket '{title}' with priority {priority}. [The description is|As the "
        "description, take] "
        "{text}, [and nothing else|without any other words].{login}{token}",
        "[The support desk|Support] should know about this: [open|create] a ticket [titled|with the title] "
        "'{title}', priority "
        "{priority}, [whose description is just|described only by] {text}.{login}{token}",
        "[Could|Can] you [open|file|create] a ticket '{title}' (priority {priority}) with nothing but {text} as its "
        "description?{login}{token}",
        vague=(
            "[Open|Create|Please open] a ticket with our usual title and priority and with nothing but {text} as its "
            "description.{login}{token}",
            "[The support desk|Support] should know about this: [open|create] a ticket described only by {text}, with "
            "the title and priority [we agreed on|we use for such things].{login}{token}",
        ),
        answer=(
            "[Call it|The title is|Title:] '{title}', [with priority|and the priority is] {priority}.",
            "'{title}', priority {priority}[, please|].",
        ),
        withhold=("create_ticket",),
        title=title,
        priority=priority,
        text=description,
        login=login,
        token="" if thing.known else token_note(plan),
        thing=thing,
    )
    text = find_booking(plan, thing) if booking else thing["address"]
    state.log_in(plan)
    ticket = plan.call("create_ticket", title=title, description=text, priority=priority)
    # No other goal is about it: they speak of devices and what is wrong with them.
    plan.drop(state.add(plan, ticket, title, known=True))


def _peek(plan: Plan, name: str, **arguments: Any) -> dict[str, Any]:
    """Return what a call that changes nothing would give."""
    result: dict[str, Any] = json.loads(plan.world.run(Call(name, arguments)).content)
    return result
