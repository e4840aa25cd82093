"""Goals of TravelAPI, first part: the traveller, logging in, credit cards, budget and foreign money."""

from __future__ import annotations

from typing import Any

from envtune_gym.domains._travel_tables import AIRPORT_OF_CITY, USD_RATES
from envtune_gym.tasks.goals import travel_bookings as _bookings  # noqa: F401 - registers the other goals
from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.people import MONTHS, future_day, password
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.travel_notes import (
    CLASSES,
    CURRENCIES,
    ROUTES,
    Traveller,
    fare,
    give_price,
    token_note,
)

_BUDGET_MONEY = ("EUR", "GBP", "CAD", "AUD")


@scenario("TravelAPI")
def traveller(plan: Plan) -> dict[str, Any]:
    """A traveller with some credit cards and bookings, who is logged in as a rule."""
    rng = plan.rng
    cards = _cards(plan)
    logged_in = rng.chance(0.75)
    budget = float(rng.between(8_000, 12_000, 100)) if rng.chance(0.3) else None
    token = f"tok-{rng.digits(8)}"
    config = {
        "credit_card_list": cards,
        "booking_record": _bookings_of(plan),
        "access_token": token if logged_in else None,
        "token_type": "Bearer",
        "token_expires_in": 3600 if logged_in else None,
        "token_scope": "read_write",
        "user_first_name": plan.cast.first,
        "user_last_name": plan.cast.last,
        "budget_limit": budget,
        "random_seed": rng.between(1, 999_999),
    }
    plan.keep(Traveller(token if logged_in else "", False, budget))
    if logged_in:
        plan.give("token", "my access token")
    else:
        plan.give("travel login", "my travel account")
    return config


def _cards(plan: Plan) -> dict[str, Any]:
    rng = plan.rng
    cards: dict[str, Any] = {}
    endings = {rng.digits(4): None for _ in range(rng.between(2, 3))}  # a dictionary keeps the order
    for ending in endings:
        card_id, balance = rng.digits(12), float(rng.between(25_000, 80_000))
        cards[card_id] = {
            "card_number": f"{rng.digits(12)}{ending}",
            "expiration_date": f"{rng.between(1, 12):02}/{rng.between(2029, 2033)}",
            "cardholder_name": plan.cast.full_name,
            "card_verification_number": rng.between(100, 999),
            "balance": balance,
        }
        _give_card(plan, ending, "that card", "the same card", id=card_id, balance=balance, known=False)
    return cards


def _give_card(plan: Plan, ending: object, *short: str, id: str, balance: float, known: bool) -> None:
    label = f"my card ending in {ending}"
    plan.give("card", label, short, known=known, id=id, balance=balance, shown=False)


def _bookings_of(plan: Plan) -> dict[str, Any]:
    rng = plan.rng
    bookings: dict[str, Any] = {}
    days: set[str] = set()
    for origin, target in rng.sample(ROUTES, rng.between(2, 3)):
        (day, spoken), seat, card = future_day(rng), rng.pick(CLASSES), rng.pick(plan.things("card"))
        if day in days:
            continue
        days.add(day)
        booking_id, cost = rng.digits(7), fare(origin, target, day, seat)
        bookings[booking_id] = {
            "card_id": card["id"],
            "travel_date": day,
            "travel_from": AIRPORT_OF_CITY[origin],
            "travel_to": AIRPORT_OF_CITY[target],
            "travel_class": seat,
            "travel_cost": cost,
            "transaction_id": rng.digits(8),
        }
        plan.give(
            "booking",
            f"my booking for {spoken}",
            ("that booking", "this booking"),
            known=False,
            id=booking_id,
            card=card,
            cost=cost,
            invoiced=False,
            steps=0,
        )
    return bookings


