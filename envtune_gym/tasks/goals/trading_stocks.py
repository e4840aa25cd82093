"""Goals of TradingBot, third part: quotes, sectors and the watchlist."""

from __future__ import annotations

from envtune_gym.domains._trading_tables import SECTORS
from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.trading_notes import (
    Account,
    forget_watchlist,
    give_watchlist,
    lookup_note,
    see_price,
    see_symbol,
)

_LEFT = ("the ones that are left", "the stocks that are left")


@goal("TradingBot", needs=("stock",))
def look_up_company(plan: Plan) -> None:
    """Ask for the symbol of a company and for the figures of its stock."""
    stock = plan.take("stock", known=False)
    plan.ask(
        "[Look up|Find|Find out] the ticker symbol of {stock} and [show me|get me] the figures of the stock.",
        "[Which|What] symbol does {stock} trade under, and what does the stock cost [at present|right now]?",
        "[I keep hearing|A friend told me] about {stock}. [Find|Look up] its symbol and [get me|show me] the stock "
        "info.",
        vague=(
            "[Look up|Find|Find out] the ticker symbol of a company [I've heard of|for me] and [show me|get me] the "
            "figures of the stock.",
            "A friend told me about a company. [Find|Look up] its symbol and [get me|show me] the stock info.",
        ),
        answer=("[It's|It is|I mean] {stock}.", "[The company is|It goes by the name of] {stock}."),
        withhold=("get_symbol_by_name", "get_stock_info"),
        stock=stock,
    )
    see_price(plan, stock)


@goal("TradingBot", needs=("stock",), weight=0.9)
def quote_stock(plan: Plan) -> None:
    """Ask for the figures of a stock whose symbol is known."""
    stock = plan.take("stock", known=True, where=lambda stock: not stock["priced"])
    plan.ask(
        "What [is the price of {stock}|does a share of {stock} cost][ right now| at the moment|]?",
        "[Show me|Get me|Pull up] the [figures|quote|stock info] of {stock}[, please|].",
        "[How is|How's] {stock} doing[ today|]? I'd like the price and the moving averages.",
        vague=()
        if _is_seen(plan, stock["symbol"])
        else (
            "[Show me|Get me|Pull up] the [figures|quote] of a stock [that interests me|I'm thinking of].",
            "How's my favourite stock doing[ today|]? I'd like the price and the moving averages.",
        ),
        answer=("[It's|I mean|I'm talking about] {stock}.", "[The stock is|It is] {stock}."),
        withhold=("get_stock_info",),
        stock=stock,
    )
    see_price(plan, stock)


@goal("TradingBot", weight=0.8)
def list_sector(plan: Plan) -> None:
    """Ask which stocks of a sector there are."""
    sectors = [name for name in SECTORS if not plan.has_shown("get_available_stocks", sector=name)]
    if not sectors:
        raise Unfit("all sectors have been seen")
    sector = plan.rng.pick(sectors)
    plan.ask(
        "[Which|What] stocks [are there|can I trade] in the {sector} sector?",
        "[List|Show me|Get me] the [available |]stocks of the {sector} sector[, please|].",
        "[I'm thinking of|I'm interested in] investing in the {sector} sector. [Which|What] stocks are available[ "
        "there|]?",
        withhold=("get_available_stocks",),
        sector=sector,
    )
    symbols = plan.call("get_available_stocks", sector=sector)["stock_list"]
    plan.give("selection", f"the {sector.lower()} stocks", (f"those {sector.lower()} stocks",), symbols=symbols)


