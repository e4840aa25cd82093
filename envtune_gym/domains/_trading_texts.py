"""The filler's texts about an order of TradingBot, with the order's symbol in them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["order_texts"]

_MAX_KEPT = 256
_KEPT: dict[tuple[int, str], tuple[Mapping[str, str], dict[str, str]]] = {}
"""Formatted order details by template (its identity) and symbol; each with its template, to keep the identity valid."""


def order_texts(template: Mapping[str, str], symbol: str) -> dict[str, str]:
    """Fill a symbol into the texts about an order; the same object each time, never to be changed."""
    key = (id(template), symbol)
    known = _KEPT.get(key)
    if known is None:
        if len(_KEPT) >= _MAX_KEPT:
            _KEPT.clear()
        known = template, {name: text.format(symbol=symbol) for name, text in template.items()}
        _KEPT[key] = known
    return known[1]
