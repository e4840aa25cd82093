"""TradingBot: results, typed causes, the random stream, and the long-context filler."""

import os
import subprocess
import sys

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.trading_bot import TradingBot
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

FILLER = {
    "WATCH_LIST_EXTENSION": ["WX"],
    "TRANSACTION_HISTORY_EXTENSION": [{"type": "deposit", "amount": 1.0, "timestamp": "2024-01-01 00:00:00.5"}],
    "MA_5_EXTENSION": [5.0],
    "MA_20_EXTENSION": [20.0],
    "TECHNOLOGY_EXTENSION": ["TX"],
    "AUTOMOBILE_EXTENSION": ["AX"],
    "ORDER_DETAIL_EXTENSION": {"overview": "About {symbol}: {symbol}."},
}

LOGIN = "User not authenticated. Please log in to {}."


def open_market(filler=None, **changes):
    return TradingBot({"authenticated": True, "market_status": "Open", **changes}, filler)


@pytest.fixture
def bot():
    return open_market()


def fail(function, *args):
    with pytest.raises(ToolFailure) as failure:
        function(*args)
    return failure.value


def test_a_missing_configuration_means_the_official_account():
    state = TradingBot({}).state()
    assert state["account_info"] == {"account_id": 12345, "balance": 10000.0, "binding_card": 1974202140965533}
    assert list(state["orders"]) == [12345, 12446]
    assert (state["market_status"], state["order_counter"], state["watch_list"]) == ("Closed", 12446, ["NVDA"])
    assert len(state["stocks"]) == 11
    assert state["stocks"]["NEPT"] == {
        "price": 88.34,
        "percent_change": 0.19,
        "volume": 0.654,
        "MA(5)": 88.21,
        "MA(20)": 88.67,
    }


def test_order_ids_in_digits_become_integers():
    order = {"symbol": "AAPL", "status": "Open"}
    assert open_market(orders={"7": order, "order_type": "Buy"}).orders == {7: order, "order_type": "Buy"}


@pytest.mark.parametrize(
    ("tool", "args", "result"),
    [
        ("get_current_time", (), {"current_time": "10:30 AM"}),
        ("get_symbol_by_name", ("Zeta Corp",), {"symbol": "ZETA"}),
        ("get_order_history", (), {"history": [12345, 12446]}),
        ("get_watchlist", (), {"watchlist": ["NVDA"]}),
        ("get_available_stocks", ("Automobile",), {"stock_list": ["TSLA", "F", "GM"]}),
        ("filter_stocks_by_price", (["AAPL", "GOOG", "F"], 0, 500), {"filtered_stocks": ["AAPL", "F"]}),
        ("add_to_watchlist", ("ZETA",), {"watchlist": ["NVDA", "ZETA"]}),
        ("add_to_watchlist", ("NVDA",), {"watchlist": ["NVDA"]}),
        ("remove_stock_from_watchlist", ("NVDA",), {"status": "Stock NVDA removed from watchlist successfully."}),
        (
            "notify_price_change",
            (["AAPL", "GOOG", "TSLA", "F"], 0.12),
            {"notification": "Stocks AAPL, GOOG, TSLA have significant price changes."},
        ),
        (
            "notify_price_change",
            (["AAPL"], 5),
            {"notification": "No significant price changes in the selected stocks."},
        ),
        ("cancel_order", (12446,), {"order_id": 12446, "status": "Cancelled"}),
        ("trading_get_login_status", (), {"status": True}),
        ("trading_logout", (), {"status": "Logged out successfully"}),
    ],
)
def test_results(bot, tool, args, result):
    assert getattr(bot, tool)(*args) == result


def test_an_order_is_pending_in_the_answer_and_open_afterwards(bot):
    assert bot.place_order("Buy", "ZETA", 22, 3) == {
        "order_id": 12446,
        "order_type": "Buy",
        "status": "Pending",
        "price": 22.0,
        "amount": 3,
    }
    assert bot.get_order_details(12446) == {
        "id": 12446,
        "order_type": "Buy",
        "symbol": "ZETA",
        "price": 22.0,
        "amount": 3,
        "status": "Open",
    }
    assert bot.order_counter == 12447