@goal("TradingBot", needs=("selection",), weight=1.6)
def filter_by_price(plan: Plan) -> None:
    """Ask which of some stocks lie within a range of prices."""
    rng, quotes = plan.rng, plan.book(Account).quotes
    selection = plan.take("selection", where=lambda selection: len(selection["symbols"]) > 2)
    symbols = selection["symbols"]
    prices = sorted(quotes[symbol]["price"] for symbol in symbols)
    lowest = rng.below(len(prices) - 1)
    highest = rng.between(lowest, len(prices) - (1 if lowest else 2))
    low, high = max(5, int(prices[lowest]) - rng.between(0, 4)), int(prices[highest]) + rng.between(1, 4)
    picked = [symbol for symbol in symbols if low <= quotes[symbol]["price"] <= high]
    bounds = {"min_price": low, "max_price": high}
    if len(picked) == len(symbols) or plan.has_shown("filter_stocks_by_price", stocks=symbols, **bounds):
        raise Unfit("nothing is left out, or it has been asked before")
    plan.ask(
        "Which of {selection} [cost|are priced] between {low} and {high} dollars[ a share|]?",
        "[Tell me which|Find out which] of {selection} cost between {low} and {high} dollars[ a share|].",
        "[Filter|Narrow down] {selection} to [those|the ones] that [cost|trade at] {low} to {high} dollars[ a share|].",
        "I want to spend between {low} and {high} dollars a share. Which of {selection} [fit that|are in that range]?",
        vague=(
            "[Filter|Narrow down] {selection} to [those|the ones] in my price range.",
            "Which of {selection} are [in my price range|in the price range I have in mind]?",
        ),
        answer=(
            "[My range is|I mean] {low} to {high} dollars[ a share|].",
            "[Between|Anything between] {low} and {high} dollars.",
        ),
        withhold=("filter_stocks_by_price",),
        selection=selection,
        low=low,
        high=high,
    )
    plan.call("filter_stocks_by_price", stocks=symbols, **bounds)
    if len(picked) > 1:
        plan.give("selection", f"{selection.label} from {low} to {high} dollars", _LEFT, symbols=picked)


@goal("TradingBot", needs=("selection",), weight=1.6)
def find_movers(plan: Plan) -> None:
    """Ask which of some stocks have moved by so much."""
    rng, quotes = plan.rng, plan.book(Account).quotes
    selection = plan.take("selection")
    symbols = selection["symbols"]
    moves = sorted(abs(quotes[symbol]["percent_change"]) for symbol in symbols)
    threshold = round(rng.pick(moves) - rng.pick((0.005, 0.015)), 3)
    if plan.has_shown("notify_price_change", stocks=symbols, threshold=threshold):
        raise Unfit("it has been asked before")
    plan.ask(
        "Which of {selection} have [moved|changed] by at least {threshold} percent[, up or down|]?",
        "[Tell me which|Find out which] of {selection} have moved by at least {threshold} percent[, up or down|].",
        "[Notify|Alert] me [of|about] all price changes of {threshold} percent or more among {selection}.",
        "[Has there been|Was there] any price change of {threshold} percent or more among {selection}?",
        vague=(
            "[Notify|Alert] me [of|about] all price changes among {selection} that reach my [threshold|limit].",
            "[Has there been|Was there] any price change among {selection} that reaches my [threshold|limit]?",
        ),
        answer=(
            "[I mean|That would be|It's] {threshold} percent or more.",
            "[My limit is|It is] {threshold} percent, up or down.",
        ),
        withhold=("notify_price_change",),
        selection=selection,
        threshold=threshold,
    )
    plan.call("notify_price_change", stocks=symbols, threshold=threshold)


@goal("TradingBot", needs=("stock",))
def watch_stock(plan: Plan) -> None:
    """Put a stock on the watchlist."""
    account = plan.book(Account)
    stock = plan.take("stock", where=lambda stock: stock["symbol"] not in account.watched)
    plan.ask(
        "[Put|Please put] {stock} on my watchlist.{note}",
        "[Add|Please add] {stock} to my watchlist.{note}",
        "[I'd like|I want] to keep an eye on {stock}. [Put it on|Add it to] my watchlist[, please|].{note}",
        "[Could|Can|Would] you add {stock} to [my watchlist|the stocks I watch]?{note}",
        vague=()
        if _is_seen(plan, stock["symbol"])
        else (
            "[Put|Please put] a stock [that a friend mentioned|I've read about] on my watchlist.",
            "There's [a stock|one more stock] that I'd like to keep an eye on. [Put it on|Add it to] my watchlist[, "
            "please|].",
        ),
        answer=("[It's|I mean|Add] {stock}.{note}", "[The stock is|It is] {stock}.{note}"),
        withhold=("add_to_watchlist",),
        stock=stock,
        note=lookup_note(plan, stock),
    )
    plan.call("add_to_watchlist", stock=see_symbol(plan, stock))
    account.watched.append(stock["symbol"])
    account.added.add(stock["symbol"])
    give_watchlist(plan)