@goal("TravelAPI", needs=("travel login",), weight=4.0, once=True)
def sign_in_to_travel(plan: Plan) -> None:
    """Log in with the credentials of a client; the access token comes with the result."""
    rng = plan.rng
    client, secret, refresh = f"client-{rng.digits(5)}", password(rng), f"rt-{rng.digits(9)}"
    first, last = plan.cast.first, plan.cast.last
    plan.ask(
        "[Log me in|Sign me in|Please log me in] [to the travel service|for travel bookings]: my client id is "
        "{client}, the client secret {secret}, the refresh token {refresh}, the grant type read_write, and my name "
        "is {first} {last}.",
        "I am {first} {last} and [need|want] to get into [the travel service|my travel account]. [Authenticate me|Log "
        "me in] with the client id {client}, client secret {secret} and refresh token {refresh}, grant type "
        "read_write.",
        "[Could|Can] you authenticate me with the travel service? Client id {client}, secret {secret}, refresh token "
        "{refresh}[, read_write as the grant type|; the grant type is read_write], name {first} {last}.",
        vague=(
            "[Log me in|Sign me in] [to the travel service|for travel bookings], please. I am {first} {last}, the "
            "client id is {client} and the grant type read_write.",
            "[Could|Can] you authenticate {first} {last} with the travel service, client id {client}, grant type "
            "read_write?",
        ),
        answer=(
            "[The client secret is|My client secret is] {secret}, and the refresh token is {refresh}.",
            "[It's refresh token|The refresh token is] {refresh}, and the secret is {secret}.",
        ),
        withhold=("authenticate_travel",),
        client=client,
        secret=secret,
        refresh=refresh,
        first=first,
        last=last,
    )
    result = plan.call(
        "authenticate_travel",
        client_id=client,
        client_secret=secret,
        refresh_token=refresh,
        grant_type="read_write",
        user_first_name=first,
        user_last_name=last,
    )
    notes = plan.book(Traveller)
    notes.token, notes.token_said = result["access_token"], True
    plan.give("token", "the access token")


@goal("TravelAPI", weight=0.3, once=True)
def check_travel_login(plan: Plan) -> None:
    """Ask whether one is logged in, before anything else has shown it."""
    notes = plan.book(Traveller)
    if notes.token_said or plan.has_shown("travel_get_login_status"):
        raise Unfit("the login status is known")
    plan.ask(
        "[Am I|Am I still] logged in to [the travel service|my travel account]?",
        "[Check|Find out|Tell me] [whether|if] I'm [still |]logged in to [the travel service|my travel account][, "
        "please|].",
        "I'm not sure [whether|if] my travel [login|session] is still valid. [Check|Please check] the login status.",
        withhold=("travel_get_login_status",),
    )
    plan.call("travel_get_login_status")


@goal("TravelAPI", weight=0.4, once=True)
def ask_fiscal_year(plan: Plan) -> None:
    """Ask for the fiscal year of the travel budget."""
    plan.ask(
        "[Which|What] fiscal year does [my|the|our] travel budget belong to?",
        "[Look up|Find out|Tell me] the fiscal year of [my|the|our] travel budget[, please|].",
        "[Accounting|The finance team|My boss] [is asking|wants to know] [which|what] fiscal year the travel budget "
        "is for.",
        withhold=("get_budget_fiscal_year",),
    )
    plan.call("get_budget_fiscal_year")


@goal("TravelAPI", needs=("token",), weight=0.7, once=True)
def verify_traveller(plan: Plan) -> None:
    """Have the data of the traveller checked."""
    rng = plan.rng
    year, month, day = rng.between(1958, 2004), rng.below(12), rng.between(1, 28)
    written, passport = f"{year}-{month + 1:02}-{day:02}", f"US{rng.digits(8)}"
    plan.ask(
        "[Verify|Please verify|Check] my traveller information[ before I book anything|]: {name}, born [on |]{born}, "
        "passport [number |]{passport}.",
        "I am {name}, born on {born}, and my passport number is {passport}. [Can|Could] you verify [that these "
        "details are fit for travel|my details for travelling]?",
        "[Do|Will] my details pass the traveller check? My name is {name}, my date of birth {born}, my passport "
        "number {passport}.",
        vague=(
            "[Verify|Please verify|Check] my traveller information: {name}, born [on |]{born}.",
            "[Do|Will] my details pass the traveller check? My name is {name} and my date of birth {born}.",
        ),
        answer=("[My passport number is|The passport number is|It's passport number] {passport}.",),
        withhold=("verify_traveler_information",),
        name=plan.cast.full_name,
        born=rng.pick((f"{day} {MONTHS[month]} {year}", f"{MONTHS[month]} {day}, {year}", written)),
        passport=passport,
    )
    plan.call(
        "verify_traveler_information",
        first_name=plan.cast.first,
        last_name=plan.cast.last,
        date_of_birth=written,
        passport_number=passport,
    )


