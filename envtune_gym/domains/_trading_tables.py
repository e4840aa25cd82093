"""Companies, sectors and the default account of TradingBot: facts of the benchmark, read and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["COMPANIES", "DEFAULTS", "SECTORS", "SECTOR_FILLER"]

COMPANIES: Mapping[str, str] = {
    "Apple": "AAPL",
    "Google": "GOOG",
    "Tesla": "TSLA",
    "Microsoft": "MSFT",
    "Nvidia": "NVDA",
    "Zeta Corp": "ZETA",
    "Alpha Tech": "ALPH",
    "Omega Industries": "OMEG",
    "Quasar Ltd.": "QUAS",
    "Neptune Systems": "NEPT",
    "Synex Solutions": "SYNX",
    "Amazon": "AMZN",
    "Gorilla": "GORI",
}

SECTORS: Mapping[str, tuple[str, ...]] = {
    "Technology": ("AAPL", "GOOG", "MSFT", "NVDA"),
    "Automobile": ("TSLA", "F", "GM"),
}

SECTOR_FILLER: Mapping[str, str] = {"Technology": "TECHNOLOGY_EXTENSION", "Automobile": "AUTOMOBILE_EXTENSION"}

_STOCK_FIELDS = ("price", "percent_change", "volume", "MA(5)", "MA(20)")

_STOCKS: Mapping[str, tuple[float, ...]] = {
    "AAPL": (227.16, 0.17, 2.552, 227.11, 227.09),
    "GOOG": (2840.34, 0.24, 1.123, 2835.67, 2842.15),
    "TSLA": (667.92, -0.12, 1.654, 671.15, 668.20),
    "MSFT": (310.23, 0.09, 3.234, 309.88, 310.11),
    "NVDA": (220.34, 0.34, 1.234, 220.45, 220.67),
    "ALPH": (1320.45, -0.08, 1.567, 1321.12, 1325.78),
    "OMEG": (457.23, 0.12, 2.345, 456.78, 458.12),
    "QUAS": (725.89, -0.03, 1.789, 726.45, 728.00),
    "NEPT": (88.34, 0.19, 0.654, 88.21, 88.67),
    "SYNX": (345.67, 0.11, 2.112, 345.34, 346.12),
    "ZETA": (22.09, -0.05, 0.789, 22.12, 22.34),
}

DEFAULTS: Mapping[str, Any] = {
    "orders": {
        12345: {
            "id": 12345,
            "order_type": "Buy",
            "symbol": "AAPL",
            "price": 210.65,
            "amount": 10,
            "status": "Completed",
        },
        12446: {
            "id": 12446,
            "order_type": "Sell",
            "symbol": "GOOG",
            "price": 2840.56,
            "amount": 5,
            "status": "Pending",
        },
    },
    "account_info": {"account_id": 12345, "balance": 10000.0, "binding_card": 1974202140965533},
    "authenticated": False,
    "market_status": "Closed",
    "order_counter": 12446,
    "stocks": {symbol: dict(zip(_STOCK_FIELDS, figures, strict=True)) for symbol, figures in _STOCKS.items()},
    "watch_list": ["NVDA"],
    "transaction_history": [],
    "random_seed": 1053520,
}
