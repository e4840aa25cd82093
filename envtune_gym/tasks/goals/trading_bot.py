"""Goals of TradingBot, first part: the account, logging in and out, and moving money."""

from __future__ import annotations

from typing import Any

from envtune_gym.domains._trading_tables import COMPANIES
from envtune_gym.tasks.goals import trading_orders as _orders  # noqa: F401 - registers the other goals
from envtune_gym.tasks.goals import trading_stocks as _stocks  # noqa: F401 - likewise
from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.people import MONTHS, password
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.trading_notes import Account, give_balance

_FAMOUS = {
    "AAPL": "Apple", "GOOG": "Google", "MSFT": "Microsoft", "NVDA": "Nvidia", "TSLA": "Tesla", "AMZN": "Amazon",
    "F": "Ford", "GM": "General Motors",
}  # fmt: skip
"""Stocks whose symbols everybody knows."""
_LITTLE_KNOWN = {symbol: name for name, symbol in COMPANIES.items() if symbol not in _FAMOUS and not name.endswith(".")}
"""Companies whose symbols have to be looked up; a name with a full stop would be hard to spell from a sentence."""
_SESSION_TOOLS = frozenset(
    (
        "trading_login", "trading_logout", "place_order", "withdraw_funds", "fund_account", "get_account_info",
        "remove_stock_from_watchlist", "get_watchlist", "get_order_history", "get_transaction_history",
    )
)  # fmt: skip
"""Tools whose results show whether somebody is logged in."""


@scenario("TradingBot")
def brokerage_account(plan: Plan) -> dict[str, Any]:
    """An account with money, orders, a watchlist and some earlier transactions, on a market with quotes of its own."""
    rng = plan.rng
    quotes = {symbol: _quote(plan) for symbol in (*_FAMOUS, *rng.sample(tuple(_LITTLE_KNOWN), 4))}
    orders = _orders_of(plan, tuple(quotes))
    balance = float(rng.between(250_000, 480_000))
    watched = rng.sample(tuple(quotes), rng.between(3, 5))
    transactions = _transactions(plan)
    logged_in, is_open = rng.chance(0.7), rng.chance(0.85)
    newest = orders[-1]
    plan.keep(
        Account(
            f"{plan.cast.first}.{plan.cast.last}".lower(),
            password(rng),
            balance,
            quotes,
            list(watched),
            newest,
            [one["timestamp"][:10] for one in transactions],
        )
    )
    plan.give("orders", "my orders")
    if logged_in:
        plan.give("broker session", "my trading account")
    else:
        plan.give("broker login", "my trading account")
    if is_open:
        plan.give("open market", "the market")
    for symbol in rng.sample(tuple(quotes), len(quotes)):  # requests are often about the latest
        known = symbol in _FAMOUS
        name = _FAMOUS[symbol] if known else _LITTLE_KNOWN[symbol]
        label, short = f"{name} ({symbol})" if known else name, ("that stock", "this stock")
        plan.give("stock", label, short, known=known, name=name, symbol=symbol, priced=False)
    return {
        "orders": {str(order["id"]): order for order in orders},
        "account_info": {
            "account_id": rng.between(30_000, 90_000),
            "balance": balance,
            "binding_card": int(rng.digits(16)),
        },
        "authenticated": logged_in,
        "market_status": "Open" if is_open else "Closed",
        "order_counter": newest["id"] + rng.between(3, 50),
        "stocks": quotes,
        "watch_list": watched,
        "transaction_history": transactions,
        "random_seed": rng.between(1, 999_999),
    }


def _quote(plan: Plan) -> dict[str, float]:
    rng = plan.rng
    price, drift = rng.price(20, 480), rng.between(-200, 300) / 100
    return {
        "price": price,
        "percent_change": rng.between(3, 98) / rng.pick((100, 100, -100)),
        "volume": rng.between(500, 4000) / 1000,
        "MA(5)": round(price - drift, 2),
        "MA(20)": round(price - 3 * drift, 2),
    }


