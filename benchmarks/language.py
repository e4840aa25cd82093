"""How varied generated requests are beside the official ones, and whether the two share sentences or ids.

    python benchmarks/language.py --count 2000

- Variety is measured on equally many different requests of each side: as many as the smaller side has, drawn with a
  fixed seed. The official 800 tasks repeat most of their requests across categories; a request counts once.
- distinct-n is the share of different n-grams among all n-grams. Self-BLEU is the mean sentence BLEU (sacrebleu's
  tokens and smoothing, 0 to 100) of `HYPOTHESES` requests, each against all the other ones: less is more varied.
- Shared 8-grams are looked for among all requests of both sides, words in lower case without punctuation.
- Ids are the names that a scenario makes up: users, files and folders, cards, bookings, orders, tickets, messages. What
  a domain itself fixes (airports, stock symbols) is not among them.

The official data are read when this runs; none of them stand here.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from envtune_gym import Task, load_tasks
from envtune_gym.commands.output import Json, examples, print_json, print_line, print_table, progress
from envtune_gym.errors import DataError, EnvtuneError
from envtune_gym.tasks import TOOLS_ADDED_MESSAGE

__all__ = ["HYPOTHESES", "Variety", "distinct", "ids_of", "ngrams", "requests_of", "shared_ids", "variety"]

HYPOTHESES = 200
"""Requests of each side whose BLEU against all others is taken."""
_LONG = 8
_SEED = 0
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Variety:
    """How varied some requests are.

    Attributes:
        requests: How many they are.
        words: How long they are on average.
        distinct_1: Share of different words.
        distinct_2: Share of different pairs of words.
        self_bleu: Mean BLEU of some against all others.
    """

    requests: int
    words: float
    distinct_1: float
    distinct_2: float
    self_bleu: float


def requests_of(tasks: Iterable[Task]) -> list[str]:
    """Return the different things that users say in some tasks, in order, but for the fixed message on tools."""
    return list(dict.fromkeys(_said(tasks)))


def _said(tasks: Iterable[Task]) -> Iterator[str]:
    for task in tasks:
        for turn, request in enumerate(task.turns):
            if turn not in task.missed_functions and request != TOOLS_ADDED_MESSAGE:
                yield request


def ngrams(requests: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield the n-grams of requests: words in lower case, punctuation dropped."""
    for request in requests:
        words = re.sub(r"[^\w\s]", "", request.lower()).split()
        yield from zip(*(words[start:] for start in range(size)), strict=False)


def distinct(requests: Iterable[str], size: int) -> float:
    """Return the share of different n-grams among all."""
    found = list(ngrams(requests, size))
    return len(set(found)) / len(found)


def variety(requests: Sequence[str], advance: Callable[[], object]) -> Variety:
    """Return how varied requests are.

    Args:
        requests: The requests.
        advance: Called after each BLEU.
    """
    words = sum(1 for _ in ngrams(requests, 1)) / len(requests)
    bleu = _self_bleu(requests, advance)
    return Variety(len(requests), words, distinct(requests, 1), distinct(requests, 2), bleu)


def _self_bleu(requests: Sequence[str], advance: Callable[[], object]) -> float:
    try:
        from sacrebleu.metrics import BLEU
    except ImportError:
        raise DataError("self-BLEU needs sacrebleu; run: pip install sacrebleu") from None
    metric = BLEU(effective_order=True)  # short requests have no 4-grams
    chosen = random.Random(_SEED).sample(range(len(requests)), min(HYPOTHESES, len(requests)))
    total = 0.0
    for index in chosen:
        others = [*requests[:index], *requests[index + 1 :]]
        total += metric.sentence_score(requests[index], others).score
        advance()
    return total / len(chosen)


def ids_of(tasks: Iterable[Task]) -> dict[str, set[str]]:
    """Return the ids and names that the configurations of tasks make up, by kind."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for task in tasks:
        for domain, config in task.initial_config.items():
            for kind, value in _READERS.get(domain, _nothing)(config):
                if value not in (None, ""):
                    found[kind].add(str(value))
    return dict(found)


def shared_ids(some: dict[str, set[str]], others: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return the ids of each kind that two sides share; kinds without any are left out."""
    both = {kind: sorted(some[kind] & others.get(kind, set())) for kind in sorted(some)}
    return {kind: names for kind, names in both.items() if names}


_Found = Iterator[tuple[str, Any]]


def _nothing(config: dict[str, Any]) -> _Found:
    return iter(())


def _of_files(config: dict[str, Any]) -> _Found:
    for name, entry in config.get("root", config.get("contents", {})).items():
        yield "file", name
        yield from _of_files(entry if entry.get("type") == "directory" else {})


def _of_messages(config: dict[str, Any]) -> _Found:
    for name, user_id in config.get("user_map", {}).items():
        yield "user", name
        yield "user id", user_id
    for message in config.get("inbox", ()):
        yield from (("user id", sender) for sender in message)
    yield from (("message", message_id) for message_id in config.get("generated_ids", ()))