@goal("TravelAPI", needs=("token",))
def register_card(plan: Plan) -> None:
    """Register a new credit card."""
    rng = plan.rng
    ending = rng.between(1000, 9999)
    if any(card.label.endswith(str(ending)) for card in plan.things("card")):
        raise Unfit("two cards would be called the same")
    number, code = f"{rng.digits(12)}{ending}", rng.between(100, 999)
    expiry = f"{rng.between(1, 12):02}/{rng.between(2028, 2034)}"
    plan.ask(
        "[Register|Please register|Add] a new credit card[ for me|]: number {number}, valid until {expiry}, "
        "verification number {code}, in the name of {name}.{token}",
        "I've [been given|got] a new credit card[ and want to pay with it|]. [Register|Please register] it: the "
        "number is {number}, it expires {expiry}, the verification number is {code} and the name on it is "
        "{name}.{token}",
        "[Could|Can|Would] you register my new credit card? It's number {number}, [expiring|it expires] {expiry}, "
        "verification number {code}, cardholder {name}.{token}",
        vague=(
            "[Register|Please register|Add] a new credit card[ for me|], number {number}, in the name of "
            "{name}.{token}",
            "I've got a new credit card, number {number}, cardholder {name}. [Register|Please register] it.{token}",
        ),
        answer=(
            "[It expires|It's valid until|The card expires] {expiry}, and the verification number is {code}.",
            "[The verification number is|Verification number] {code}, and it's valid until {expiry}.",
        ),
        withhold=("register_credit_card",),
        number=number,
        expiry=expiry,
        code=code,
        name=plan.cast.full_name,
        token=token_note(plan),
    )
    result = plan.call(
        "register_credit_card",
        access_token=plan.book(Traveller).token,
        card_number=number,
        expiration_date=expiry,
        cardholder_name=plan.cast.full_name,
        card_verification_number=code,
    )
    # What is on the card nobody has seen: ten thousand dollars at least.
    _give_card(plan, ending, "the new card", "that card", id=result["card_id"], balance=10_000, known=True)


@goal("TravelAPI", needs=("card", "token"), weight=1.3)
def check_card_balance(plan: Plan) -> None:
    """Ask how much is left on a card that is known, where no list has shown it."""
    card = plan.take("card", known=True, where=lambda card: not card["shown"])
    plan.ask(
        "How much [money |]is [left|still] on {card}[ now|]?{token}",
        "[What's|What is] the balance of {card}[ now|]?{token}",
        "[Check|Look up|Get me|Tell me] the balance of {card}[, please|].{token}",
        "I've lost track of what I can still spend. [Check|Look up] the balance of {card}.{token}",
        card=card,
        token=token_note(plan),
    )
    balance = plan.call("get_credit_card_balance", access_token=plan.book(Traveller).token, card_id=card["id"])
    card["shown"] = True
    give_price(plan, balance["card_balance"], f"the balance of {card.label}", "that balance")


@goal("TravelAPI", needs=("token",), weight=0.6, once=True)
def set_budget(plan: Plan) -> None:
    """Set the budget in US dollars."""
    notes = plan.book(Traveller)
    if notes.budget_set:
        raise Unfit("the budget has been set")
    amount = plan.rng.between(3_050, 7_000, 50)
    plan.ask(
        "[Set|Please set|Fix] my [travel |]budget limit [to|at] {amount} dollars.{token}",
        "I don't want to spend more than {amount} dollars[ on this trip| on travel|]. [Make|Please make] that my "
        "budget limit.{token}",
        "[Could|Can|Would] you [limit my travel budget to|cap my travel budget at] {amount} US dollars?{token}",
        "My budget [is|will be] {amount} dollars[ this time|]; [set|please set] the limit accordingly.{token}",
        vague=(
            "[Set|Please set] a limit for my travel budget[ in dollars|].{token}",
            "I don't want to spend too much [on this trip|on travel]. [Set|Please set] a budget limit.{token}",
        ),
        answer=("[Make it|It should be|Set it to] {amount} dollars.", "[Not more than|At most] {amount} dollars."),
        withhold=("set_budget_limit",),
        amount=amount,
        token=token_note(plan),
    )
    plan.call("set_budget_limit", access_token=notes.token, budget_limit=amount)
    notes.budget, notes.budget_set = amount, True


