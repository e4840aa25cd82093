"""What a reader without any knowledge of the subject gets out of a text: names, values, lists and formats.

All English that the scripted learner understands is in `CUES`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

__all__ = [
    "CUES",
    "about",
    "bounds",
    "closest",
    "converted",
    "cued",
    "fits",
    "likeness",
    "listed",
    "mentioned",
    "names_in",
    "plain_text",
    "position",
    "quoted",
    "request_values",
    "same_name",
    "typed",
    "words",
]

CUES: Mapping[str, str] = {
    "failure": r"error|fail\w*|invalid|unknown|missing|must|cannot|not|wrong|expected|unexpected|unable|no such",
    "failure_key": r"error|errors|warning|hint|note",
    "ask": (
        r"(?:ask|tell|inform|let)\w* (?:\w+ ){0,2}(?:user|them|know)|clarif\w+|say (?:so|that|which|what)"
        r"|end (?:the|this|your) turn|(?:answer|reply) (?:that|instead|with)"
    ),
    "type": r"type|str|string|text|int|integer|float|number|numeric|bool|boolean|list|array|object",
    "order": r"first|before|after|beforehand|must|needs?|requires?|until",
    "call": r"call|use|using|run|running|try|with|via|by|see|check",
    "path": r"path|paths|directory name|local",
    "upper": r"upper[- ]?case|capitals?|capital letters",
    "lower": r"lower[- ]?case",
    "three_letters": r"(?:3|three)[- ]letters?",
    "listing": r"one of|options?|choices?|choose|allowed|valid|either|available|among|accepts?|enum|must be",
    "options": r"one of|options|choices|enum",
    "form": r"json|list of calls|brackets?|syntax|format",
    "position": r"character|char|position|column|index|offset",
}
"""Cue words of error messages by what they are read for, as alternatives of a regular expression."""

_QUOTED = re.compile(r"`([^`\n]{1,80})`|(?<!\w)'([^'\n]{1,80})'(?!\w)|\"([^\"\n]{1,80})\"|<([a-z_/]{1,20})>")
_ITEM = r"['\"`]?[\w.:#@-]+(?: [A-Z]\w+)*['\"`]?(?: \([^()]{1,40}\))?"
_LISTED = re.compile(
    rf"\b(?:{CUES['listing']})\b\]?[^.;\n\[]{{0,30}}?[:\s(\[]+({_ITEM}(?:(?:,? (?:or|and) |, ?| ?\| ?| ?/ ?){_ITEM})+)",
    re.I,
)
_DATE_TOKEN = re.compile(r"\b(?:YYYY|MM|DD)(?:[-/.](?:YYYY|MM|DD))+\b")
_DATE_FORMS = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%B %d, %Y", "%d %B %Y", "%m-%d-%Y", "%m/%Y", "%Y/%m/%d", "%d.%m.%Y")
_RANGE = re.compile(
    r"\bbetween (-?\d+(?:\.\d+)?)[^\d\n]{1,30}?(-?\d+(?:\.\d+)?)|\b(-?\d+(?:\.\d+)?) to (-?\d+(?:\.\d+)?)"
)
_VALUE = re.compile(
    r"(?<!\w)'([^'\n]{1,200})'(?!\w)|\"([^\"\n]{1,200})\"|\b(\d{4}-\d\d-\d\d)\b"
    r"|(?<![\w.,/-])(-?\d+(?:,\d{3})*(?:\.\d+)?)(?![\w/-])"
    r"|((?<![\w'])[\w.@#/-]*[\d_.@#][\w.@#/-]*\w|\b[A-Z]{2,6}\b|(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*)"
)


_NEAR = 40
"""Characters that may stand between the name of a value and the value."""


def plain_text(content: str) -> str:
    """Return the sentences of a result: the texts in it, if it is JSON."""
    try:
        return "\n".join(_leaves(json.loads(content)))
    except (ValueError, RecursionError):
        return content


def cued(cue: str, text: str) -> bool:
    """Tell whether a text has a cue word."""
    return re.search(rf"\b(?:{CUES[cue]})\b", text, re.I) is not None


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that a text names, by first occurrence.

    A name that could be an English word counts only where it is marked: quoted, called, or after a word such as `use`.
    """
    found: dict[str, int] = {}
    for name in names:
        pattern = rf"(?<![\w.]){re.escape(name)}(?!\w)"
        if name.isalpha() and name.islower():
            mark = rf"(?:[`'\"]{name}[`'\"(]|\b{name}\(|\b(?:{CUES['call']}) {name}(?!\w))"
            pattern = mark
        match = re.search(pattern, text)
        if match:
            found[name] = match.start()
    return sorted(found, key=found.__getitem__)


