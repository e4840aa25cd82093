"""The paper's action format (arXiv 2510.10197): an optional thinking part, then calls or an answer in their tags.

The letter: at most one `<think>…</think>`, then exactly one of `<tool_call>[{"name": …, "arguments": {…}},
…]</tool_call>` or `<answer>…</answer>`, and nothing else but white space. An empty list is an empty answer.

Understood all the same, as a breach of the letter: text around the tags; a single object in place of the list; a
code fence around the JSON; further keys beside name and arguments; several thinking parts, or one that the prompt
opened (`…</think>` alone); several `<tool_call>` parts, whose calls run in order; tags within an answer; and a text
without any tags, which is an answer.

Refused, so that nothing runs: a part that is never closed or was never opened (a message cut off in the middle is
not run by half, and calls drafted in an unfinished thinking part are not calls), calls together with an answer, two
answers, and any call that is broken: see `jsontext` for what JSON is refused.
"""

from __future__ import annotations

import re

from envtune_gym.calls.jsontext import check_nesting, read_value, skip_blanks
from envtune_gym.calls.reply import MAX_CALLS, Meaning, ParseError, RefusedError, excerpt, refusal
from envtune_gym.calls.thinking import CLOSE, OPEN, end_of_thinking, opened_in_prompt
from envtune_gym.callsyntax import Call

__all__ = ["parse"]

_TAG = re.compile(r"</?(?:think|tool_call|answer)>")
_CALLS, _CALLS_END = "<tool_call>", "</tool_call>"
_ANSWER, _ANSWER_END = "<answer>", "</answer>"
_FENCE = re.compile(r"```\w*")
_PARTS = f"one {_CALLS} or {_ANSWER} part"


def parse(text: str) -> Meaning:
    """Read a message.

    Raises:
        RefusedError: If it gives neither calls nor an answer.
    """
    return _Reader(text).read()


