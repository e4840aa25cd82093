"""Where the arguments of calls come from: what was said, what a result showed, or what documentation lists.

Written apart from the package's own proof and from its audit, and stricter: a string must stand in one of the texts as
it is (case aside, at word boundaries), a date may be written in other ways, and a number must be one of the numbers
there. A text of several lines is known if each line is, and 1 may be said as "a", "the last" and the like. Nothing is
derived, rounded or stemmed. Documentation is the official one and this package's own, which generated tasks show.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from envtune_gym.domains import domain_class
from envtune_gym.official import data_folder

__all__ = ["Known", "called_name", "documents", "scalars", "tools_of"]

_NUMBER = re.compile(r"(?<![\d.])\d+(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ONE = frozenset(("a", "an", "single", "first", "last", "once"))
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAY_FIRST = re.compile(rf"\b(\d\d?)(?:st|nd|rd|th)?(?: of)? ({'|'.join(_MONTHS)}),? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d\d?)(?:st|nd|rd|th)?,? (\d{{4}})\b")
_DOC_FILES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}


class Known:
    """What an agent has read so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._numbers: set[float] = set()
        self._dates: set[str] = set()

    def read(self, text: str) -> None:
        """Take in a message or a result; of a JSON result the strings inside too, without their escapes."""
        try:
            inside = [str(value) for value in _leaves(json.loads(text))]
        except ValueError:
            inside = []
        for one in (text, "\n".join(inside)) if inside else (text,):
            lowered = one.lower()
            self._texts.append(lowered)
            self._numbers.update(_numbers(lowered))
            self._dates.update(_dates(lowered))

    def has(self, value: str | float) -> bool:
        """Tell whether a value has been read."""
        if not isinstance(value, str):
            return abs(value) in self._numbers
        lines = value.lower().split("\n")
        return bool(value) and all(map(self._has_line, lines))

    def _has_line(self, line: str) -> bool:
        return line in self._dates or any(_stands(line, text) for text in reversed(self._texts))


def documents(domain: str, tool: str, value: str | float) -> bool:
    """Tell whether the documentation of a tool mentions a value."""
    text = _documentation(domain).get(tool, "")
    if isinstance(value, str):
        return _stands(value.lower(), text)
    return value in _numbers(text)


def called_name(call: str) -> str:
    """Return the name of the tool that a call string calls."""
    return call.split("(", 1)[0].strip()


def scalars(call: str) -> Iterator[str | float]:
    """Yield the strings and numbers in the arguments of a call string; truth values and None are choices."""
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call):
        raise ValueError(f"not a call: {call}")
    for argument in [*tree.args, *(keyword.value for keyword in tree.keywords)]:
        for value in _leaves(ast.literal_eval(argument)):
            if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                yield value


@lru_cache(maxsize=16)
def tools_of(domain: str) -> dict[str, dict[str, Any]]:
    """Return the official documentation of a domain's tools by name."""
    path = data_folder() / "data" / "multi_turn_func_doc" / f"{_DOC_FILES[domain]}.json"
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {entry["name"]: entry for entry in entries}


@lru_cache(maxsize=16)
def _documentation(domain: str) -> dict[str, str]:
    own = domain_class(domain).tools
    return {
        name: json.dumps([entry["parameters"], own[name].schema]).lower() for name, entry in tools_of(domain).items()
    }


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                yield str(key)
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _stands(wanted: str, text: str) -> bool:
    """Tell whether words stand in a text and are not part of longer words."""
    start = text.find(wanted)
    while wanted and start >= 0:
        end = start + len(wanted)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (before.isalnum() and wanted[0].isalnum()) and not (after.isalnum() and wanted[-1].isalnum()):
            return True
        start = text.find(wanted, start + 1)
    return False


def _numbers(text: str) -> set[float]:
    found = {float(number.replace(",", "")) for number in _NUMBER.findall(text)}
    words = set(re.findall(r"[a-z]+", text))
    found |= {float(_WORDS.index(word)) for word in words.intersection(_WORDS)}
    return found | ({1.0} if words & _ONE else set())


def _dates(text: str) -> Iterator[str]:
    for day, month, year in _DAY_FIRST.findall(text):
        yield f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
    for month, day, year in _MONTH_FIRST.findall(text):
        yield f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