def mentioned(text: str, word: str) -> bool:
    """Tell whether a word stands in a text as a whole."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def quoted(text: str) -> list[str]:
    """Return what stands in quotation marks, in order; a tag counts as quoted."""
    found = (next(filter(None, match.groups())) if match[4] is None else match[0] for match in _QUOTED.finditer(text))
    return list(dict.fromkeys(found))


def listed(text: str) -> list[str]:
    """Return the items of lists such as `one of a, b or c` and `[a, b]`, in order."""
    items: list[str] = []
    for match in _LISTED.finditer(text):
        items += re.split(r",? (?:or|and) |, ?| ?\| ?| ?/ ?", match[1])
    for inside in re.findall(r"\[([^\[\]\n]{1,400})\]", text):
        items += inside.split(",") if "," in inside else []
    bare = (re.sub(r" \(.*\)$", "", item).strip(" '\"`.") for item in items)
    return list(dict.fromkeys(item for item in bare if item))


def about(text: str, name: str) -> bool:
    """Tell whether a text speaks of an argument: by its name, or by the words of it."""
    return mentioned(text.lower(), name.lower()) or (len(words(name)) > 1 and " ".join(words(name)) in text.lower())


def position(text: str) -> int | None:
    """Return the index of a character that a text points at, or None."""
    match = re.search(rf"\b(?:{CUES['position']})\D{{0,3}}(\d{{1,6}})\b", text, re.I)
    return int(match[1]) if match else None


def request_values(text: str, name: str) -> list[tuple[int, str]]:
    """Return the values that a request states, with their rank for an argument.

    Args:
        text: The request.
        name: The name of the argument.

    Returns:
        Pairs of rank and value, in order of rank: 0 if the value follows the words of the name, 1 if it follows one
        of them, else 2.
    """
    values = [
        (match.start(), match[4].replace(",", "") if match[4] else next(filter(None, match.groups())))
        for match in _VALUE.finditer(text)
    ]
    ranked: list[tuple[int, str]] = []
    for rank, patterns in enumerate(([" ?".join(words(name))], [word for word in words(name) if len(word) > 2])):
        for match in (match for pattern in patterns for match in re.finditer(rf"\b{pattern}\b", text, re.I)):
            following = next(((start, value) for start, value in values if start >= match.end()), None)
            if following is not None and following[0] - match.end() <= _NEAR:
                ranked.append((rank, following[1]))
    return ranked + [(2, value) for _, value in values]


def words(name: str) -> list[str]:
    """Return the words of a name in snake or camel case, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is of the type of a schema."""
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    kind = schema.get("type", "string")
    if isinstance(value, bool) and kind != "boolean":
        return False
    if not isinstance(value, kinds.get(kind, object)):  # type: ignore[arg-type]
        return False
    return kind != "array" or all(fits(item, schema.get("items", {})) for item in value)


def typed(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value as the type of a schema if it can be read as that, else as it is."""
    kind = schema.get("type", "string")
    if kind == "array":
        items = value if isinstance(value, list) else re.split(r",\s*", value) if isinstance(value, str) else [value]
        return [typed(item, schema.get("items", {})) for item in items]
    if kind == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if kind == "boolean" and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if kind in ("integer", "number") and not isinstance(value, bool):
        match = re.match(r"\s*\$?(-?\d{1,15}(?:\.\d{1,15})?)", value) if isinstance(value, str) else None
        number = float(match[1]) if match else value
        return int(number) if isinstance(number, float) and number.is_integer() and "." not in str(value) else number
    if isinstance(value, list) and len(value) == 1 and kind != "object":
        return typed(value[0], schema)
    return value


def converted(value: Any, schema: Mapping[str, Any], text: str) -> Iterator[Any]:
    """Yield other writings of a value that a text, or the description of its argument, asks for.

    Args:
        value: The value.
        schema: The schema of its argument.
        text: The text.
    """
    described = f"{text}\n{schema.get('description', '')}"
    yield typed(value, schema)
    if isinstance(value, str):
        for token in _DATE_TOKEN.findall(described):
            yield from _dates(value, token)
        if cued("path", described) and "/" in value:
            yield value.rstrip("/").rpartition("/")[2]
        if cued("upper", described):
            yield value.upper()
        if cued("lower", described):
            yield value.lower()
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        limits = bounds(text) or bounds(described)
        if limits and not limits[0] <= value <= limits[1]:
            yield from (typed(value / scale, schema) for scale in (10, 100, 1000) if value / scale <= limits[1])


def bounds(text: str) -> list[float]:
    """Return the lowest and the highest value of the first range that a text states, or nothing."""
    match = _RANGE.search(text)
    return [float(number) for number in match.groups() if number] if match else []


def likeness(one: Any, other: Any) -> float:
    """Return how alike two values are written, in [0, 1], whatever their case."""
    return difflib.SequenceMatcher(None, str(one).lower()[:200], str(other).lower()[:200]).ratio()


def same_name(one: str, other: str) -> bool:
    """Tell whether two names differ by no more than a slip: three letters, not counting case and underscores."""
    plain, like = ("".join(words(name)) for name in (one, other))
    matcher = difflib.SequenceMatcher(None, plain, like, autojunk=False)
    return len(plain) + len(like) - 2 * sum(block.size for block in matcher.get_matching_blocks()) <= min(
        3, len(plain) // 2
    )


def closest(value: Any, options: Iterable[str]) -> list[str]:
    """Return options in the order of their likeness to a value."""
    return sorted(options, key=lambda option: -likeness(value, option))


def _dates(value: str, token: str) -> Iterator[str]:
    wanted = token.replace("YYYY", "%Y").replace("MM", "%m").replace("DD", "%d")
    for form in _DATE_FORMS:
        try:
            yield datetime.strptime(value, form).strftime(wanted)
        except ValueError:
            continue


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts in plain data."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
