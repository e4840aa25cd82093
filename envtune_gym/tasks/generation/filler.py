"""Long contexts of our own: what pads the configuration of a domain so that its tools print much more.

The benchmark's long-context filler is part of the official data; generated tasks do without it. What is added here
shares no name, id or subject with what goals ask about, so the solution stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from envtune_gym.tasks.generation.rng import Rng

__all__ = ["can_be_filled", "fill"]

_CHARACTERS_A_TOKEN = 4
_FIRST_TICKET = 501  # the benchmark has lower ones, scenarios have higher ones
_MATTERS = ("parking permits", "coffee beans", "window cleaning", "the lost umbrella", "printer toner", "bike racks")
_REMARKS = ("were discussed at length", "came up again", "need no action", "are settled", "can wait", "were postponed")
_PEOPLE = ("ops_bot", "front_desk", "night_shift", "facilities")
_ROUTES = (("JFK", "BOS"), ("ORD", "LAX"), ("SFO", "ORD"), ("BOS", "SBK"))


def can_be_filled(domain: str) -> bool:
    """Tell whether the configuration of a domain has room for filler."""
    return domain in _FILL


def fill(domain: str, config: dict[str, Any], rng: Rng, tokens: int) -> None:
    """Add filler to the configuration of a domain, in place; nothing if it has no room.

    Args:
        domain: The domain.
        config: Its configuration.
        rng: What to draw from.
        tokens: About how many tokens to add (four characters each).
    """
    if domain in _FILL:
        write, size = _FILL[domain]
        write(config, rng, max(1, tokens * _CHARACTERS_A_TOKEN // size))


def _remark(rng: Rng) -> str:
    return f"On day {rng.between(1, 365)}, {rng.pick(_MATTERS)} {rng.pick(_REMARKS)}."


def _fill_files(config: dict[str, Any], rng: Rng, count: int) -> None:
    root = next(iter(config["root"].values()))["contents"]
    directories = list(_directories(root))
    for number in range(count):
        text = "\n".join(_remark(rng) for _ in range(5))
        directories[number % len(directories)][f"zz_memo_{number:03}.txt"] = {"type": "file", "content": text}


def _directories(contents: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the contents of a directory and of all below it; empty ones stay empty, for requests may be about that."""
    if contents:
        yield contents
    for entry in contents.values():
        if entry["type"] == "directory":
            yield from _directories(entry["contents"])


def _fill_messages(config: dict[str, Any], rng: Rng, count: int) -> None:
    ids = list(config["user_map"].values())
    older = [{rng.pick(ids): _remark(rng)} for _ in range(count)]
    config["inbox"] = older + config["inbox"]
    config["message_count"] += len(older)


def _fill_tickets(config: dict[str, Any], rng: Rng, count: int) -> None:
    owner = config.get("current_user") or rng.pick(_PEOPLE)
    config["ticket_queue"] += [
        {
            "id": number,
            "title": f"Note {number} on {rng.pick(_MATTERS)}",
            "description": _remark(rng),
            "status": rng.pick(("Open", "Closed", "Resolved")),
            "priority": rng.between(1, 5),
            "created_by": owner,
        }
        for number in range(_FIRST_TICKET, _FIRST_TICKET + count)
    ]


def _fill_tweets(config: dict[str, Any], rng: Rng, count: int) -> None:
    authors = (*_PEOPLE, *(tweet["username"] for tweet in config["tweets"].values()))
    for number in range(1, count + 1):
        tweet = {"id": number, "username": rng.pick(authors), "content": _remark(rng), "tags": ["#diary"]}
        config["tweets"][str(number)] = {**tweet, "mentions": []}


def _fill_account(config: dict[str, Any], rng: Rng, count: int) -> None:
    for number in range(1, count + 1):
        config["orders"][str(number)] = {
            "id": number,
            "order_type": rng.pick(("Buy", "Sell")),
            "symbol": rng.pick(("AAPL", "MSFT", "NVDA")),
            "price": rng.price(100, 300),
            "amount": rng.between(1, 90),
            "status": rng.pick(("Completed", "Cancelled")),
        }
        day = f"2024-{rng.between(1, 8):02}-{rng.between(1, 28):02} 09:{rng.between(10, 59)}:00"
        kind = rng.pick(("deposit", "withdrawal"))
        config["transaction_history"].append({"type": kind, "amount": rng.between(50, 900), "timestamp": day})


def _fill_travels(config: dict[str, Any], rng: Rng, count: int) -> None:
    for _ in range(count):
        card_id = rng.digits(12)
        config["credit_card_list"][card_id] = {
            "card_number": f"{rng.digits(12)}0{rng.digits(3)}",
            "expiration_date": f"{rng.between(1, 12):02}/2024",
            "cardholder_name": rng.pick(_PEOPLE),
            "card_verification_number": rng.between(100, 999),
            "balance": rng.between(5, 90),
        }
        for _ in range(2):
            origin, target = rng.pick(_ROUTES)
            config["booking_record"][rng.digits(7)] = {
                "card_id": card_id,
                "travel_date": f"2024-{rng.between(1, 12):02}-{rng.between(1, 28):02}",
                "travel_from": origin,
                "travel_to": target,
                "travel_class": "economy",
                "travel_cost": float(rng.between(200, 600)),
                "transaction_id": rng.digits(8),
            }


_FILL: Mapping[str, tuple[Callable[[dict[str, Any], Rng, int], None], int]] = {
    "GorillaFileSystem": (_fill_files, 320),
    "MessageAPI": (_fill_messages, 75),
    "TicketAPI": (_fill_tickets, 205),
    "TradingBot": (_fill_account, 190),
    "TravelAPI": (_fill_travels, 590),
    "TwitterAPI": (_fill_tweets, 160),
}
"""What pads a domain, and about how many characters of JSON one of its entries takes."""
