"""How hard a generated task is to be, as numbers that its maker follows; levels name some of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from envtune_gym.errors import ConfigurationError

__all__ = ["DIFFICULTIES", "LEVELS", "Shape", "shapes_of"]

_BOUNDS = {"turns": (1, 8), "goals": (1, 3), "domains": (1, 4), "filler": (1, 64)}


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a task.

    Attributes:
        turns: User turns with something to do (1 to 8); miss_func and miss_param add one each.
        goals: The most goals that one of them joins (1 to 3).
        domains: Domains involved (1 to 4).
        filler: Thousands of tokens of filler in the configuration (1 to 64), in long_context.

    Raises:
        ConfigurationError: If a number is out of bounds.
    """

    turns: int
    goals: int = 1
    domains: int = 1
    filler: int = 8

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            low, high = _BOUNDS[name]
            if type(value) is not int or not low <= value <= high:
                raise ConfigurationError(f"difficulty: {name} is a whole number from {low} to {high}, not {value!r}")

    def code(self, filled: bool) -> str:
        """Return the shape as it stands in the ids of tasks; `filled` in long_context."""
        return f"t{self.turns}g{self.goals}d{self.domains}" + (f"f{self.filler}" if filled else "")


LEVELS: Mapping[int, Shape] = {
    1: Shape(1),
    2: Shape(2),
    3: Shape(3, goals=2),
    4: Shape(4, goals=2, domains=2),
    5: Shape(6, goals=3, domains=3),
}
"""What the levels of difficulty mean."""

DIFFICULTIES = tuple(LEVELS)
"""The levels, from a single request to six turns of up to three goals over three domains."""


def shapes_of(difficulty: Any) -> tuple[Shape, ...]:
    """Return the shapes that an argument `difficulty` means.

    Args:
        difficulty: A level, numbers by name (`{"turns": 4, "domains": 2}`; what is left out is as at level 2), either
            of them as text (`"3"`, `"turns=4,domains=2"`), a list of these, or None for all levels.

    Raises:
        ConfigurationError: If it is none of these.
    """
    if difficulty is None:
        return tuple(LEVELS.values())
    if isinstance(difficulty, Sequence) and not isinstance(difficulty, str):
        if not difficulty:
            raise ConfigurationError("difficulty is an empty list; leave it out for all levels")
        return tuple(dict.fromkeys(shape for one in difficulty for shape in shapes_of(one)))
    if isinstance(difficulty, Shape):
        return (difficulty,)
    if isinstance(difficulty, str):
        difficulty = _read(difficulty)
    if isinstance(difficulty, Mapping):
        return (_shape(difficulty),)
    if type(difficulty) is not int or difficulty not in LEVELS:
        known = ", ".join(map(str, LEVELS))
        raise ConfigurationError(
            f"unknown difficulty {difficulty!r}; known: {known}, or numbers such as turns=4,domains=2"
        )
    return (LEVELS[difficulty],)


def _shape(numbers: Mapping[Any, Any]) -> Shape:
    known = [one.name for one in fields(Shape)]
    unknown = [name for name in numbers if name not in known]
    if unknown:
        raise ConfigurationError(f"difficulty: unknown number {unknown[0]!r}; known: {', '.join(known)}")
    return replace(LEVELS[2], **numbers)


def _read(text: str) -> Any:
    """Return what a text means: a level, or numbers by name; the text itself if it means nothing."""
    if re.fullmatch(r"\d{1,3}", text, re.ASCII):
        return int(text)
    pairs = re.fullmatch(r"(\w+=\d{1,3})(,\w+=\d{1,3})*", text, re.ASCII)
    return {name: int(value) for name, value in (pair.split("=") for pair in text.split(","))} if pairs else text