def test_money_moves_at_the_moments_that_the_seed_gives(bot):
    fork = bot.fork()
    assert bot.fund_account(500) == {"status": "Account funded successfully", "new_balance": 10500.0}
    assert bot.withdraw_funds(100.5) == {"status": "Withdrawal successful", "new_balance": 10399.5}
    history = bot.get_transaction_history()["transaction_history"]
    assert history == [
        {"type": "deposit", "amount": 500, "timestamp": "2024-09-02 05:40:15"},
        {"type": "withdrawal", "amount": 100.5, "timestamp": "2024-09-01 12:26:34"},
    ]
    assert fork.get_transaction_history() == {"transaction_history": []}
    fork.fund_account(1)
    assert fork.transaction_history[0]["timestamp"] == "2024-09-02 05:40:15"


def test_timestamps_do_not_depend_on_the_time_zone():
    program = (
        "from envtune_gym.domains.trading_bot import TradingBot\n"
        "bot = TradingBot({'authenticated': True}); bot.fund_account(1); print(bot.transaction_history[0]['timestamp'])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "TZ": zone}, check=True, capture_output=True, text=True
        ).stdout.strip()
        for zone in ("UTC", "Asia/Tokyo")
    }
    assert printed == {"2024-09-02 05:40:15"}


def test_transactions_of_a_period():
    history = [{"type": "deposit", "amount": day, "timestamp": f"2024-01-0{day} 12:00:00"} for day in (1, 2, 3)]
    bot = open_market(transaction_history=history)

    def amounts(*period):
        return [t["amount"] for t in bot.get_transaction_history(*period)["transaction_history"]]

    assert amounts() == [1, 2, 3]
    assert amounts("2024-01-02") == [2, 3]
    assert amounts("2024-01-01", "2024-01-03") == [1, 2]
    with pytest.raises(ValueError, match="time data '01/02/2024' does not match format '%Y-%m-%d'"):
        bot.get_transaction_history("01/02/2024")


@pytest.mark.parametrize(
    ("tool", "args", "code", "argument", "text"),
    [
        ("get_stock_info", ("X",), "stock_not_found", "symbol", "Stock with symbol 'X' not found."),
        (
            "get_order_details",
            (1,),
            "order_not_found",
            "order_id",
            "Order with ID 1 not found.Here is the list of orders_id: [12345, 12446]",
        ),
        ("cancel_order", (1,), "order_not_found", "order_id", "Order with ID 1 not found."),
        (
            "cancel_order",
            (12345,),
            "order_completed",
            "order_id",
            "Can't cancel order 12345. Order is already completed.",
        ),
        ("place_order", ("Buy", "X", 1, 1), "stock_not_found", "symbol", "Invalid stock symbol: X"),
        (
            "place_order",
            ("Buy", "AAPL", 1, 0),
            "not_positive",
            "amount",
            "Price and amount must be positive values.",
        ),
        (
            "place_order",
            ("BUY", "AAPL", 101, 100),
            "insufficient_funds",
            "amount",
            "Insufficient funds: required $10100.00 but only $10000.00 available.",
        ),
        ("withdraw_funds", (0,), "not_positive", "amount", "Transaction amount must be positive."),
        ("withdraw_funds", (10001,), "insufficient_funds", "amount", "Insufficient funds for withdrawal."),
        ("fund_account", (-1,), "not_positive", "amount", "Funding amount must be positive."),
        ("remove_stock_from_watchlist", ("X",), "not_in_watchlist", "symbol", "Stock X not found in watchlist."),
    ],
)
def test_failures_have_the_official_text_and_a_cause_and_change_nothing(bot, tool, args, code, argument, text):
    before = bot.state()
    failure = fail(getattr(bot, tool), *args)
    assert (failure.code, failure.argument, failure.official) == (code, argument, {"error": text})
    assert not failure.silent
    assert bot.state() == before


def test_withdrawing_needs_an_open_market():
    failure = fail(open_market(market_status="Closed").withdraw_funds, 1)
    assert failure.code == "market_closed"
    assert failure.official == {"error": "Market is closed. Transactions are not allowed."}


@pytest.mark.parametrize(
    ("tool", "args", "official"),
    [
        ("place_order", ("Buy", "AAPL", 1, 1), {"error": LOGIN.format("place an order")}),
        ("withdraw_funds", (1,), {"error": LOGIN.format("make a transaction")}),
        ("fund_account", (1,), {"error": LOGIN.format("fund the account")}),
        ("get_account_info", (), {"error": LOGIN.format("view account information")}),
        ("remove_stock_from_watchlist", ("NVDA",), {"error": LOGIN.format("modify the watchlist")}),
        ("get_watchlist", (), ["Error: " + LOGIN.format("view the watchlist")]),
        ("get_order_history", (), [{"error": LOGIN.format("view order history")}]),
        ("get_transaction_history", (), [{"error": LOGIN.format("view transaction history")}]),
    ],
)
def test_private_tools_need_a_login(tool, args, official):
    failure = fail(getattr(TradingBot({}), tool), *args)
    assert (failure.code, failure.official) == ("not_authenticated", official)


