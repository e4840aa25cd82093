"""What an assistant message means: tool calls, an answer, or a parse error that says where and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from envtune_gym.callsyntax import Call

__all__ = [
    "ACTION_FORMATS",
    "MAX_CALLS",
    "SURROGATE",
    "ActionFormat",
    "Decoder",
    "DocStyle",
    "Meaning",
    "ParseError",
    "RefusedError",
    "Reply",
    "excerpt",
    "readable",
    "refusal",
]

ActionFormat = Literal["tool_call", "python", "openai"]
Decoder = Literal["correct", "official"]
DocStyle = Literal["full", "compact"]
ACTION_FORMATS: tuple[str, ...] = get_args(ActionFormat)

MAX_CALLS = 128
"""Calls that one message may hold; with more of them it is a parse error, whatever its format."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Code points that are no characters: a string holds one only where half of a pair is missing."""
_EXCERPT = 40
_SHOWN = 2 * _EXCERPT + 2
"""Characters that an excerpt takes where it is shown between quotes: as many as if each were a line feed."""


@dataclass(frozen=True, slots=True)
class ParseError:
    """Why a message cannot be read; its text is written to be read by the model that wrote the message.

    Attributes:
        reason: The cause in a short phrase.
        position: Index of the offending character in the message.
        found: What stands there (an excerpt; empty at the end of the message).
        expected: What should stand there, if that can be said.
    """

    reason: str
    position: int
    found: str = ""
    expected: str = ""

    def __str__(self) -> str:
        """Return the error in one line."""
        found = repr(self.found) if self.found else "the end of the message"
        detail = f"expected {self.expected}, found {found}" if self.expected else self.reason
        return f"parse error at character {self.position}: {detail}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an assistant message means. Exactly one of calls, answer and error is there.

    Attributes:
        calls: The calls to run, in order.
        answer: The text that ends the turn; an empty call list ends it with an empty one.
        error: Why the message cannot be read. Nothing of such a message runs.
        format_ok: Whether the message keeps the letter of its format.
        message: The message in OpenAI form, for the conversation. `tool_calls`, with an id for each call, is there
            only in the openai format: the text of the others already holds the calls.
    """

    calls: tuple[Call, ...]
    answer: str | None
    error: ParseError | None
    format_ok: bool
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a format's parser understood.

    Attributes:
        calls: The calls.
        answer: The answer, if there are no calls.
        breach: Where the message first breaks the letter of the format.
        message: The message in OpenAI form, if it differs from the plain text.
    """

    calls: Sequence[Call] = ()
    answer: str = ""
    breach: ParseError | None = None
    message: dict[str, Any] | None = None


class RefusedError(Exception):
    """Raised inside the parsers for a message that gives neither calls nor an answer."""

    def __init__(self, error: ParseError) -> None:
        super().__init__(str(error))
        self.error = error


def refusal(text: str, position: int, reason: str, expected: str = "", end: int | None = None) -> ParseError:
    """Return the error at a position of a text, with an excerpt of what stands there (up to `end`)."""
    stop = position + _EXCERPT if end is None else min(end, position + _EXCERPT)
    return ParseError(reason, position, excerpt(text[position:stop]), expected)


def excerpt(text: str) -> str:
    """Return the beginning of a text, shorter still where characters are shown by their numbers, which are long."""
    beginning = text[:_EXCERPT]
    while len(repr(beginning)) > _SHOWN:
        beginning = beginning[:-1]
    return beginning


def readable(text: str) -> str:
    """Return a text that tokenizers take: lone surrogates, which no tokenizer can encode, are replaced."""
    return SURROGATE.sub("\ufffd", text)