@goal("TravelAPI", needs=("token",), weight=0.8, once=True)
def set_budget_from_abroad(plan: Plan) -> None:
    """Have an amount of foreign money turned into dollars, and set that as the budget."""
    notes, currency = plan.book(Traveller), plan.rng.pick(_BUDGET_MONEY)
    amount = int(plan.rng.between(3_010, 6_500, 10) * USD_RATES[currency])
    if notes.budget_set or _is_known(plan, currency, "USD", amount):
        raise Unfit("the budget has been set, or the amount has been converted")
    plan.ask(
        "[Convert|Please convert|Change] {amount} {name} ({currency}) to US dollars and [set the result as|make the "
        "result] my budget limit.{token}",
        "My [travel |]budget is {amount} {currency}. [Convert that to|Work that out in] US dollars, then set the "
        "[result|dollar amount] as [my|the] budget limit.{token}",
        "[Work out|Find out] how many US dollars {amount} {name} ({currency}) are[, and|, then] set my budget limit "
        "to exactly that.{token}",
        "I have {amount} {name} ({currency}) to spend. [Set|Please set] my budget limit to what [they are|that is] "
        "in US dollars, by your exchange rate.{token}",
        vague=(
            "[Convert|Please convert] my {name} ({currency}) to US dollars and set the result as my budget "
            "limit.{token}",
            "My [travel |]budget is in {currency}. Convert it to US dollars, then set the result as the budget "
            "limit.{token}",
        ),
        answer=("[It's|I have|The amount is] {amount} {name}.", "[The budget is|I can spend] {amount} {currency}."),
        withhold=("compute_exchange_rate", "set_budget_limit"),
        amount=amount,
        currency=currency,
        name=CURRENCIES[currency],
        token=token_note(plan),
    )
    result = plan.call("compute_exchange_rate", base_currency=currency, target_currency="USD", value=amount)
    budget = result["exchanged_value"]
    plan.call("set_budget_limit", access_token=notes.token, budget_limit=budget)
    notes.budget, notes.budget_set = budget, True
    plan.give("figure", "my budget limit", ("that limit",), value=budget)


@goal("TravelAPI", needs=("dollars",), weight=1.2)
def convert_price(plan: Plan) -> None:
    """Ask for an amount of dollars that a result has shown in another currency."""
    price, currency = plan.take("dollars"), plan.rng.pick(tuple(CURRENCIES))
    if _is_known(plan, "USD", currency, price["value"]):
        raise Unfit("the amount has been converted")
    plan.ask(
        "[How much is|What is|What's] {price} in {name} ({currency})?",
        "[Convert|Please convert|Turn] {price} from US dollars [to|into] {name} ({currency}).",
        "What does {price} come to in {name} ({currency})?",
        "I [think|reckon|do my accounts] in {name} ({currency}), so [convert|please convert] {price}[ for me|].",
        withhold=("compute_exchange_rate",),
        price=price,
        currency=currency,
        name=CURRENCIES[currency],
    )
    result = plan.call("compute_exchange_rate", base_currency="USD", target_currency=currency, value=price["value"])
    plan.give("figure", f"{price.label} in {CURRENCIES[currency]}", ("that amount",), value=result["exchanged_value"])


@goal("TravelAPI", weight=0.7)
def change_cash(plan: Plan) -> None:
    """Ask what an amount of foreign money is worth in dollars."""
    currency, amount = plan.rng.pick(tuple(CURRENCIES)), plan.rng.between(137, 4_980)
    if _is_known(plan, currency, "USD", amount):
        raise Unfit("the amount has been converted")
    plan.ask(
        "How many US dollars [do|would|will] I get for {amount} {name} ({currency})?",
        "I have {amount} {name} ({currency}) left from [a|my last|an earlier] trip. [What|How much] is that in US "
        "dollars?",
        "[Convert|Please convert|Change] {amount} {name} ({currency}) [to|into] US dollars.",
        vague=(
            "I have some {name} ({currency}) left from [a|my last] trip. [What|How much] is that in US dollars?",
            "[Convert|Please convert|Change] my remaining {name} ({currency}) [to|into] US dollars.",
        ),
        answer=("[It's|I have|There are] {amount} {name}.", "[Exactly|In all] {amount} {currency}."),
        withhold=("compute_exchange_rate",),
        amount=amount,
        currency=currency,
        name=CURRENCIES[currency],
    )
    result = plan.call("compute_exchange_rate", base_currency=currency, target_currency="USD", value=amount)
    label = f"the dollar value of {amount} {CURRENCIES[currency]}"
    give_price(plan, result["exchanged_value"], label, "that dollar value")


def _is_known(plan: Plan, base: str, target: str, value: float) -> bool:
    return plan.has_shown("compute_exchange_rate", base_currency=base, target_currency=target, value=value)
