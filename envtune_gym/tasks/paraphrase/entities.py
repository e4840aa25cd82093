"""The values in a text: quoted texts, numbers, ids, file names, dates and names, by their looks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Entities", "find_entities", "stands_in", "straightened"]

_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_QUOTED = re.compile(r"""(?<!\w)(?:'((?:[^'\n]|(?<=\w)'(?=\w))+)'|"([^"\n]+)"|`([^`\n]+)`)(?!\w)""")
_PIECE = re.compile(r"[^\s\u2014\u2026]+")
_EDGES = "\"'`()[]{}<>,.;:!?*"
_VALUE = re.compile(r"\d|[_@#\\/]|\w\.\w|[a-z][A-Z]")
_CAPITALS = re.compile(r"[A-Z]{2,}")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_SENTENCE_ENDS = "\0.!?:;([\n\u2014\u2026"
_SELF = re.compile(r"I(?:'(?:m|d|ll|ve))?|OK")
_NUMBER_WORDS = frozenset(
    (
        *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen"),
        *("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
        *("hundred", "thousand", "million", "half", "quarter", "twice", "dozen"),
    )
)


class Entities(NamedTuple):
    """What a text says that must not change.

    Attributes:
        quoted: Texts in quotation marks of any kind, without these.
        values: Words that look like a number, an id, a file name, a date or an abbreviation, and how often each stands.
        names: Words that have a capital letter though they do not begin a sentence.
        number_words: Numbers in words; `one` is left out, as it is more often a pronoun.
    """

    quoted: frozenset[str]
    values: Counter[str]
    names: frozenset[str]
    number_words: frozenset[str]


def find_entities(text: str) -> Entities:
    """Return the values in a text; quotation marks and apostrophes count as straight ones."""
    text = straightened(text)
    quoted = frozenset(next(filter(None, match.groups())) for match in _QUOTED.finditer(text))
    outside = _QUOTED.sub(" \0 ", text)  # what stands in quotation marks is kept as a whole
    words = frozenset(word.lower() for word in re.findall(r"[^\W\d_]+", outside))
    return Entities(quoted, Counter(_values(text)), frozenset(_names(outside)), words & _NUMBER_WORDS)


def straightened(text: str) -> str:
    """Return a text with straight quotation marks and apostrophes in place of typographic ones."""
    return text.translate(_STRAIGHT)


def stands_in(value: str, text: str) -> bool:
    """Tell whether a value stands in a text as it is, not within a longer word."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _values(text: str) -> Iterator[str]:
    for match in _PIECE.finditer(text):
        piece = re.sub(r"'s$", "", match[0].strip(_EDGES))
        if _VALUE.search(piece) or (_CAPITALS.fullmatch(piece) and not _SELF.fullmatch(piece)):
            yield piece


def _names(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = re.sub(r"'s$", "", match[0])
        before = text[: match.start()].rstrip(" \t\"'`")
        if word[0].isupper() and before and before[-1] not in _SENTENCE_ENDS and not _SELF.fullmatch(match[0]):
            yield word
