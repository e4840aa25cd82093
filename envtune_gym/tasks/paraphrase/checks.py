"""Does a paraphrase say what the original says, nothing less and no value more?

The checks are of values. That a negation or an order of steps has been kept they cannot tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from envtune_gym.callsyntax import parse_call
from envtune_gym.tasks.paraphrase.entities import find_entities, stands_in
from envtune_gym.tasks.stated import Stated
from envtune_gym.tasks.task import Task

__all__ = ["Fault", "FaultKind", "find_faults", "kept_texts", "length_bound", "values_of"]

FaultKind = Literal["malformed", "unchanged", "too long", "lost", "added", "unproven"]
Value = str | int | float

_SHOWN = 80
_SHORT = 2
_KNOWN = (0, 1)
"""Numbers that every text is taken to say."""


class Fault(NamedTuple):
    """Why a paraphrase is refused.

    Attributes:
        kind: What is wrong.
        reason: The same in words, for the model to read.
    """

    kind: FaultKind
    reason: str


def length_bound(original: str) -> int:
    """Return how many characters a paraphrase may have."""
    return max(2 * len(original), len(original) + 100)


def values_of(task: Task) -> list[Value]:
    """Return the strings and numbers in the arguments of a ground truth, each once."""
    calls = [parse_call(text) for texts in task.ground_truth for text in texts]
    return list(dict.fromkeys(value for call in calls for value in _scalars([*call.args, *call.kwargs.values()])))


def kept_texts(original: str, values: Iterable[Value]) -> list[str]:
    """Return what a paraphrase must say letter by letter."""
    found = find_entities(original)
    strings = [value for value in values if isinstance(value, str) and value and stands_in(value, original)]
    return sorted({*found.quoted, *found.values, *found.names, *found.number_words, *strings}, key=original.find)


def find_faults(original: str, paraphrase: str, values: Sequence[Value]) -> list[Fault]:
    """Return what speaks against a paraphrase, as far as the two texts tell it.

    Args:
        original: The user's message.
        paraphrase: The same in other words, on one line.
        values: Values of the task's ground truth.
    """
    if not paraphrase or not paraphrase.isprintable():
        return [Fault("malformed", "the message is empty or holds characters that cannot be printed")]
    if paraphrase == " ".join(original.split()):
        return [Fault("unchanged", "it is the original, word by word")]
    bound = length_bound(original)
    if len(paraphrase) > bound:
        return [Fault("too long", f"it has {len(paraphrase)} characters; at most {bound} are allowed")]
    return [*_lost(original, paraphrase, values), *_added(original, paraphrase)]


def _lost(original: str, paraphrase: str, values: Sequence[Value]) -> Iterator[Fault]:
    """Yield what the original says and the paraphrase does not."""
    before, after = find_entities(original), find_entities(paraphrase)
    for text in sorted(before.quoted - after.quoted):
        yield Fault("lost", f"{_shown(text)} must stand in it, in quotation marks, letter by letter")
    for text, count in sorted((before.values - after.values).items()):
        times = f" {before.values[text]} times" if before.values[text] > 1 and count else ""
        yield Fault("lost", f"{_shown(text)} must stand in it{times}, letter by letter")
    for text in sorted(before.names):
        if not stands_in(text, paraphrase):
            yield Fault("lost", f"the name {_shown(text)} must stand in it")
    for text in sorted(before.number_words - after.number_words):
        yield Fault("lost", f"the number {_shown(text)} must stand in it, as a word")
    old, new = Stated(original), Stated(paraphrase)
    for value in values:
        if _says(value, original, old) and not _says(value, paraphrase, new, as_it_is=_verbatim(value, original)):
            yield Fault("lost", f"{_shown(str(value))} must still be said")


def _added(original: str, paraphrase: str) -> Iterator[Fault]:
    """Yield what looks like a value in the paraphrase and is not in the original."""
    before, after = find_entities(original), find_entities(paraphrase)
    said = original.lower()
    for text in sorted(after.quoted - before.quoted):
        yield Fault("added", f"{_shown(text)} stands in quotation marks and does not in the original")
    for text in sorted(after.values.keys() - before.values.keys()):
        yield Fault("added", f"{_shown(text)} looks like a value and is not in the original")
    for text in sorted(after.names):
        if not stands_in(text.lower(), said):
            yield Fault("added", f"{_shown(text)} looks like a name and is not in the original")
    for text in sorted(after.number_words - before.number_words):
        yield Fault("added", f"the number {_shown(text)} is not in the original")


def _says(value: Value, text: str, stated: Stated, *, as_it_is: bool = False) -> bool:
    """Tell whether a text says a value, letter by letter or in some form that the proof of a task sees through."""
    if _verbatim(value, text):
        return True
    if as_it_is:
        return False
    if isinstance(value, str):
        plain = value.strip(" .!?").lower()
        return len(plain) > _SHORT and (stands_in(plain, text.lower()) or stated.string(value))
    return value not in _KNOWN and stated.number(value)


def _verbatim(value: Value, text: str) -> bool:
    written = value if isinstance(value, str) else json.dumps(value)
    return bool(written) and stands_in(written, text)


def _scalars(value: Any) -> Iterator[Value]:
    """Yield the strings and numbers within an argument."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _scalars(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield value


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...", ensure_ascii=False)