class _Reader:
    """One pass over a message, from tag to tag."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.breach: ParseError | None = None
        self.calls: list[Call] = []
        self.call_parts = 0
        self.answer: str | None = None
        self.thoughts = 0
        self.outside: list[str] = []

    def read(self) -> Meaning:
        position = self._start()
        while match := _TAG.search(self.text, position):
            self._note_text(position, match.start())
            position = self._part(match)
        self._note_text(position, len(self.text))
        if self.call_parts:
            return Meaning(self.calls, breach=self.breach)
        if self.answer is None:
            start = skip_blanks(self.text, 0)
            self._note(refusal(self.text, start, "no part in its tags", _PARTS))
            self.answer = "".join(self.outside).lstrip() if self.thoughts else self.text
        return Meaning(answer=self.answer, breach=self.breach)

    def _start(self) -> int:
        """Return where the message starts: after a thinking part that the prompt opened, or at 0."""
        after = opened_in_prompt(self.text)
        if after is None or self._within_call(after):
            return 0
        self.thoughts = 1
        self._note(refusal(self.text, after - len(CLOSE), "thinking part without its start", f"{OPEN} before it"))
        return after

    def _within_call(self, position: int) -> bool:
        """Tell whether the message opens with calls that reach beyond `position`: what stands there is an argument."""
        match = _TAG.search(self.text)
        if match is None or match[0] != _CALLS:
            return False
        try:
            _, end, _ = _read_calls(self.text, match.end())
        except RefusedError:
            return False
        return end > position

    def _part(self, tag: re.Match[str]) -> int:
        """Read the part that a tag opens and return the index after it."""
        if tag[0] == OPEN:
            return self._thinking(tag)
        if tag[0] == _CALLS:
            return self._call_part(tag)
        if tag[0] == _ANSWER:
            return self._answer_part(tag)
        raise RefusedError(refusal(self.text, tag.start(), f"{tag[0]} closes nothing", _PARTS, tag.end()))

    def _thinking(self, tag: re.Match[str]) -> int:
        end = end_of_thinking(self.text, tag.start())
        if end is None:
            raise RefusedError(refusal(self.text, tag.start(), "thinking part never closed", f"{CLOSE} to close it"))
        if self.thoughts or self.call_parts or self.answer is not None:
            self._note(refusal(self.text, tag.start(), "a thinking part too many", f"one {OPEN} part, at the start"))
        self.thoughts += 1
        return end

    def _call_part(self, tag: re.Match[str]) -> int:
        if self.answer is not None:
            raise RefusedError(refusal(self.text, tag.start(), "both calls and an answer", "nothing after the answer"))
        if self.call_parts:
            self._note(refusal(self.text, tag.start(), "a second part", _PARTS))
        self.call_parts += 1
        calls, end, breach = _read_calls(self.text, tag.end())
        self._note(breach)
        self.calls += calls
        if self.call_parts > MAX_CALLS or len(self.calls) > MAX_CALLS:
            reason = f"more than {MAX_CALLS} calls"
            raise RefusedError(refusal(self.text, tag.start(), reason, f"at most {MAX_CALLS} calls"))
        if not self.text.startswith(_CALLS_END, end):
            raise RefusedError(refusal(self.text, end, "calls not closed", f"{_CALLS_END} after the calls"))
        return end + len(_CALLS_END)

    def _answer_part(self, tag: re.Match[str]) -> int:
        if self.call_parts:
            raise RefusedError(refusal(self.text, tag.start(), "both calls and an answer", "nothing after the calls"))
        if self.answer is not None:
            raise RefusedError(refusal(self.text, tag.start(), "two answers", "nothing after the answer"))
        end = self.text.find(_ANSWER_END, tag.end())
        if end == -1:
            raise RefusedError(refusal(self.text, tag.start(), "answer never closed", f"{_ANSWER_END} to close it"))
        self.answer = self.text[tag.end() : end]
        inner = _TAG.search(self.answer)
        if inner:
            position = tag.end() + inner.start()
            self._note(refusal(self.text, position, "a tag within the answer", "text without tags"))
        return end + len(_ANSWER_END)

    def _note_text(self, start: int, end: int) -> None:
        """Keep what stands outside the parts; anything but white space there breaks the letter."""
        between = self.text[start:end]
        if between.strip():
            self.outside.append(between)
            self._note(refusal(self.text, skip_blanks(self.text, start), "text outside the tags", _PARTS, end))

    def _note(self, breach: ParseError | None) -> None:
        self.breach = self.breach or breach


def _read_calls(text: str, position: int) -> tuple[list[Call], int, ParseError | None]:
    """Read the JSON of calls that starts at `position`.

    Returns:
        The calls, the index after them (and the white space after them), and the breach of the letter if any.

    Raises:
        RefusedError: If one of them is broken.
    """
    breach: ParseError | None = None
    start = skip_blanks(text, position)
    fence = _FENCE.match(text, start)
    if fence:
        breach = refusal(text, start, "code fence", "a JSON list without a code fence", fence.end())
        start = skip_blanks(text, fence.end())
    check_nesting(text, start)
    if text.startswith("{", start):
        breach = breach or refusal(text, start, "no list", "a JSON list of calls")
        call, end, own = _read_call(text, start)
        calls = [call]
        breach = breach or own
    else:
        calls, end, own = _read_list(text, start)
        breach = breach or own
    end = skip_blanks(text, end)
    if fence and text.startswith("```", end):
        end = skip_blanks(text, end + 3)
    return calls, end, breach


def _read_list(text: str, position: int) -> tuple[list[Call], int, ParseError | None]:
    if not text.startswith("[", position):
        raise RefusedError(refusal(text, position, "no list of calls", "a JSON list of calls"))
    calls: list[Call] = []
    breach: ParseError | None = None
    position = skip_blanks(text, position + 1)
    if text.startswith("]", position):
        return calls, position + 1, None
    while True:
        call, position, own = _read_call(text, position)
        calls.append(call)
        breach = breach or own
        position = skip_blanks(text, position)
        if text.startswith("]", position):
            return calls, position + 1, breach
        if not text.startswith(",", position):
            raise RefusedError(refusal(text, position, "list not closed", "',' or ']' after a call"))
        position = skip_blanks(text, position + 1)


def _read_call(text: str, position: int) -> tuple[Call, int, ParseError | None]:
    """Read one `{"name": …, "arguments": {…}}`, each member at a known place, so that an error can point at it."""
    if not text.startswith("{", position):
        raise RefusedError(refusal(text, position, "no call", 'a call {"name": …, "arguments": {…}}'))
    start, breach = position, None
    name: str | None = None
    arguments: dict[str, object] | None = None
    seen: set[str] = set()
    position = skip_blanks(text, position + 1)
    while not text.startswith("}", position):
        key_start, (key, position) = position, _read_key(text, position)
        value_start = skip_blanks(text, position + 1)
        value, position = read_value(text, value_start)
        if key in seen:
            raise RefusedError(refusal(text, key_start, f"key {excerpt(key)!r} given twice in one call"))
        seen.add(key)
        if key == "name":
            if not isinstance(value, str) or not value:
                raise RefusedError(refusal(text, value_start, "no name", "'\"name\"' to be a tool's name", position))
            name = value
        elif key == "arguments":
            if not isinstance(value, dict):
                expected = "'\"arguments\"' to be an object"
                raise RefusedError(refusal(text, value_start, "arguments not an object", expected, position))
            arguments = value
        else:
            breach = breach or refusal(text, key_start, "unknown key", 'only "name" and "arguments" in a call')
        position = _after_member(text, skip_blanks(text, position))
    if name is None or arguments is None:
        missing = '"name"' if name is None else '"arguments"'
        raise RefusedError(refusal(text, start, f"call without {missing}", f"{missing} in the call", position + 1))
    return Call(name, arguments), position + 1, breach


def _read_key(text: str, position: int) -> tuple[str, int]:
    """Return a member's key and the index of the colon after it."""
    if not text.startswith('"', position):
        raise RefusedError(refusal(text, position, "no key", "a key in double quotes"))
    key, position = read_value(text, position)
    position = skip_blanks(text, position)
    if not text.startswith(":", position):
        raise RefusedError(refusal(text, position, "no value", "':' after the key"))
    return key, position


def _after_member(text: str, position: int) -> int:
    """Return the index of the next key, or of the bracket that closes the call."""
    if text.startswith("}", position):
        return position
    if not text.startswith(",", position):
        raise RefusedError(refusal(text, position, "call not closed", "',' or '}' in the call"))
    position = skip_blanks(text, position + 1)
    if text.startswith("}", position):
        raise RefusedError(refusal(text, position, "trailing comma", "a key in double quotes", position + 1))
    return position