@goal("TradingBot", needs=("broker session",), weight=0.8)
def show_watchlist(plan: Plan) -> None:
    """Ask for the watchlist."""
    account = plan.book(Account)
    if account.watchlist is not None or plan.has_shown("get_watchlist"):
        raise Unfit("the watchlist has been seen")
    plan.ask(
        "[Which|What] stocks are on my watchlist[ at the moment| now|]?",
        "[Show me|Get me|Pull up] my watchlist[, please|].",
        "I can't recall [what I'm watching|which stocks I watch]. [Show me|Get me] the watchlist.",
        withhold=("get_watchlist",),
    )
    plan.call("get_watchlist")
    give_watchlist(plan)


@goal("TradingBot", needs=("broker session",), weight=0.9)
def unwatch_stock(plan: Plan) -> None:
    """Take a stock off the watchlist, by its symbol."""
    account = plan.book(Account)
    removable = [symbol for symbol in account.watched if symbol not in account.added]
    if not removable or len(account.watched) < 2:
        raise Unfit("too few stocks are watched")
    symbol = plan.rng.pick(removable)
    plan.ask(
        "[Take|Please take] {symbol} off my watchlist.",
        "[Remove|Please remove|Delete] {symbol} from my watchlist.",
        "I've lost interest in {symbol}. [Take it off|Remove it from] my watchlist[, please|].",
        "[Could|Can|Would] you [take {symbol} off|remove {symbol} from] my watchlist?",
        vague=()
        if _is_seen(plan, symbol)
        else (
            "[Take|Please take] a certain stock off my watchlist.",
            "I've lost interest in one of the stocks I watch. [Take it off|Remove it from] my watchlist[, please|].",
        ),
        answer=("[It's|I mean|Take off] {symbol}.", "[The stock is|Remove] {symbol}."),
        withhold=("remove_stock_from_watchlist",),
        symbol=symbol,
    )
    _unwatch(plan, symbol)


@goal("TradingBot", needs=("broker session",), weight=0.8, once=True)
def unwatch_first_stock(plan: Plan) -> None:
    """Take the stock off the watchlist that stands first there, which only the list can show."""
    account = plan.book(Account)
    if account.watchlist is None and plan.has_shown("get_watchlist"):
        raise Unfit("the watchlist has been seen before")
    if account.watched[0] in account.added or len(account.watched) < 2:
        raise Unfit("too few stocks are watched")
    plan.ask(
        "[Take|Please take] the first stock on my watchlist off it[; look the list up|, whatever it is].",
        "[Remove|Delete|Please remove] whichever stock stands first on my watchlist[ from it|].",
        "My watchlist is getting too long. [See which stock comes first on it|Look up the first stock on it] and "
        "[remove that one|take it off].",
        withhold=("remove_stock_from_watchlist",),
    )
    if account.watchlist is None:
        plan.call("get_watchlist")
    _unwatch(plan, account.watched[0])


def _unwatch(plan: Plan, symbol: str) -> None:
    account = plan.book(Account)
    plan.call("remove_stock_from_watchlist", symbol=symbol)
    account.watched.remove(symbol)
    forget_watchlist(plan)


def _is_seen(plan: Plan, symbol: str) -> bool:
    """Tell whether some result has shown a symbol: leaving it unsaid would not leave it open."""
    return any(symbol in result for step in plan.steps for result in step.results)
