"""Does a text say a value? Numbers in words, dates in other forms and word endings are seen through."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cached_property

__all__ = ["Stated"]

_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_SCALED = re.compile(r"(\d+(?:\.\d+)?)\s*(k|hundred|thousand|million)\b")
_SCALES = {"k": 1e3, "hundred": 1e2, "thousand": 1e3, "million": 1e6}
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: float(value) for value, word in enumerate(_COUNTED)} | {
    "half": 0.5, "quarter": 0.25, "first": 1.0, "second": 2.0, "third": 3.0, "twice": 2.0, "dozen": 12.0,
    "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "hundred": 100.0,
    "thousand": 1000.0,
}  # fmt: skip
_DATE = re.compile(r"\d{4}-(\d\d)-(\d\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CARD_DATE = re.compile(r"0?(\d?\d)/\d\d(\d\d)")
_FILLERS = frozenset(("a", "an", "and", "as", "at", "for", "from", "in", "is", "it", "of", "on", "the", "to", "with"))
_FEW = 10  # smaller whole numbers come out of sums and differences by chance
_ALIKE = 0.85
_LONG = 5


class Stated:
    """What a reader of a text can know from it.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text.lower()
        self._words = re.findall(r"[a-z0-9]+", self._text)
        self._joined = " ".join(self._words)
        self._squeezed = "".join(self._words)

    def number(self, value: float) -> bool:
        """Tell whether the text says a number, exactly, unrounded, negated or as a percentage."""
        return value in (0, 1) or any(
            _close(one, abs(value)) or _close(one / 100, value) or any(round(one, n) == value for n in range(4))
            for one in self._numbers
        )

    def derivable(self, value: float) -> bool:
        """Tell whether a number is the sum, difference, product or quotient of two that the text says."""
        if float(value).is_integer() and abs(value) < _FEW:
            return False
        return any(
            abs(result - value) <= 0.005
            for one in self._numbers
            for other in self._numbers
            for result in (one + other, one - other, one * other, one / other if other else 0.0)
        )

    def string(self, value: str) -> bool:
        """Tell whether the text says a string: as it is, as a date in words, or all its words in some form."""
        plain = re.findall(r"[a-z0-9]+", value.lower())
        if not plain or "".join(plain) in self._squeezed or self._date(value):
            return True
        return all(word in _FILLERS or self._word(word) for word in plain)

    def nearly(self, value: str) -> str | None:
        """Return words of the text that look like a string but differ from it, or None."""
        if len(value) < _LONG:
            return None
        words = self._text.split()
        length = len(value.split())
        matcher = SequenceMatcher(None, b=value.lower())
        for start in range(len(words) - length + 1):
            window = " ".join(words[start : start + length]).strip("'\".,;:!?")
            matcher.set_seq1(window)
            if matcher.real_quick_ratio() > _ALIKE and matcher.quick_ratio() > _ALIKE and matcher.ratio() > _ALIKE:
                return window
        return None

    @cached_property
    def _numbers(self) -> frozenset[float]:
        found = {float(number.replace(",", "")) for number in _NUMBER.findall(self._text)}
        found |= {float(number) * _SCALES[scale] for number, scale in _SCALED.findall(self._text)}
        return frozenset(found | {_NUMBER_WORDS[word] for word in self._words if word in _NUMBER_WORDS})

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._words) | {word[: max(4, len(word) - 3)] for word in self._words}

    def _word(self, word: str) -> bool:
        return word in self._known or (len(word) >= _LONG and word[: max(4, len(word) - 3)] in self._known)

    def _date(self, value: str) -> bool:
        if card := _CARD_DATE.fullmatch(value):
            return re.search(rf"\b0?{card[1]}/(\d\d)?{card[2]}\b", self._text) is not None
        date = _DATE.fullmatch(value)
        if date is None or not 1 <= int(date[1]) <= len(_MONTHS):
            return False
        month = _MONTHS[int(date[1]) - 1] in self._joined
        return month and re.search(rf"\b0?{int(date[2])}(st|nd|rd|th)?\b", self._joined) is not None


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1.0, abs(other))
