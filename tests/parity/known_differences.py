"""All that is known to differ from the official backends, each with its reason and a program that shows it.

More cannot be seen here, for the oracle takes it away (see `oracle.py`): the clock, the host's time zone, what worlds
of one process share, and the texts that officially vary from run to run.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

LIVE_RESULTS = frozenset(
    {
        "add_to_watchlist", "book_flight", "create_ticket", "displayCarStatus", "get_account_info",
        "get_all_credit_cards", "get_order_details", "get_stock_info", "get_ticket", "get_tweet", "get_tweet_comments",
        "get_user_tickets", "get_user_tweets", "get_watchlist", "list_all_following", "post_tweet", "search_tweets",
    }
)  # fmt: skip
"""Tools that officially return a piece of the state itself; see "results share the state" below."""


@dataclass(frozen=True)
class KnownDifference:
    """A kind of call whose result differs.

    Attributes:
        name: Short name; `docs/fidelity.md` lists it under the same one.
        reason: Why it differs.
        applies: Tells from the call's text, the official result and ours whether this is the cause.
        domain: The domain of the example.
        calls: The example: the last call differs, those before it do not.
        config: Configuration of that domain.
        same_state: Whether the states are equal afterwards.
    """

    name: str
    reason: str
    applies: Callable[[str, str, str], bool]
    domain: str
    calls: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    same_state: bool = True


def _strings(text):
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return []
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _refuses_python(text, official, ours):
    reasons = ("only literals and nested calls", "expected a call such as", "cannot be unpacked", "must stand before")
    undefined = ours.endswith("is not defined") and "is not allowed" not in official
    return ours.startswith("Error during execution: ") and (undefined or any(reason in ours for reason in reasons))


KNOWN_DIFFERENCES = (
    KnownDifference(
        name="calls inside strings",
        reason="the official executor rewrites tool names and drops blanks before '(' inside string arguments too",
        applies=lambda text, official, ours: any(re.search(r"[A-Za-z_]\w*\s*\(", string) for string in _strings(text)),
        domain="GorillaFileSystem",
        calls=("echo(content='see the notes (draft) on cat(file_name)')",),
    ),
    KnownDifference(
        name="Python is not evaluated",
        reason="the official executor evaluates any expression, builtins and its imports included; ours reads calls",
        applies=_refuses_python,
        domain="MathAPI",
        calls=("add(a=len('abc'), b=1 + 1)",),
    ),
    KnownDifference(
        name="forbidden names",
        reason="the official executor has a text of its own for eight names that are no tools (kill, exit, run, ...)",
        applies=lambda text, official, ours: official.endswith("is not allowed.") and ours.endswith("is not defined"),
        domain="MathAPI",
        calls=("kill()",),
    ),
    KnownDifference(
        name="bounded work",
        reason="arguments that officially take unbounded time or memory are refused with the code too_large",
        applies=lambda text, official, ours: ours.endswith('is too large."}'),
        domain="MathAPI",
        calls=("square_root(number=2, precision=5000)",),
    ),
    KnownDifference(
        name="logarithm of a logarithm",
        reason="officially the number that a nested call hands on prints with the precision of the outer call",
        applies=lambda text, official, ours: text.count("logarithm(") > 1 and "mpf(" in official and "mpf(" in ours,
        domain="MathAPI",
        calls=("logarithm(value=logarithm(value=20, base=6, precision=4), base=6, precision=5)",),
    ),
    KnownDifference(
        name="results share the state",
        reason="officially a nested call can put a piece of the state into another place, where both change together",
        applies=lambda text, official, ours: "..." in official,
        domain="TwitterAPI",
        config={"authenticated": True},
        calls=("follow_user(list_all_following())", "list_all_following()"),
        same_state=False,
    ),
)


def known_difference(text, official, ours):
    """Return the known difference that explains two results, or None."""
    return next((row for row in KNOWN_DIFFERENCES if row.applies(text, official, ours)), None)
