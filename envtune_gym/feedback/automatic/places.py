"""Where in a conversation a value was seen, or one that looks much like it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from envtune_gym.feedback.automatic.conversation import Conversation

__all__ = ["Likeness", "Place", "is_said", "look_alike", "where_seen"]

How: TypeAlias = Literal["upper", "lower", "case", "path", "scale", "similar"]

_TOKENS = 4000
"""Words and values of a conversation that are compared with a value, the latest first."""
_LONGEST = 80
_SIMILAR = 0.84
_TOKEN = re.compile(r"'([^'\n]{1,80})'|\"([^\"\n]{1,80})\"|([\w@#./:-]*\w)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen.

    Attributes:
        kind: In the user's words, in the result of a tool, among the arguments of a call that succeeded, or in the
            documentation of the tool at hand.
        tool: The tool, if any.
        field: The key in the result, or the argument.
    """

    kind: Literal["user", "result", "call", "documentation"]
    tool: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A value that was seen and looks much like another.

    Attributes:
        how: The same, or something of the same form, in upper case, in lower case or in other capitals; the same
            without a path in front; the same digits on another scale; or just similar.
        place: Where it was seen.
    """

    how: How
    place: Place


def is_said(value: Any, text: str) -> bool:
    """Tell whether a value stands in a text as a whole; thousands may be grouped."""
    shown = str(value)
    if not shown or len(shown) > len(text):
        return False
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        shown = str(int(value))
    pattern = rf"(?<!\w){re.escape(shown)}(?!\w)"
    if re.search(pattern, text):
        return True
    return isinstance(value, (int, float)) and re.search(pattern, re.sub(r"(?<=\d),(?=\d{3})", "", text)) is not None


def where_seen(value: Any, conversation: Conversation) -> Place | None:
    """Return where a value was seen last, results before the user's words; None if nowhere."""
    shown = str(value)
    for call in reversed(conversation.calls):
        for key, seen in call.values:
            if _same(seen, value) or (isinstance(seen, str) and len(seen) > len(shown) and is_said(value, seen)):
                return Place("result", call.name, key)
    if any(is_said(value, request) for request in conversation.requests):
        return Place("user")
    for call in reversed(conversation.calls):
        if not call.failed:
            for name, given in call.given:
                if _same(given, value):
                    return Place("call", call.name, name)
    return None


def look_alike(value: Any, conversation: Conversation, options: Sequence[str] = ()) -> Likeness | None:
    """Return the best likeness of a value in its documented options and in a conversation, or None."""
    candidates = ((option, Place("documentation")) for option in options)
    if isinstance(value, str):
        if not 1 < len(value) <= _LONGEST:
            return None
        seen = [*candidates, *islice(_tokens(conversation), _TOKENS)]
        return _same_but_for_writing(value, seen) or _similar(value, seen)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        digits = _digits(value)
        for one, place in islice(_tokens(conversation), _TOKENS):
            if digits and _digits(one) == digits:
                return Likeness("scale", place)
    return None


def _same(one: Any, other: Any) -> bool:
    return str(one) == str(other) or (isinstance(one, (int, float)) and bool(one == other))


def _tokens(conversation: Conversation) -> Iterator[tuple[Any, Place]]:
    """Yield values and words, the latest first."""
    for event in reversed(conversation.events):
        if isinstance(event, str):
            for token in _words(event):
                yield token, Place("user")
            continue
        for key, value in event.values:
            place = Place("result", event.name, key)
            yield value, place
            if isinstance(value, str) and re.search(r"\s", value):
                for token in _words(value):
                    yield token, place
        if not event.failed:
            for name, value in event.given:
                yield value, Place("call", event.name, name)


def _words(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(re.sub(r"(?<=\d),(?=\d{3})", "", text)):
        yield next(filter(None, match.groups()))
        quoted = match[1] or match[2]
        if quoted and " " in quoted:
            yield from quoted.split()


def _same_but_for_writing(value: str, seen: Sequence[tuple[Any, Place]]) -> Likeness | None:
    bare = value.rstrip("/").rpartition("/")[2]
    for one, place in seen:
        if not isinstance(one, str) or one == value:
            continue
        if one.lower() == value.lower():
            return Likeness(_case(one), place)
        if one == bare and bare != value:
            return Likeness("path", place)
    form = re.sub(r"\d", "0", value)
    for one, place in seen:
        if "0" in form and isinstance(one, str) and len(one) == len(value):
            other = re.sub(r"\d", "0", one)
            if other != form and other.lower() == form.lower():
                return Likeness(_case(one), place)
    return None


def _case(text: str) -> How:
    return "upper" if text.isupper() else "lower" if text.islower() else "case"


def _similar(value: str, seen: Sequence[tuple[Any, Place]]) -> Likeness | None:
    best: tuple[float, Place] | None = None
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(value.lower())
    for one, place in seen:
        if not isinstance(one, str) or one == value or not 3 < len(one) <= _LONGEST:
            continue
        if re.findall(r"\d+", one) != re.findall(r"\d+", value):
            continue  # two ids that differ in a number are two ids, not a slip
        matcher.set_seq1(one.lower())
        floor = best[0] if best else _SIMILAR
        if matcher.real_quick_ratio() > floor and matcher.quick_ratio() > floor and matcher.ratio() > floor:
            best = matcher.ratio(), place
    return Likeness("similar", best[1]) if best else None


def _digits(value: Any) -> str:
    """Return the digits of a number without the zeros around them; none if it is no number."""
    text = value if isinstance(value, str) else repr(value)
    if not re.fullmatch(r"-?\d{1,20}(?:\.\d{1,20})?", text):
        return ""
    return text.lstrip("-").replace(".", "").strip("0")
