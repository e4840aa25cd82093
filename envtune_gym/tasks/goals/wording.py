"""How a request may be worded: templates with alternatives, each of which is one of many phrasings.

In a template `[a|b|c]` is one of some alternatives, which may be empty and may hold others; `{name}` is a value:

    "[Please book|Book] {flight}[ for me|][, and pay with {card}| and charge it to {card}]."

has eight wordings. Values go in after the choice and are never read as templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from envtune_gym.errors import TaskError
from envtune_gym.tasks.generation.rng import Rng

__all__ = ["count_wordings", "names_in", "word"]

_TOKENS = re.compile(r"[\[\]|]|\{\w+\}|[^\[\]|{}]+")

_Part = str | tuple["_Sequence", ...]
"""A piece of text (a value is one in braces), or alternatives."""
_Sequence = tuple[_Part, ...]


def word(rng: Rng, templates: Sequence[str], values: Mapping[str, str]) -> str:
    """Return one wording of one of some templates, with the values filled in.

    Raises:
        TaskError: If a template is malformed or names a value that is not there.
    """
    pieces: list[str] = []
    _choose(rng, _parse(rng.pick(templates)), pieces)
    try:
        return "".join(values[piece[1:-1]] if piece[:1] == "{" else piece for piece in pieces)
    except KeyError as error:
        raise TaskError(f"a wording asks for {error}, and the goal gives {', '.join(values) or 'no value'}") from None


def count_wordings(templates: Iterable[str]) -> int:
    """Return how many wordings some templates have, values aside."""
    return sum(_count(_parse(template)) for template in templates)


def names_in(templates: Iterable[str]) -> set[str]:
    """Return the names of the values that templates speak of."""
    return {name for template in templates for name in re.findall(r"\{(\w+)\}", template)}


def _choose(rng: Rng, sequence: _Sequence, pieces: list[str]) -> None:
    for part in sequence:
        if isinstance(part, str):
            pieces.append(part)
        else:
            _choose(rng, rng.pick(part), pieces)


def _count(sequence: _Sequence) -> int:
    number = 1
    for part in sequence:
        if not isinstance(part, str):
            number *= sum(map(_count, part))
    return number


@lru_cache(maxsize=4096)
def _parse(template: str) -> _Sequence:
    """Return the parts of a template.

    Raises:
        TaskError: If a bracket or brace has no partner.
    """
    tokens = _TOKENS.findall(template)
    if "".join(tokens) != template:
        raise TaskError(f"a brace without partner in the wording {template!r}")
    levels: list[list[list[_Part]]] = [[[]]]  # of each open bracket: its alternatives, each a list of parts
    for mark in tokens:
        if mark == "[":
            levels.append([[]])
        elif mark == "]" and len(levels) > 1:
            alternatives = tuple(tuple(parts) for parts in levels.pop())
            levels[-1][-1].append(alternatives)
        elif mark == "|" and len(levels) > 1:
            levels[-1].append([])
        elif mark in "[]|":
            raise TaskError(f"{mark!r} outside of brackets in the wording {template!r}")
        else:
            levels[-1][-1].append(mark)
    if len(levels) > 1:
        raise TaskError(f"a bracket is never closed in the wording {template!r}")
    return tuple(levels[0][0])
