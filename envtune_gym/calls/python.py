"""BFCL's prompting format: a Python list of calls, `[f(a=1), g(b='x')]`; what does not decode is the answer.

One broken call spoils the whole message, as officially. The decoder "correct" keeps positional arguments and signs
and takes a bare name for the error that it is; nothing is completed, so a list that was cut off does not run. The
letter is the list alone, after an optional thinking part. Understood all the same, as a breach of the letter: calls
without the brackets of the list, a code fence with or without the name of a language, backticks, a thinking part that
the prompt opened. An answer that starts like a list, or follows a thinking part that is never closed, breaks it too.

The decoder "official" is in `official.py`. It takes the message as it is: the official handlers of the generic
prompting path strip no reasoning (only those of some model families do, before they decode), so a message with a
thinking part is an answer there.
"""

from __future__ import annotations

import re
import string
from dataclasses import replace

from envtune_gym.calls.jsontext import has_lone_surrogate
from envtune_gym.calls.official import DecodeError, decode_calls
from envtune_gym.calls.reply import MAX_CALLS, Decoder, Meaning, ParseError, refusal
from envtune_gym.calls.thinking import CLOSE, OPEN, end_of_thinking, opened_in_prompt
from envtune_gym.callsyntax import Call, CallSyntaxError, parse_call_list

__all__ = ["parse"]

_OPENING = re.compile(r"\s*(?:```\w*[ \t]*(?=\n)|`*)\s*")
_LIST = "a list of calls [name(argument=value), …] alone"


def parse(text: str, decoder: Decoder) -> Meaning:
    """Read a message; there is none that cannot be read."""
    return _parse_officially(text) if decoder == "official" else _parse_correctly(text)


def _parse_officially(text: str) -> Meaning:
    try:
        calls = decode_calls(text)
    except DecodeError as error:
        return _answer(text, 0, refusal(text, min(error.position, len(text)), str(error)))
    return Meaning(calls, breach=_breach(text, 0))


def _parse_correctly(text: str) -> Meaning:
    # Reasoning tags are no Python, so a message that parses as it stands has them in its arguments only.
    calls, fault = _decode(text, 0)
    if calls is not None:
        return Meaning(calls, breach=_breach(text, 0))
    start = _after_thinking(text)
    if start is None:
        unclosed = refusal(text, text.find(OPEN), "thinking part never closed", f"{CLOSE} to close it")
        return Meaning(answer=text, breach=unclosed)
    if start == 0:
        return _answer(text, 0, fault)
    calls, fault = _decode(text, start)
    meaning = _answer(text, start, fault) if calls is None else Meaning(calls, breach=_breach(text, start))
    if opened_in_prompt(text) is None:
        return meaning
    return replace(meaning, breach=refusal(text, 0, "thinking part without its start", f"{OPEN} before it"))


def _after_thinking(text: str) -> int | None:
    """Return the index after the thinking part, 0 if there is none, None if it is never closed."""
    start = len(text) - len(text.lstrip())
    if text.startswith(OPEN, start):
        return end_of_thinking(text, start)
    return opened_in_prompt(text) or 0


def _decode(text: str, start: int) -> tuple[list[Call] | None, ParseError]:
    """Return the calls from `start` on, or None; and what is wrong, if something is."""
    opening = _OPENING.match(text, start)
    begin = opening.end() if opening else start
    code = text[begin:].rstrip(string.whitespace + "`")
    try:
        calls = parse_call_list(code, MAX_CALLS + 1)
    except CallSyntaxError as error:
        return None, refusal(text, begin + error.position, error.reason)
    surrogate = refusal(text, begin, "text with a lone surrogate, which is no character")
    return (None if has_lone_surrogate(calls) else calls), surrogate


def _breach(text: str, start: int) -> ParseError | None:
    """Return how calls break the letter: by anything around their list."""
    code = text[start:].strip()
    if not code or (code.startswith("[") and code.endswith("]")):
        return None
    return refusal(text, text.find(code, start), "calls not in a list alone", _LIST)


def _answer(text: str, start: int, fault: ParseError) -> Meaning:
    """Return the answer, a breach of the letter if it starts as calls do; white space after thinking is left out."""
    answer = text[start:].lstrip() if start else text
    return Meaning(answer=answer, breach=fault if answer.lstrip().startswith(("[", "```")) else None)
