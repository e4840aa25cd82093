"""Families of TradingBot: buying shares, moving money, and reckoning with prices."""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.phrases import full_name, password
from envtune_gym.tasks.families.rng import Rng

_COMPANIES = {
    "Zeta Corp": "ZETA",
    "Alpha Tech": "ALPH",
    "Omega Industries": "OMEG",
    "Quasar Ltd.": "QUAS",
    "Neptune Systems": "NEPT",
    "Synex Solutions": "SYNX",
}


def _account(rng: Rng, logged_in: bool) -> dict[str, Any]:
    """Return an account with money, quotes of its own, and orders that wait."""
    stocks = {symbol: _quote(rng) for symbol in ("AAPL", "MSFT", "NVDA", *_COMPANIES.values())}
    order_id = rng.between(20_000, 60_000)
    orders = {
        str(number): {
            "id": number,
            "order_type": "Buy",
            "symbol": rng.pick(tuple(stocks)),
            "price": rng.price(20, 400),
            "amount": rng.between(5, 60),
            "status": "Pending",
        }
        for number in range(order_id, order_id + 3)
    }
    return {
        "orders": orders,
        "account_info": {
            "account_id": rng.between(30_000, 90_000),
            "balance": float(rng.between(60_000, 90_000)),
            "binding_card": int(rng.digits(16)),
        },
        "authenticated": logged_in,
        "market_status": "Open",
        "order_counter": order_id + rng.between(3, 50),
        "stocks": stocks,
        "watch_list": ["NVDA"],
        "transaction_history": [],
        "random_seed": rng.between(1, 999_999),
    }


def _quote(rng: Rng) -> dict[str, float]:
    price = rng.price(40, 700)
    return {
        "price": price,
        "percent_change": rng.between(1, 60) / 100,
        "volume": rng.between(500, 4000) / 1000,
        "MA(5)": round(price - rng.between(1, 300) / 100, 2),
        "MA(20)": round(price - rng.between(301, 900) / 100, 2),
    }


@family("TradingBot")
def buy_shares(draft: Draft) -> None:
    """Look a company up, buy at its price, watch it, cancel the order."""
    rng = draft.rng
    company = rng.pick(tuple(_COMPANIES))
    amount = rng.between(11, 75)
    draft.start(TradingBot=_account(rng, logged_in=True))

    draft.ask(
        f"Look up the ticker symbol of {company} and show me the figures of the stock.",
        f"What {company} does interests me. Find its symbol, then get the stock info.",
        f"Which symbol does {company} trade under, and what does the stock cost at present?",
        vague=(
            "Look up the ticker symbol of a company for me and show me the figures of the stock.",
            "I'm curious about a certain company. Find its symbol, then get the stock info.",
        ),
        answer=(f"It is {company} that I mean.", f"{company} is the one."),
        withhold=("get_stock_info",),
    )
    symbol = draft.call("get_symbol_by_name", name=company)["symbol"]
    price = draft.call("get_stock_info", symbol=symbol)["price"]

    draft.ask(
        f"Buy {amount} shares of it at that price.",
        f"Place a buy order for {amount} of these shares at the price you found.",
        f"I'd like to buy {amount} shares at exactly the current price.",
        vague=(
            "Buy some shares of it at that price.",
            "Place a buy order for a number of these shares at the price you found.",
        ),
        answer=(f"{amount} shares.", f"Make it {amount}."),
        withhold=("place_order",),
    )
    order_id = draft.call("place_order", order_type="Buy", symbol=symbol, price=price, amount=amount)["order_id"]

    draft.ask(
        f"Show me the details of that order, and put {company} on my watchlist.",
        f"Let me see the order's details. Also add {company} to the watchlist.",
        f"Add {company} to my watchlist, and get the details of the order you placed.",
        withhold=("add_to_watchlist",),
    )
    draft.call("get_order_details", order_id=order_id)
    draft.call("add_to_watchlist", stock=symbol)

    draft.ask(
        "I have changed my mind. Cancel the order.",
        "On second thoughts, please cancel that order.",
        "Cancel the order you placed for me.",
        withhold=("cancel_order",),
    )
    draft.call("cancel_order", order_id=order_id)


