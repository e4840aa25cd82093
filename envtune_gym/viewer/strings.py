"""Texts of a page: each kept once, and none longer than a page can bear."""

from __future__ import annotations

__all__ = ["MAX_TEXT", "Strings"]

MAX_TEXT = 12_000
"""Characters of a text that are kept; of a longer one the beginning and the end."""
_KEPT_AT_END = 2_000
MAX_EPISODE = 200_000
"""Bytes of an episode that are kept so; beyond them, texts are cut to `_SHORT`."""
MAX_PAGE = 80_000_000
"""Bytes of a page, which its episodes share: many long ones have less room each, so that the page still opens."""
_ESCAPED = 6
"""Bytes of a character that is not ASCII."""
_SHORT = 400


class Strings:
    """The texts of a page, numbered in the order in which they were first met.

    Args:
        episodes: How many episodes there are.
    """

    def __init__(self, episodes: int = 1) -> None:
        self._numbers: dict[str, int] = {}
        self._kept: list[str | list[str | int]] = []
        self._most = min(MAX_EPISODE, MAX_PAGE // max(1, episodes))
        self._room = self._most

    @property
    def kept(self) -> list[str | list[str | int]]:
        """The texts: a string each, or where it was cut its beginning, how many characters are left out, its end."""
        return self._kept

    def begin_episode(self) -> None:
        """Begin another episode, which has room of its own."""
        self._room = self._most

    def number(self, text: str) -> int:
        """Return the number of a text."""
        found = self._numbers.get(text)
        if found is not None:
            return found
        size = 1 if text.isascii() else _ESCAPED
        most = max(_SHORT, min(MAX_TEXT, self._room // size))
        end = min(_KEPT_AT_END, most // 4)
        self._room -= min(len(text), most) * size
        number = self._numbers[text] = len(self._kept)
        if len(text) <= most:
            self._kept.append(text)
        else:
            self._kept.append([text[: most - end], len(text) - most, text[-end:]])
        return number
