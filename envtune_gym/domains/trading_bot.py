"""TradingBot: an account at a stock broker."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from envtune_gym.domains._trading_account import BrokerAccount
from envtune_gym.domains._trading_tables import COMPANIES, SECTOR_FILLER, SECTORS
from envtune_gym.domains._trading_texts import order_texts
from envtune_gym.domains.base import ToolFailure, tool

__all__ = ["TradingBot"]


class TradingBot(BrokerAccount):
    """A brokerage account with its orders, watchlist and transactions, on a market that stands still.

    The clock shows 10:30 on 2024-09-01 throughout. In long-context tasks the filler pads averages, order details,
    watchlist, transaction history and sectors.

    Attributes:
        orders: Orders by id: `id`, `order_type`, `symbol`, `price`, `amount`, `status`.
        account_info: `account_id`, `balance` and `binding_card`.
        authenticated: Whether somebody is logged in.
        market_status: `Open` or `Closed`; withdrawals need an open market.
        order_counter: Id of the next order.
        stocks: Figures by symbol: `price`, `percent_change`, `volume`, `MA(5)`, `MA(20)`.
        watch_list: Symbols on the watchlist.
        transaction_history: Deposits and withdrawals: `type`, `amount`, `timestamp`.
        long_context: Whether the filler is in use.
    """

    random_tools = frozenset({"fund_account", "withdraw_funds"})

    @tool
    def get_current_time(self) -> dict[str, Any]:
        """Tell the time of day.

        Returns:
            `current_time`: hours and minutes with AM or PM.
        """
        return {"current_time": "10:30 AM"}

    @tool
    def get_symbol_by_name(self, name: str) -> dict[str, Any]:
        """Look up the ticker symbol of a company.

        Args:
            name: What the company is called, as in `Apple` or `Zeta Corp`.

        Returns:
            `symbol`: the symbol, or a note that there is none.
        """
        if name in COMPANIES:
            return {"symbol": COMPANIES[name]}
        raise ToolFailure(
            "company_not_found",
            {"symbol": "Stock not found"},
            argument="name",
            value=name,
            silent=True,
            known=list(COMPANIES),
        )

    @tool
    def get_stock_info(self, symbol: str) -> dict[str, Any]:
        """Show the figures of a stock.

        Args:
            symbol: Ticker symbol.

        Returns:
            `price`, `percent_change`, `volume` and the moving averages `MA(5)` and `MA(20)`.
        """
        if symbol not in self.stocks:
            raise self._unknown_stock(f"Stock with symbol '{symbol}' not found.", symbol)
        stock = self.stocks[symbol]
        if self._filler is not None:
            stock = stock.copy()
            stock["MA(5)"] = self._filler["MA_5_EXTENSION"]
            stock["MA(20)"] = self._filler["MA_20_EXTENSION"]
        return stock

    @tool
    def get_order_details(self, order_id: int) -> dict[str, Any]:
        """Show an order.

        Args:
            order_id: Which order, by its id.

        Returns:
            The order: `id`, `order_type`, `symbol`, `price`, `amount`, `status`.
        """
        if order_id not in self.orders:
            listed = f"Here is the list of orders_id: {list(self.orders)}"
            raise self._unknown_order(f"Order with ID {order_id} not found.{listed}", order_id)
        order = self.orders[order_id]
        if self._filler is not None:
            order = order.copy()
            order["metadata"] = order_texts(self._filler["ORDER_DETAIL_EXTENSION"], order["symbol"])
        return order

    @tool
    def cancel_order(self, order_id: int) -> dict[str, Any]:
        """Cancel an order that is not completed.

        Args:
            order_id: Which order, by its id.

        Returns:
            `order_id` and the new `status`.
        """
        if order_id not in self.orders:
            raise self._unknown_order(f"Order with ID {order_id} not found.", order_id)
        order = self.orders[order_id]
        if order["status"] == "Completed":
            message = f"Can't cancel order {order_id}. Order is already completed."
            raise ToolFailure("order_completed", message, argument="order_id", value=order_id)
        official = {"order_id": order_id, "status": "Cancelled"}
        if order["status"] == "Cancelled":
            raise ToolFailure("already_cancelled", official, argument="order_id", value=order_id, silent=True)
        order["status"] = "Cancelled"
        return official

    @tool
    def place_order(self, order_type: str, symbol: str, price: float, amount: int) -> dict[str, Any]:
        """Order to buy or sell shares; needs a login, and for a purchase a sufficient balance.

        Args:
            order_type: Buy or Sell.
            symbol: Ticker symbol of the stock.
            price: Price of a share.
            amount: Number of shares.

        Returns:
            `order_id`, `order_type`, `status` (pending at first), `price`, `amount`.
        """
        self._require_login("place an order")
        if symbol not in self.stocks:
            raise self._unknown_stock(f"Invalid stock symbol: {symbol}", symbol)
        if price <= 0 or amount <= 0:
            argument, value = ("price", price) if price <= 0 else ("amount", amount)
            message = "Price and amount must be positive values."
            raise ToolFailure("not_positive", message, argument=argument, value=value)
        side = order_type.lower()
        if side == "buy":
            self._require_funds_for_order(price, amount)
        price = float(price)
        order_id = self.order_counter
        self.orders[order_id] = {
            "id": order_id,
            "order_type": order_type,
            "symbol": symbol,
            "price": price,
            "amount": amount,
            "status": "Open",
        }
        self.order_counter += 1
        official = {
            "order_id": order_id,
            "order_type": order_type,
            "status": "Pending",
            "price": price,
            "amount": amount,
        }
        if side not in ("buy", "sell"):
            raise ToolFailure("unknown_order_type", official, argument="order_type", value=order_type, silent=True)
        return official

    @tool
    def withdraw_funds(self, amount: float) -> dict[str, Any]:
        """Take money out of the account; needs a login and an open market.

        Args:
            amount: Sum to withdraw, at most the balance.

        Returns:
            `status` and `new_balance`.
        """
        self._require_login("make a transaction")
        if self.market_status != "Open":
            message = "Market is closed. Transactions are not allowed."
            raise ToolFailure("market_closed", message, market_status=self.market_status)
        if amount <= 0:
            message = "Transaction amount must be positive."
            raise ToolFailure("not_positive", message, argument="amount", value=amount)
        balance = self.account_info["balance"]
        if amount > balance:
            message = "Insufficient funds for withdrawal."
            raise ToolFailure("insufficient_funds", message, argument="amount", value=amount, balance=balance)
        self.account_info["balance"] = balance - amount
        self._record("withdrawal", amount)
        return {"status": "Withdrawal successful", "new_balance": self.account_info["balance"]}

    @tool
    def get_account_info(self) -> dict[str, Any]:
        """Show the account; needs a login.

        Returns:
            `account_id`, `balance`, `binding_card`.
        """
        self._require_login("view account information")
        return self.account_info

    @tool
    def trading_login(self, username: str, password: str) -> dict[str, Any]:
        """Log in to the broker.

        Args:
            username: Name of the user.
            password: Password of the user.

        Returns:
            `status`: whether this was a login or one had been before.
        """
        if self.authenticated:
            raise ToolFailure("already_logged_in", {"status": "Already logged in"}, silent=True)
        self.authenticated = True
        return {"status": "Logged in successfully"}

    @tool
    def trading_get_login_status(self) -> dict[str, Any]:
        """Tell whether somebody is logged in.

        Returns:
            `status`: true after a login.
        """
        return {"status": bool(self.authenticated)}

    @tool
    def trading_logout(self) -> dict[str, Any]:
        """Log out of the broker.

        Returns:
            `status`: whether this was a logout or nobody was logged in.
        """
        if not self.authenticated:
            raise ToolFailure("not_logged_in", {"status": "No user is currently logged in"}, silent=True)
        self.authenticated = False
        return {"status": "Logged out successfully"}

    @tool
    def fund_account(self, amount: float) -> dict[str, Any]:
        """Pay money into the account; needs a login.

        Args:
            amount: Sum to pay in.

        Returns:
            `status` and `new_balance`.
        """
        self._require_login("fund the account")
        if amount <= 0:
            message = "Funding amount must be positive."
            raise ToolFailure("not_positive", message, argument="amount", value=amount)
        self.account_info["balance"] += amount
        self._record("deposit", amount)
        return {"status": "Account funded successfully", "new_balance": self.account_info["balance"]}

    @tool
    def remove_stock_from_watchlist(self, symbol: str) -> dict[str, Any]:
        """Take a stock off the watchlist; needs a login.

        Args:
            symbol: Ticker symbol.

        Returns:
            `status`: a confirmation.
        """
        self._require_login("modify the watchlist")
        if symbol not in self.watch_list:
            raise ToolFailure(
                "not_in_watchlist",
                f"Stock {symbol} not found in watchlist.",
                argument="symbol",
                value=symbol,
                watch_list=self.watch_list,
            )
        self.watch_list.remove(symbol)
        return {"status": f"Stock {symbol} removed from watchlist successfully."}

    @tool
    def get_watchlist(self) -> dict[str, Any] | list[str]:
        """Show the watchlist; needs a login.

        Returns:
            `watchlist`: the symbols (in long-context tasks, their list alone).
        """
        if not self.authenticated:
            message = "Error: User not authenticated. Please log in to view the watchlist."
            raise ToolFailure("not_authenticated", [message])
        if self._filler is None:
            return {"watchlist": self.watch_list}
        return [*self.watch_list, *self._filler["WATCH_LIST_EXTENSION"]]

    @tool
    def get_order_history(self) -> dict[str, Any]:
        """List all orders; needs a login.

        Returns:
            `history`: their ids.
        """
        if not self.authenticated:
            message = "User not authenticated. Please log in to view order history."
            raise ToolFailure("not_authenticated", [{"error": message}])
        return {"history": list(self.orders)}

    @tool
    def get_transaction_history(self, start_date: str | None = None, end_date: str | None = None) -> dict[str, Any]:
        """List deposits and withdrawals of a period; needs a login.

        Args:
            start_date: First day, as YYYY-MM-DD; leave out for no limit.
            end_date: Last moment, the beginning of this day, as YYYY-MM-DD; leave out for no limit.

        Returns:
            `transaction_history`: the transactions: `type`, `amount`, `timestamp`.
        """
        if not self.authenticated:
            message = "User not authenticated. Please log in to view transaction history."
            raise ToolFailure("not_authenticated", [{"error": message}])
        start = datetime.strptime(start_date, "%Y-%m-%d") if start_date else datetime.min
        end = datetime.strptime(end_date, "%Y-%m-%d") if end_date else datetime.max
        history = [
            transaction
            for transaction in self.transaction_history
            if start <= datetime.strptime(transaction["timestamp"], "%Y-%m-%d %H:%M:%S") <= end
        ]
        if self._filler is not None:
            extension = self._filler["TRANSACTION_HISTORY_EXTENSION"]
            history = [*history, *extension] if history else extension
        official = {"transaction_history": history}
        if start > end:
            raise ToolFailure(
                "empty_period", official, argument="end_date", value=end_date, silent=True, start_date=start_date
            )
        return official

    @tool
    def get_available_stocks(self, sector: str) -> dict[str, Any]:
        """List the stocks of a sector.

        Args:
            sector: Technology or Automobile.

        Returns:
            `stock_list`: their ticker symbols.
        """
        if sector not in SECTORS:
            official: dict[str, Any] = {"stock_list": []}
            raise ToolFailure(
                "unknown_sector", official, argument="sector", value=sector, silent=True, known=list(SECTORS)
            )
        extension = () if self._filler is None else self._filler[SECTOR_FILLER[sector]]
        return {"stock_list": [*SECTORS[sector], *extension]}

    @tool
    def filter_stocks_by_price(self, stocks: list[str], min_price: float, max_price: float) -> dict[str, Any]:
        """Pick the stocks whose price lies within bounds; one that is not traded here counts as costing nothing.

        Args:
            stocks: Ticker symbols to choose from.
            min_price: Lowest price, included.
            max_price: Highest price, included.

        Returns:
            `filtered_stocks`: the symbols picked.
        """
        picked = [
            symbol
            for symbol in stocks
            if (price := self.stocks.get(symbol, {}).get("price", 0)) >= min_price and price <= max_price
        ]
        official = {"filtered_stocks": picked}
        self._check_symbols(stocks, official)
        return official

    @tool
    def add_to_watchlist(self, stock: str) -> dict[str, Any]:
        """Put a stock on the watchlist.

        Args:
            stock: Ticker symbol.

        Returns:
            `watchlist`: the symbols on it now.
        """
        official = {"watchlist": self.watch_list}
        if stock in self.watch_list:
            return official
        if stock not in self.stocks:
            raise self._unknown_stock(official, stock, argument="stock", silent=True)
        self.watch_list.append(stock)
        return official

    @tool
    def notify_price_change(self, stocks: list[str], threshold: float) -> dict[str, Any]:
        """Tell which stocks have moved at least so much.

        Args:
            stocks: Ticker symbols to check.
            threshold: Least change that counts, in per cent, up or down.

        Returns:
            `notification`: a sentence that names them.
        """
        moved = [s for s in stocks if s in self.stocks and abs(self.stocks[s]["percent_change"]) >= threshold]
        official = {"notification": "No significant price changes in the selected stocks."}
        if moved:
            official = {"notification": f"Stocks {', '.join(moved)} have significant price changes."}
        self._check_symbols(stocks, official)
        return official