def _of_tickets(config: dict[str, Any]) -> _Found:
    yield "user", config.get("current_user")
    for ticket in config.get("ticket_queue", ()):
        yield "ticket", ticket.get("id")
        yield "user", ticket.get("created_by")


def _of_tweets(config: dict[str, Any]) -> _Found:
    yield "user", config.get("username")
    yield from (("user", name) for name in config.get("following_list", ()))
    for tweet in config.get("tweets", {}).values():
        yield "user", tweet.get("username")


def _of_trading(config: dict[str, Any]) -> _Found:
    account = config.get("account_info", {})
    yield "account", account.get("account_id")
    yield "card", account.get("binding_card")
    for key, order in config.get("orders", {}).items():
        if isinstance(order, dict):
            yield "order", order.get("id", key)
    yield "order", config.get("order_counter")
    for entry in config.get("transaction_history", ()):
        yield "order", entry.get("order_id")


def _of_travels(config: dict[str, Any]) -> _Found:
    first, last = config.get("user_first_name"), config.get("user_last_name")
    yield "user", f"{first} {last}" if first and last else None
    yield "token", config.get("access_token")
    for card_id, card in config.get("credit_card_list", {}).items():
        yield "card", card_id
        yield "card", card.get("card_number")
        yield "user", card.get("cardholder_name")
    for booking_id, booking in config.get("booking_record", {}).items():
        yield "booking", booking_id
        yield "transaction", booking.get("transaction_id")


_READERS: dict[str, Callable[[dict[str, Any]], _Found]] = {
    "GorillaFileSystem": _of_files,
    "MessageAPI": _of_messages,
    "TicketAPI": _of_tickets,
    "TwitterAPI": _of_tweets,
    "TradingBot": _of_trading,
    "TravelAPI": _of_travels,
}


def _generated(count: int, advance: Callable[[], object]) -> tuple[list[Task], list[str]]:
    """Return generated tasks, as many as have a number of different requests, and these."""
    tasks: list[Task] = []
    requests: dict[str, None] = {}
    for task in load_tasks("generated"):
        tasks.append(task)
        for request in _said([task]):
            if request not in requests and len(requests) < count:
                requests[request] = None
                advance()
        if len(requests) == count:
            return tasks, list(requests)
    raise AssertionError("the stream of generated tasks has no end")


def main(
    count: Annotated[int, typer.Option(min=2, metavar="N", help="Different generated requests.")] = 2000,
    as_json: Json = False,
) -> None:
    """Compare the language of generated tasks with the official one; exits with 1 if sentences or ids are shared."""
    official = list(load_tasks("bfcl"))
    theirs = requests_of(official)
    equal = min(count, len(theirs))
    with progress("language", count + 2 * min(HYPOTHESES, equal)) as advance:
        tasks, ours = _generated(count, advance)
        rng = random.Random(_SEED)
        sides = {"generated": rng.sample(ours, equal), "official": rng.sample(theirs, equal)}
        found = {side: variety(requests, advance) for side, requests in sides.items()}
    shared = sorted(" ".join(words) for words in set(ngrams(ours, _LONG)) & set(ngrams(theirs, _LONG)))
    ids = shared_ids(ids_of(tasks), ids_of(official))
    if as_json:
        print_json(
            {
                "generated_requests": len(ours),
                "official_requests": len(theirs),
                "hypotheses": min(HYPOTHESES, equal),
                "variety": {side: asdict(one) for side, one in found.items()},
                "shared_8_grams": shared,
                "shared_ids": ids,
            }
        )
    else:
        _print(found, shared, ids, len(ours), len(theirs))
    if shared or ids:
        raise typer.Exit(1)


def _print(found: dict[str, Variety], shared: Sequence[str], ids: dict[str, list[str]], ours: int, theirs: int) -> None:
    rows = []
    for side, one in found.items():
        shares = (f"{one.distinct_1:.3f}", f"{one.distinct_2:.3f}")
        rows.append((side, one.requests, f"{one.words:.1f}", *shares, f"{one.self_bleu:.1f}"))
    columns = ("requests of", "number", "words each", "distinct-1", "distinct-2", "self-BLEU")
    print_table(f"Variety; self-BLEU of {HYPOTHESES} requests against all others", columns, rows)
    print_line(f"{len(shared)} shared 8-grams among {ours:,} generated and {theirs:,} official requests")
    for text in shared[:_SHOWN]:
        print_line(f"  {text}")
    print_line(f"{sum(map(len, ids.values()))} shared ids")
    for kind, names in ids.items():
        print_line(f"  {kind}: {', '.join(names[:_SHOWN])}")


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(epilog=examples("python benchmarks/language.py --count 2000"))(main)
    try:
        app()
    except EnvtuneError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