@family("TradingBot")
def move_money(draft: Draft) -> None:
    """Log in and pay in, withdraw, cancel an old order, list the transactions."""
    rng = draft.rng
    first, last = full_name(rng)
    user, secret = f"{first}.{last}".lower(), password(rng)
    paid_in, taken = rng.between(1200, 9000, 50), rng.between(150, 1100, 50)
    config = _account(rng, logged_in=False)
    order = rng.pick(tuple(config["orders"].values()))
    draft.start(TradingBot=config)

    draft.ask(
        f"Log me in as {user} with the password {secret} and pay {paid_in} dollars into the account.",
        f"My broker login is {user}, password {secret}. Please fund the account with {paid_in} dollars.",
        f"I want to put {paid_in} dollars into my trading account. User {user}, password {secret}.",
        vague=(
            f"Log me in to my broker and pay {paid_in} dollars into the account.",
            "I want to put some money into my trading account. You will have to log me in.",
        ),
        answer=(
            f"I am {user} and the password is {secret}; the amount is {paid_in} dollars.",
            f"User {user}, password {secret}, {paid_in} dollars.",
        ),
        withhold=("trading_login", "fund_account"),
    )
    draft.call("trading_login", username=user, password=secret)
    draft.call("fund_account", amount=paid_in)

    draft.ask(
        f"Withdraw {taken} dollars again.",
        f"That was too much. Please take {taken} dollars back out.",
        f"I need {taken} dollars in cash: withdraw them.",
        vague=("That was too much. Please take some of it back out.", "Withdraw a part of it again."),
        answer=(f"{taken} dollars.", f"Withdraw {taken} dollars."),
        withhold=("withdraw_funds",),
    )
    draft.call("withdraw_funds", amount=taken)

    draft.ask(
        f"Show me the details of my order {order['id']}, then cancel it.",
        f"What is order {order['id']}? Get its details first and cancel it after that.",
        f"Order {order['id']} has been waiting too long: print its details and then cancel it.",
        vague=("One of my orders has been waiting too long. Print its details, then cancel it.",),
        answer=(f"I mean order {order['id']}.", f"It is order {order['id']}."),
        withhold=("cancel_order", "get_order_details"),
    )
    draft.call("get_order_details", order_id=order["id"])
    draft.call("cancel_order", order_id=order["id"])

    draft.ask(
        "List my transactions and log me out.",
        "Show me the whole transaction history, then log out.",
        "I want to see all transactions so far. Log me out afterwards.",
        withhold=("get_transaction_history", "trading_logout"),
    )
    draft.call("get_transaction_history")
    draft.call("trading_logout")


@family("MathAPI", "TradingBot")
def portfolio_figures(draft: Draft) -> None:
    """Two prices, their mean, what a number of shares would cost, an order."""
    rng = draft.rng
    (first_name, first), (second_name, second) = rng.sample(tuple(_COMPANIES.items()), 2)
    shares = rng.between(12, 48)
    draft.start(MathAPI={}, TradingBot=_account(rng, logged_in=True))

    draft.ask(
        f"Get me the stock info of {first} and of {second}.",
        f"What are the figures of the stocks {first} and {second}?",
        f"Show me the stock info for {first} ({first_name}) and {second} ({second_name}).",
        vague=(
            "I'm comparing two stocks. Get me the stock info of both.",
            "What are the figures of the two stocks that I have in mind?",
        ),
        answer=(f"{first} and {second}.", f"The symbols are {first} and {second}."),
        withhold=("get_stock_info",),
    )
    price = draft.call("get_stock_info", symbol=first)["price"]
    other = draft.call("get_stock_info", symbol=second)["price"]

    draft.ask(
        "Compute the mean of the two prices.",
        "What is the average of these two prices? Use the mean.",
        "Please work out the mean price of the two.",
    )
    draft.call("mean", numbers=[price, other])

    draft.ask(
        f"Multiply the price of {first} by {shares}; I want to know what so many shares would cost.",
        f"How much are {shares} shares of {first}? Multiply it out.",
        f"Work out {shares} times the price of {first}.",
        vague=(f"Multiply the price of {first} by the number of shares I want.",),
        answer=(f"I want {shares} shares.", f"{shares} of them."),
    )
    draft.call("multiply", a=price, b=shares)

    draft.ask(
        f"That's fine. Buy these {shares} shares of {first} at the price you found.",
        f"Place a buy order for {shares} {first} at that price.",
        f"Go ahead and buy {shares} shares of {first} at the current price.",
        withhold=("place_order",),
    )
    draft.call("place_order", order_type="Buy", symbol=first, price=price, amount=shares)
