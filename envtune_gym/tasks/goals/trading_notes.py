"""What the goals of TradingBot keep in mind: the account, what the agent has seen of it, stocks and their quotes."""

from __future__ import annotations

from dataclasses import dataclass, field

from envtune_gym.tasks.goals.plan import Plan, Thing
from envtune_gym.tasks.goals.wording import word

__all__ = [
    "Account",
    "forget_watchlist",
    "give_balance",
    "give_price",
    "give_watchlist",
    "lookup_note",
    "see_price",
    "see_symbol",
]

_BALANCE = "the balance of my trading account"


@dataclass
class Account:
    """Notes on the account.

    Attributes:
        user: Name with which the user logs in.
        secret: The password.
        secret_said: Whether the user has said it.
        balance: The money in the account.
        quotes: Figures of each stock, by symbol.
        watched: Symbols on the watchlist.
        added: Those of them that a goal has put there.
        watchlist: The watchlist as something that later goals may be about, once the agent has seen it.
        newest: The order with the highest id in the configuration.
        days: Days of transactions in the configuration.
        listed: Whether the agent has seen the transactions as they are.
    """

    user: str
    secret: str
    balance: float
    quotes: dict[str, dict[str, float]]
    watched: list[str]
    newest: dict[str, object]
    days: list[str]
    secret_said: bool = False
    added: set[str] = field(default_factory=set)
    watchlist: Thing | None = None
    listed: bool = False


def give_price(plan: Plan, value: float, label: str, *short: str) -> None:
    """Leave an amount of US dollars behind for later goals."""
    plan.give("dollars", label, short, value=value)
    plan.give("figure", label, short, value=value)


def give_balance(plan: Plan, value: float) -> None:
    """Leave the balance of the account behind, in place of an earlier one."""
    for kind in ("dollars", "figure"):
        for thing in plan.things(kind):
            if thing.label == _BALANCE:
                plan.drop(thing)
    give_price(plan, value, _BALANCE, "that balance")


def give_watchlist(plan: Plan) -> None:
    """Note that the agent has seen the watchlist as it is."""
    account = plan.book(Account)
    forget_watchlist(plan)
    account.watchlist = plan.give("selection", "the stocks on my watchlist", symbols=list(account.watched))


def forget_watchlist(plan: Plan) -> None:
    """Note that the watchlist is not what the agent has seen."""
    account = plan.book(Account)
    if account.watchlist is not None:
        plan.drop(account.watchlist)
    account.watchlist = None


def lookup_note(plan: Plan, stock: Thing, price: bool = False) -> str:
    """Return a sentence that asks for the symbol of a stock, and for its figures if the price matters; or nothing.

    Symbols can be guessed from names, so looking one up is always asked for; a price cannot.
    """
    templates: tuple[str, ...] = ()
    if price and not stock["priced"]:
        templates = (
            ("", " [Get|Check|Pull up] the stock's figures[ first| for that| to see the price].")
            if stock.known
            else (
                " [Find|Look up] the [ticker |]symbol and the stock's figures[ first| for that].",
                " [First|For that,] [find|look up] the [ticker |]symbol, then get the stock's figures.",
            )
        )
    elif not stock.known:
        templates = (
            " [Look up|Find] the [ticker symbol|symbol][ first| for that].",
            " You'll have to look up its symbol.",
        )
    return word(plan.rng, templates, {}) if templates else ""


def see_symbol(plan: Plan, stock: Thing) -> str:
    """Look up the symbol of a stock unless it is known; return it."""
    if not stock.known:
        plan.call("get_symbol_by_name", name=stock["name"])
        stock.known = True
    symbol: str = stock["symbol"]
    return symbol


def see_price(plan: Plan, stock: Thing) -> float:
    """Look up symbol and price of a stock unless they are known; return the price."""
    symbol = see_symbol(plan, stock)
    price: float = plan.book(Account).quotes[symbol]["price"]
    if not stock["priced"]:
        plan.call("get_stock_info", symbol=symbol)
        stock["priced"] = True
        give_price(plan, price, f"the share price of {stock['name']}", "that price", "that share price")
    return price
