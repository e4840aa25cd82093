"""Texts of a page: each kept once, and none longer than a page can bear."""

from __future__ import annotations

__all__ = ["MAX_TEXT", "Strings"]

MAX_TEXT = 12_000
"""Characters of a text that are kept; of a longer one the beginning and the end."""
_KEPT_AT_END = 2_000
MAX_EPISODE = 200_000
"""Characters of an episode that are kept so; beyond them, texts are cut to `_SHORT`."""
_SHORT = 400
_SHORT_END = 100


class Strings:
    """The texts of a page, numbered in the order in which they were first met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._kept: list[str | list[str | int]] = []
        self._room = MAX_EPISODE

    @property
    def kept(self) -> list[str | list[str | int]]:
        """The texts: a string each, or where it was cut its beginning, how many characters are left out, its end."""
        return self._kept

    def begin_episode(self) -> None:
        """Begin another episode, which has room of its own."""
        self._room = MAX_EPISODE

    def number(self, text: str) -> int:
        """Return the number of a text."""
        found = self._numbers.get(text)
        if found is not None:
            return found
        most, end = (MAX_TEXT, _KEPT_AT_END) if self._room > 0 else (_SHORT, _SHORT_END)
        self._room -= min(len(text), most)
        number = self._numbers[text] = len(self._kept)
        if len(text) <= most:
            self._kept.append(text)
        else:
            self._kept.append([text[: most - end], len(text) - most, text[-end:]])
        return number
