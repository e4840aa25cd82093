"""Goals of TradingBot, second part: orders."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.trading_notes import Account, give_price, lookup_note, see_price, see_symbol


@goal("TradingBot", needs=("stock", "broker session"), weight=1.6)
def buy_shares(plan: Plan) -> None:
    """Buy shares at the price that they trade at, which may have to be looked up, as well as the symbol."""
    account, amount = plan.book(Account), plan.rng.between(103, 480)
    stock = plan.take("stock")
    if account.quotes[stock["symbol"]]["price"] * amount > account.balance:
        raise Unfit("too dear")
    plan.ask(
        "[Buy|Please buy|Get me] {amount} shares of {stock} at the current price.{note}",
        "[I'd like|I want] to [put some money into|invest in] {stock}: [place|put in] a buy order for {amount} shares "
        "at the price it trades at now.{note}",
        "[Could|Can|Would] you place [a buy order for|an order to buy] {amount} shares of {stock} at [the "
        "current|today's] price?{note}",
        vague=(
            "[Buy|Please buy|Get me] some shares of {stock} at the current price.",
            "[I'd like|I want] to [put some money into|invest in] {stock}: [place|put in] a buy order at the price it "
            "trades at now.",
        ),
        answer=("[Make it|I want|Let's say] {amount} shares.{note}", "[Take|Buy] {amount} of them.{note}"),
        withhold=("place_order",),
        stock=stock,
        amount=amount,
        note=lookup_note(plan, stock, price=True),
    )
    _place(plan, "Buy", stock, see_price(plan, stock), amount)


@goal("TradingBot", needs=("stock", "broker session"))
def sell_shares(plan: Plan) -> None:
    """Sell shares at a price that the user wants."""
    rng = plan.rng
    stock, amount = plan.take("stock"), rng.between(103, 480)
    whole = int(plan.book(Account).quotes[stock["symbol"]]["price"] * rng.between(96, 115) / 100)
    price = round(whole + rng.between(1, 99) / 100, 2)  # never a whole number, which could be written in two ways
    plan.ask(
        "[Sell|Please sell] {amount} shares of {stock} at {price} dollars[ each| a share].{note}",
        "[I want|I'd like] to part with {stock}. [Place|Put in] a sell order for {amount} shares at {price} dollars[ "
        "each| a share].{note}",
        "[Could|Can|Would] you place [a sell order for|an order to sell] {amount} shares of {stock}, at {price} "
        "dollars per share?{note}",
        vague=(
            "[Sell|Please sell] {amount} shares of {stock} at the price I have in mind.",
            "[I want|I'd like] to part with {stock}. [Place|Put in] a sell order for {amount} shares at my limit.",
        ),
        answer=(
            "[The price is|I want|My limit is] {price} dollars[ each| a share].{note}",
            "[At|For] {price} dollars a share.{note}",
        ),
        withhold=("place_order",),
        stock=stock,
        amount=amount,
        price=f"{price:.2f}",
        note=lookup_note(plan, stock),
    )
    see_symbol(plan, stock)
    _place(plan, "Sell", stock, price, amount)


def _place(plan: Plan, order_type: str, stock: Thing, price: float, amount: int) -> None:
    result = plan.call("place_order", order_type=order_type, symbol=stock["symbol"], price=price, amount=amount)
    if plan.has("orders"):
        plan.drop(plan.things("orders")[0])  # the newest order is one that the agent knows
    label = f"my {order_type.lower()} order for {amount} shares of {stock['name']}"
    short = ("that order", "this order", "the order you've placed")
    plan.give("order", label, short, id=result["order_id"], open=True, detailed=False, steps=len(plan.steps))


@goal("TradingBot", needs=("order",), weight=2.0)
def show_order(plan: Plan) -> None:
    """Ask for the details of an order."""
    order = plan.take("order", where=lambda order: not order["detailed"])
    plan.ask(
        "[Show me|Get me|Let me see|Pull up] the details of {order}[, please|].",
        "What's the status of {order}? [Get|Show] me [all |]its details.",
        "[Could|Can] I [see|have] the details of {order}[, please|]?",
        "I want to be sure that everything is right with {order}. [Get|Show] me the details.",
        withhold=("get_order_details",),
        order=order,
    )
    plan.call("get_order_details", order_id=order["id"])
    order["detailed"] = True


@goal("TradingBot", needs=("orders", "broker session"), weight=0.9, once=True)
def find_newest_order(plan: Plan) -> None:
    """Ask for the newest order, whose id only the list of orders shows, and for its details."""
    plan.ask(
        "[List|Get|Look up] my orders and show me the details of the newest one, [that is, the one with|which is the "
        "one with] the highest id.",
        "[What|Which] was my latest order? [Go through|Look into] my order history, take the highest id and "
        "[show|get] me the details.",
        "I've [mislaid the id|forgotten the number] of my last order. It's the highest in my order history; [find "
        "it|look it up] and [show|get] me its details.",
        withhold=("get_order_details",),
    )
    newest = plan.book(Account).newest
    plan.call("get_order_history")
    plan.call("get_order_details", order_id=newest["id"])
    plan.drop(plan.things("orders")[0])
    label = f"my {str(newest['order_type']).lower()} order for {newest['amount']} shares of {newest['symbol']}"
    is_open = newest["status"] == "Pending"
    plan.give("order", label, ("that order", "this order"), id=newest["id"], open=is_open, detailed=True, steps=0)
    give_price(plan, float(str(newest["price"])), "the price in my latest order", "the price in that order")


@goal("TradingBot", needs=("order",), weight=1.8)
def cancel_an_order(plan: Plan) -> None:
    """Cancel an order that waits."""
    # Nobody places an order and cancels it in the same breath.
    order = plan.take("order", where=lambda order: order["open"] and order["steps"] < len(plan.steps) - 1)
    plan.ask(
        "[Cancel|Please cancel|Call off] {order}[ for me|].",
        "I've [changed my mind|thought better of it]. [Cancel|Please cancel] {order}.",
        "[Could|Can|Would] you cancel {order}[, please|]?",
        "[My wife|My husband|My adviser] [talked me out of|is against] {order}, so [cancel it|please cancel it].",
        withhold=("cancel_order",),
        order=order,
    )
    plan.call("cancel_order", order_id=order["id"])
    plan.drop(order)