@pytest.mark.parametrize(
    ("tool", "args", "code", "official"),
    [
        ("get_symbol_by_name", ("Foo",), "company_not_found", {"symbol": "Stock not found"}),
        ("get_available_stocks", ("Food",), "unknown_sector", {"stock_list": []}),
        ("add_to_watchlist", ("X",), "stock_not_found", {"watchlist": ["NVDA"]}),
        ("filter_stocks_by_price", (["AAPL", "Apple"], 1, 300), "stock_not_found", {"filtered_stocks": ["AAPL"]}),
        (
            "notify_price_change",
            (["aapl"], 0.1),
            "stock_not_found",
            {"notification": "No significant price changes in the selected stocks."},
        ),
        ("trading_login", ("a", "b"), "already_logged_in", {"status": "Already logged in"}),
        ("get_transaction_history", ("2024-02-01", "2024-01-01"), "empty_period", {"transaction_history": []}),
    ],
)
def test_answers_that_cannot_have_been_meant_are_marked(bot, tool, args, code, official):
    failure = fail(getattr(bot, tool), *args)
    assert failure.silent
    assert (failure.code, failure.official) == (code, official)


def test_a_symbol_that_is_shown_but_not_traded_is_a_legitimate_choice():
    bot = open_market(FILLER)
    assert bot.filter_stocks_by_price(["F", "GM", "TX", "WX", "AMZN", "NVDA"], 1, 300) == {"filtered_stocks": ["NVDA"]}


def test_what_takes_effect_is_marked_all_the_same(bot):
    assert fail(bot.place_order, "Short", "AAPL", 10**6, 10**6).code == "unknown_order_type"
    assert bot.orders[12446]["order_type"] == "Short"
    bot.cancel_order(12446)
    assert fail(bot.cancel_order, 12446).code == "already_cancelled"
    bot.trading_logout()
    assert fail(bot.trading_logout).official == {"status": "No user is currently logged in"}
    assert bot.trading_login("a", "b") == {"status": "Logged in successfully"}


def test_filler_pads_results():
    bot = open_market(FILLER)
    assert bot.long_context is True
    assert bot.get_watchlist() == ["NVDA", "WX"]
    assert bot.get_available_stocks("Technology") == {"stock_list": ["AAPL", "GOOG", "MSFT", "NVDA", "TX"]}
    stock, order = bot.get_stock_info("AAPL"), bot.get_order_details(12345)
    assert (stock["price"], stock["MA(20)"]) == (227.16, [20.0])
    assert order["metadata"] == {"overview": "About AAPL: AAPL."}
    bot.fund_account(1)
    assert len(bot.get_transaction_history()["transaction_history"]) == 2


def test_filler_is_handed_on_as_the_object_it_is():
    bot = open_market(FILLER).fork()
    assert bot.get_stock_info("AAPL")["MA(5)"] is FILLER["MA_5_EXTENSION"]
    assert bot.get_transaction_history()["transaction_history"] is FILLER["TRANSACTION_HISTORY_EXTENSION"]
    assert bot.get_order_details(12345)["metadata"] is bot.get_order_details(12345)["metadata"]


def test_nothing_reaches_the_configuration_a_fork_or_the_filler():
    given = {"authenticated": True, "watch_list": ["AAPL"], "stocks": {"AAPL": {"price": 1.0}}, "orders": {}}
    bot = TradingBot(given, FILLER)
    fork = bot.fork()
    bot.get_watchlist().append("x")
    bot.get_stock_info("AAPL")
    bot.get_available_stocks("Technology")["stock_list"].append("x")
    bot.remove_stock_from_watchlist("AAPL")
    bot.place_order("Sell", "AAPL", 1, 1)
    bot.fund_account(1)
    assert bot.stocks == given["stocks"] == {"AAPL": {"price": 1.0}}
    assert given["watch_list"] == ["AAPL"]
    assert given["orders"] == {}
    assert FILLER["WATCH_LIST_EXTENSION"] == ["WX"]
    assert FILLER["TECHNOLOGY_EXTENSION"] == ["TX"]
    assert fork.same_state(TradingBot(given, FILLER))
    assert not fork.same_state(bot)


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "TradingBot"
    configs = ({"authenticated": True, "market_status": "Open"}, {})
