"""What TradingBot keeps, and what its tools share: the account, its money, and failures about stocks and orders."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from typing_extensions import Self

from envtune_gym.domains._trading_tables import COMPANIES, DEFAULTS, SECTOR_FILLER, SECTORS
from envtune_gym.domains.base import Domain, LazyRandom, ToolFailure, copy_plain

__all__ = ["BrokerAccount"]

_NOW = datetime(2024, 9, 1, 10, 30)
_SECONDS_A_DAY = 24 * 60 * 60


class BrokerAccount(Domain):
    """A brokerage account and the figures of the stocks it may trade."""

    state_fields = (
        "orders",
        "account_info",
        "authenticated",
        "market_status",
        "order_counter",
        "stocks",
        "watch_list",
        "transaction_history",
        "long_context",
    )
    hidden_fields = ("_random",)

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        given = {**DEFAULTS, **config}
        self.orders: dict[Any, dict[str, Any]] = {
            int(key) if isinstance(key, str) and key.isdigit() else key: copy_plain(order)
            for key, order in given["orders"].items()
        }
        self.account_info: dict[str, Any] = copy_plain(given["account_info"])
        self.authenticated = copy_plain(given["authenticated"])
        self.market_status = copy_plain(given["market_status"])
        self.order_counter = copy_plain(given["order_counter"])
        self.stocks: dict[str, dict[str, Any]] = copy_plain(given["stocks"])
        self.watch_list: list[str] = copy_plain(given["watch_list"])
        self.transaction_history: list[dict[str, Any]] = copy_plain(given["transaction_history"])
        self.long_context = filler is not None
        self._random = LazyRandom(given["random_seed"])
        self._filler = filler

    def fork(self) -> Self:
        """Return an independent copy; the filler, which nobody changes, is shared."""
        copy = super().fork()
        copy._filler = self._filler
        return copy

    def _require_login(self, purpose: str) -> None:
        if not self.authenticated:
            raise ToolFailure("not_authenticated", f"User not authenticated. Please log in to {purpose}.")

    def _require_funds_for_order(self, price: Any, amount: Any) -> None:
        cost = float(price) * int(amount)
        balance = self.account_info.get("balance", 0)
        if cost > balance:
            message = f"Insufficient funds: required ${cost:.2f} but only ${balance:.2f} available."
            raise ToolFailure(
                "insufficient_funds", message, argument="amount", value=amount, required=cost, balance=balance
            )

    def _record(self, kind: str, amount: Any) -> None:
        """Note a transaction, at a random second of the day that begins now."""
        moment = _NOW + timedelta(seconds=self._random.generator.randint(0, _SECONDS_A_DAY))
        self.transaction_history.append({"type": kind, "amount": amount, "timestamp": str(moment)})

    def _check_symbols(self, stocks: object, official: object) -> None:
        """Fail silently at the first of some stocks whose symbol no tool shows; some that are shown are not traded."""
        for stock in stocks if isinstance(stocks, list) else ():
            if stock not in self.stocks and not self._is_shown(stock):
                raise self._unknown_stock(official, stock, argument="stocks", silent=True)

    def _is_shown(self, stock: object) -> bool:
        filler = self._filler or {}
        lists = [self.watch_list, COMPANIES.values(), *SECTORS.values()]
        lists += [filler.get(name, ()) for name in ("WATCH_LIST_EXTENSION", *SECTOR_FILLER.values())]
        return any(stock in symbols for symbols in lists)

    def _unknown_stock(
        self, official: object, symbol: object, argument: str = "symbol", silent: bool = False
    ) -> ToolFailure:
        return ToolFailure(
            "stock_not_found", official, argument=argument, value=symbol, silent=silent, known=list(self.stocks)
        )

    def _unknown_order(self, official: str, order_id: object) -> ToolFailure:
        return ToolFailure("order_not_found", official, argument="order_id", value=order_id, known=list(self.orders))
