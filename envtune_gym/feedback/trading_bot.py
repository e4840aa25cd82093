"""Hints for TradingBot."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

_SYMBOL = (
    "Look up the symbol of a company with `get_symbol_by_name`, or see the symbols of a sector with "
    "`get_available_stocks`.",
    "See the symbols of a sector with `get_available_stocks`.",
    "Give the ticker symbol, in capital letters, not the name of the company.",
)
_NO_REPEAT = ("Do not repeat the call; go on with what was asked.",)

RULES = (
    HintRule(
        code="not_authenticated",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="Nobody is logged in to the broker, and this tool works for a user who is.",
        actionable=(
            "Log in first with `trading_login`, by the name and password that the user has given; then make the call "
            "again.",
            "Log in first; then make the call again.",
        ),
    ),
    HintRule(
        code="already_logged_in",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="Somebody is logged in to the broker already; nothing has changed.",
        actionable=_NO_REPEAT,
    ),
    HintRule(
        code="not_logged_in",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="Nobody was logged in to the broker, so that there was nobody to log out.",
        actionable=("Go on with what was asked.",),
    ),
    HintRule(
        code="company_not_found",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not the name of a company that this tool knows. Names are matched letter for letter.",
        actionable=(
            "Give the name as the documentation writes such names. If {value} is a symbol, use it as it is; the "
            "symbols of a sector are listed by `get_available_stocks`.",
            "Give the name as the documentation writes such names. If {value} is a symbol, use it as it is.",
        ),
        or_ask=True,
    ),
    HintRule(
        code="stock_not_found",
        category="parameter_constraint",
        augmentation="correct_format",
        error="{value}, given as {argument}, is not the symbol of a stock that is traded here. Symbols are written in "
        "capital letters, and a company's name is not its symbol.",
        actionable=_SYMBOL,
        or_ask=True,
    ),
    HintRule(
        code="not_in_watchlist",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="{value}, given as {argument}, is not on the watchlist. It holds symbols, matched letter for letter in "
        "capital letters.",
        actionable=(
            "See what is on it with `get_watchlist`; the symbol of a company is found with `get_symbol_by_name`.",
            "See what is on it with `get_watchlist`.",
            "Check the symbol.",
        ),
    ),
    HintRule(
        code="order_not_found",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="There is no order {value}, given as {argument}. The id of an order is the number that placing it "
        "returned.",
        actionable=(
            "See the ids of all orders with `get_order_history`.",
            "Use the id that placing the order returned.",
        ),
        or_ask=True,
    ),
    HintRule(
        code="order_completed",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The order {value} is completed, and only an order that is not can be cancelled.",
        actionable=(
            "Check that it is the right order with `get_order_details`; if it is, tell the user.",
            "Check that it is the right order; if it is, tell the user.",
        ),
    ),
    HintRule(
        code="already_cancelled",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The order {value} was cancelled before; nothing has changed.",
        actionable=_NO_REPEAT,
    ),
    HintRule(
        code="not_positive",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} is {value}, and only more than nothing can be traded or moved.",
        actionable=("Give the positive number that was asked for; whether it goes in or out, the tool itself says.",),
        or_ask=True,
    ),
    HintRule(
        code="insufficient_funds",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="The order costs more than the balance of the account: price times amount, with {value} as the amount.",
        actionable=(
            "Hold price and amount against the request, and the price against what `get_stock_info` shows; if both are "
            "right, more money comes into the account with `fund_account`, where the user wants that.",
            "Hold price and amount against the request; if they are right, tell the user.",
        ),
        tool="place_order",
    ),
    HintRule(
        code="insufficient_funds",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="{argument} is {value}, more than the balance of the account.",
        actionable=(
            "Check the balance with `get_account_info`, and the amount against the request.",
            "Check the amount against the request; if it is right, tell the user.",
        ),
    ),
    HintRule(
        code="market_closed",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="The market is {market_status}, and money can be withdrawn only while it is open.",
        actionable=("No tool opens the market; tell the user.",),
    ),
    HintRule(
        code="unknown_order_type",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The order was placed, but {value} is neither buying nor selling: {argument} is one of Buy, Sell.",
        actionable=(
            "Cancel the order with `cancel_order`, and place it anew with the right type.",
            "Tell the user that the order has a type without meaning.",
        ),
    ),
    HintRule(
        code="unknown_sector",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a sector that this tool knows; {argument} is one of {known}, written like that.",
        actionable=("Choose the sector that was asked for; the symbol of a single company needs no sector.",),
    ),
    HintRule(
        code="empty_period",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The period ends on {value}, before it begins on {start_date}, so that nothing lies in it.",
        actionable=("Check which date is which; the first day goes with the start.",),
    ),
)