def _orders_of(plan: Plan, symbols: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return orders by rising id, the last of which waits as a rule."""
    rng = plan.rng
    order_id, count = rng.between(20_000, 60_000), rng.between(2, 4)
    orders = []
    for number in range(count):
        order_id += rng.between(1, 30)
        last = number == count - 1
        orders.append(
            {
                "id": order_id,
                "order_type": rng.pick(("Buy", "Sell")),
                "symbol": rng.pick(symbols),
                "price": rng.price(20, 400),
                "amount": rng.between(5, 90),
                "status": "Pending" if last and rng.chance(0.75) else "Completed",
            }
        )
    return orders


def _transactions(plan: Plan) -> list[dict[str, Any]]:
    """Return transactions of different months, oldest first."""
    rng = plan.rng
    return [
        {
            "type": rng.pick(("deposit", "withdrawal")),
            "amount": rng.between(150, 4_000, 5),
            "timestamp": f"2024-{month:02}-{rng.between(2, 28):02} {rng.between(10, 17)}:{rng.between(10, 59)}:00",
        }
        for month in sorted(rng.sample(range(1, 9), rng.between(3, 5)))
    ]


@goal("TradingBot", needs=("broker login",), weight=4.0)
def log_in_to_broker(plan: Plan) -> None:
    """Log in with user name and password."""
    account = plan.book(Account)
    plan.ask(
        "[Log me in|Sign me in|Please log me in] to my [trading|brokerage] account: user name {user}, password "
        "{secret}.",
        "[I need|I want] to get into my [trading|brokerage] account. [The user name is|I am] {user} and the password "
        "is {secret}.",
        "[Could|Can|Would] you log me in at the broker's? User {user}, password {secret}.",
        vague=()
        if account.secret_said
        else (
            "[Log me in|Sign me in|Please log me in] to my [trading|brokerage] account, user name {user}.",
            "[Could|Can|Would] you log me in at the broker's? I'm {user} there.",
        ),
        answer=("[The password is|My password is|It's] {secret}.", "[Use|Take] the password {secret}."),
        withhold=("trading_login",),
        user=account.user,
        secret=account.secret,
    )
    plan.call("trading_login", username=account.user, password=account.secret)
    account.secret_said = True
    plan.drop(plan.things("broker login")[0])
    plan.give("broker session", "my trading account")


@goal("TradingBot", needs=("broker session",), weight=0.2, once=True)
def log_out_of_broker(plan: Plan) -> None:
    """Log out."""
    plan.ask(
        "[Log me out|Sign me out|Please log me out] of my [trading|brokerage] account.",
        "I'm [done|finished] with trading for [today|now]. [Log me out|Sign me out][, please|].",
        "[Could|Can] you log me out of the [trading|brokerage] account? [I'm leaving my desk|Somebody else needs "
        "this computer].",
        withhold=("trading_logout",),
    )
    plan.call("trading_logout")
    plan.drop(plan.things("broker session")[0])
    plan.give("broker login", "my trading account")


@goal("TradingBot", weight=0.3, once=True)
def check_broker_login(plan: Plan) -> None:
    """Ask whether one is logged in, before anything else has shown it."""
    known = any(call.name in _SESSION_TOOLS for step in plan.steps for call in step.calls)
    if known or plan.has_shown("trading_get_login_status"):
        raise Unfit("the login status is known")
    plan.ask(
        "[Am I|Am I still] logged in to my [trading|brokerage] account?",
        "[Check|Find out|Tell me] [whether|if] I'm [still |]logged in to my [trading|brokerage] account[, please|].",
        "I [can't remember|don't know] [whether|if] I've logged in at the broker's. [Check|Please check] the login "
        "status.",
        withhold=("trading_get_login_status",),
    )
    plan.call("trading_get_login_status")


@goal("TradingBot", weight=0.3, once=True)
def ask_the_time(plan: Plan) -> None:
    """Ask for the time of day at the exchange."""
    plan.ask(
        "What time is it [now|at the moment][ on the trading floor| at the exchange|]?",
        "[Tell me|Give me|Get me] the current time[ on the trading platform| at the exchange|][, please|].",
        "I [must not|don't want to] miss the close of [trading|the session]. What's the time [now|at the exchange]?",
        withhold=("get_current_time",),
    )
    plan.call("get_current_time")


@goal("TradingBot", needs=("broker session",))
def pay_in(plan: Plan) -> None:
    """Pay money into the account."""
    account, amount = plan.book(Account), plan.rng.between(1_210, 9_890, 10)
    plan.ask(
        "[Pay|Put|Deposit|Please deposit] {amount} dollars into my [trading|brokerage] account.",
        "[Fund|Please fund|Top up] my [trading|brokerage] account with {amount} dollars.",
        "My [trading|brokerage] account [needs|could do with] more money: [add|pay in|deposit] {amount} dollars[, "
        "please|].",
        "[I've saved|I can spare] {amount} dollars[ this month|]. [Put them into|Move them to] my trading account.",
        vague=(
            "[Pay|Put|Deposit] some money into my [trading|brokerage] account.",
            "My [trading|brokerage] account [needs|could do with] more money. [Fund it|Top it up][, please|].",
        ),
        answer=("[Make it|I'd say|Let it be] {amount} dollars.", "[Put in|Pay in] {amount} dollars."),
        withhold=("fund_account",),
        amount=amount,
    )
    account.balance = plan.call("fund_account", amount=amount)["new_balance"]
    account.listed = False
    give_balance(plan, account.balance)


@goal("TradingBot", needs=("broker session", "open market"))
def withdraw(plan: Plan) -> None:
    """Take money out of the account."""
    account, amount = plan.book(Account), plan.rng.between(215, 4_985, 5)
    plan.ask(
        "[Withdraw|Please withdraw|Take out] {amount} dollars from my [trading|brokerage] account.",
        "I need {amount} dollars [in cash|for a repair|for my rent|for a present]. [Withdraw them from|Take them out "
        "of] my trading account[, please|].",
        "[Could|Can|Would] you withdraw {amount} dollars from my [trading|brokerage] account?",
        vague=(
            "[Withdraw|Please withdraw|Take out] some money from my [trading|brokerage] account.",
            "I need [some cash|money for a repair]. [Withdraw it from|Take it out of] my trading account[, please|].",
        ),
        answer=("[I need|Make it|It should be] {amount} dollars.", "[Take out|Withdraw] {amount} dollars."),
        withhold=("withdraw_funds",),
        amount=amount,
    )
    account.balance = plan.call("withdraw_funds", amount=amount)["new_balance"]
    account.listed = False
    give_balance(plan, account.balance)


@goal("TradingBot", needs=("broker session",), weight=0.8, once=True)
def show_account(plan: Plan) -> None:
    """Ask for what is known of the account."""
    plan.ask(
        "[Show me|Get me|Pull up] the [details of|information on] my [trading|brokerage] account[, please|].",
        "[Which|What] card is [linked to|bound to] my trading account, and how much money is in it?",
        "[Could|Can] you look up the account information at the broker's? I [need|want to see] the account id, the "
        "balance and the card.",
        withhold=("get_account_info",),
    )
    plan.call("get_account_info")
    give_balance(plan, plan.book(Account).balance)


@goal("TradingBot", needs=("broker session",), weight=0.7)
def list_transactions(plan: Plan) -> None:
    """Ask for all deposits and withdrawals."""
    account = plan.book(Account)
    if account.listed:
        raise Unfit("the transactions have been seen")
    plan.ask(
        "[List|Show me|Print] all [transactions|deposits and withdrawals] of my [trading|brokerage] account[ so far|].",
        "[What|Which] deposits and withdrawals have there been on my [trading|brokerage] account[ so far|]? I want "
        "the whole history.",
        "I'm [doing my taxes|going through my papers]. [Get|Show] me the [whole|complete] transaction history[ of my "
        "trading account|].",
        withhold=("get_transaction_history",),
    )
    plan.call("get_transaction_history")
    account.listed = True


@goal("TradingBot", needs=("broker session",), weight=0.7, once=True)
def list_transactions_of_a_period(plan: Plan) -> None:
    """Ask for the deposits and withdrawals between two days."""
    account, rng = plan.book(Account), plan.rng
    if account.listed:
        raise Unfit("the transactions have been seen")
    first = int(rng.pick(account.days)[5:7])
    start, end = (first, 1), (first + 1, 1)
    if first > 1 and rng.chance(0.5):
        start, end = (first - 1, rng.between(1, 28)), (first, 29)
    words = rng.pick(("{year}-{month:02}-{day:02}", "{name} {day}, {year}", "{day} {name} {year}"))
    spoken = [words.format(year=2024, month=month, day=day, name=MONTHS[month - 1]) for month, day in (start, end)]
    plan.ask(
        "[List|Show me|Print] the [transactions|deposits and withdrawals] on my [trading|brokerage] account from "
        "{start} to {end}.",
        "[What|Which] deposits and withdrawals were there on my trading account between {start} and {end}?",
        "I'm [doing my taxes|going through my papers]. [Get|Show] me the transaction history from {start} to {end}.",
        vague=(
            "[List|Show me|Print] the [transactions|deposits and withdrawals] on my [trading|brokerage] account for "
            "a certain period.",
            "I'm [doing my taxes|going through my papers]. [Get|Show] me the transaction history for the period [I'm "
            "working on|in question].",
        ),
        answer=(
            "[From|The period is from] {start} to {end}.",
            "[It starts on|The start is] {start} and the end is {end}.",
        ),
        withhold=("get_transaction_history",),
        start=spoken[0],
        end=spoken[1],
    )
    start_date, end_date = (f"2024-{month:02}-{day:02}" for month, day in (start, end))
    plan.call("get_transaction_history", start_date=start_date, end_date=end_date)
