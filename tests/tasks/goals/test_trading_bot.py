import json

import pytest

from envtune_gym.domains import domain_class
from envtune_gym.domains._trading_tables import COMPANIES
from envtune_gym.tasks.goals import goals_of

from .planned import plans, steps_of, told_before

DOMAIN = "TradingBot"
NEED_LOGIN = {
    "place_order", "withdraw_funds", "fund_account", "get_account_info", "remove_stock_from_watchlist",
    "get_watchlist", "get_order_history", "get_transaction_history",
}  # fmt: skip


@pytest.fixture(scope="module")
def some_plans():
    return plans(DOMAIN, 250)


def test_every_tool_and_every_goal_occurs(some_plans):
    steps = [step for plan in some_plans for step in steps_of(plan)]
    assert {call.name for step in steps for call in step.calls} == set(domain_class(DOMAIN).tools)
    assert {step.goal for step in steps} == set(goals_of((DOMAIN,)))


def test_ids_of_orders_come_from_results(some_plans):
    seen = 0
    for plan in some_plans:
        said = " ".join(step.request for step in steps_of(plan))
        for step, name, value in told_before(plan):
            if name == "order_id":
                seen += 1
                assert str(value) in step.shown, step.request
                assert str(value) not in said
    assert seen > 80


def test_who_buys_pays_the_price_that_a_result_has_shown(some_plans):
    bought = 0
    for plan in some_plans:
        shown = ""
        for step in steps_of(plan):
            for call, result in zip(step.calls, step.results, strict=True):
                if call.name == "place_order" and call.kwargs["order_type"] == "Buy":
                    bought += 1
                    assert json.dumps({"price": call.kwargs["price"]})[1:-1] in shown
                    assert str(call.kwargs["price"]) not in step.request
                shown += result
    assert bought > 60


def test_symbols_of_little_known_companies_are_looked_up(some_plans):
    looked_up = 0
    for plan in some_plans:
        for step in steps_of(plan):
            for call, result in zip(step.calls, step.results, strict=True):
                if call.name == "get_symbol_by_name":
                    looked_up += 1
                    name = call.kwargs["name"]
                    assert json.loads(result) == {"symbol": COMPANIES[name]}
                    assert COMPANIES[name] not in step.request
                    assert "symbol" in step.request, "a request says that the symbol is to be looked up"
    assert looked_up > 80


def test_whoever_is_logged_out_logs_in_before_touching_the_account(some_plans):
    logged_out = 0
    for plan in some_plans:
        inside = plan.config[DOMAIN]["authenticated"]
        logged_out += not inside
        for step in steps_of(plan):
            for call in step.calls:
                if call.name in ("trading_login", "trading_logout"):
                    inside = call.name == "trading_login"
                assert inside or call.name not in NEED_LOGIN
                if call.name == "trading_login":
                    assert all(value in step.request for value in call.kwargs.values())
    assert len(some_plans) / 6 < logged_out < len(some_plans) / 2


def test_money_is_withdrawn_from_an_open_market_only(some_plans):
    closed = 0
    for plan in some_plans:
        is_closed = plan.config[DOMAIN]["market_status"] == "Closed"
        closed += is_closed
        if is_closed:
            assert all(call.name != "withdraw_funds" for step in steps_of(plan) for call in step.calls)
    assert closed


def test_a_selection_of_stocks_is_passed_on_as_it_was_listed(some_plans):
    passed_on = 0
    for plan in some_plans:
        shown = ""
        for step in steps_of(plan):
            for call, result in zip(step.calls, step.results, strict=True):
                if "stocks" in call.kwargs:
                    passed_on += 1
                    assert json.dumps(call.kwargs["stocks"]) in shown
                shown += result
    assert passed_on > 80
