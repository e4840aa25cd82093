"""One problem: where the world starts, what the user asks turn by turn, and the calls that solve it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator
from typing_extensions import Self

from envtune_gym.callsyntax import CallSyntaxError, parse_call
from envtune_gym.domains import domain_class, domain_names
from envtune_gym.errors import TaskError
from envtune_gym.official import BFCL_VERSION

if TYPE_CHECKING:
    from envtune_gym.tasks.difficulty import Difficulty

__all__ = ["CATEGORIES", "TASKS_KEPT", "TOOLS_ADDED_MESSAGE", "Task"]

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
"""The benchmark's categories; a generated task may combine several of the last three, joined by `+`."""

TASKS_KEPT = 1024
"""Tasks that caches hold on to: those that make them and those that replay them should hold the same ones."""

TOOLS_ADDED_MESSAGE = "Further tools are at your disposal now. Please see to my last request with them."
"""What the user says when withheld tools come back; official tasks carry the benchmark's own sentence."""

_Text = Annotated[str, Field(min_length=1)]


class Task(BaseModel):
    """One task; immutable, checked when made, and convertible to JSON and back without loss.

    Containers inside (`initial_config`, `missed_functions`) are the task's own, copied from what it was made
    from, but shared by all who read them: copy before changing. A `World` copies what it keeps.

    Equality and hash go by `fingerprint`.

    Attributes:
        id: Unique name: printable, without blanks.
        category: One of `CATEGORIES`, or several joined by `+`.
        domains: Names of the domains involved.
        initial_config: The domains' configurations, by domain.
        turns: The user's message at the start of each turn.
        ground_truth: For each turn the calls that solve it, in Python call syntax; empty where nothing is to be
            called.
        missed_functions: Tools by the index of the turn before which they are withheld.
        excluded_functions: Tools that the task's author wanted left out (the benchmark offers them all the same).
        long_context: Whether the domains are filled with the official long-context filler.
        source: Where the task comes from: `"bfcl"`, `"generated"` or a name of the author's choice.
        source_version: The version of that source.
        path: The author's outline of the solution, kept for `to_bfcl`; None: taken from the ground truth.

    Raises:
        TaskError: If a field is missing, of the wrong type, or contradicts another; the message names it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: str
    category: str
    domains: Annotated[tuple[str, ...], Field(min_length=1)]
    initial_config: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    turns: Annotated[tuple[_Text, ...], Field(min_length=1)]
    ground_truth: tuple[tuple[str, ...], ...]
    missed_functions: dict[int, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default_factory=dict)
    excluded_functions: tuple[str, ...] = ()
    long_context: bool = False
    source: str = "custom"
    source_version: str = ""
    path: tuple[str, ...] | None = None

    def __init__(self, **data: Any) -> None:
        with _task_errors(data):
            super().__init__(**data)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Make a task from a mapping, as `model_dump` gives it.

        Raises:
            TaskError: As the constructor does.
        """
        with _task_errors(obj):
            return super().model_validate(obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Make a task from JSON text, as `model_dump_json` gives it.

        Raises:
            TaskError: As the constructor does, and if the text is not JSON.
        """
        with _task_errors(None):
            return super().model_validate_json(json_data, **options)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a task that differs in the fields named, and is checked anew; nothing is shared, `deep` or not."""
        return type(self).model_validate({**self.model_dump(), **(update or {})})

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str) -> str:
        if not value or not value.isprintable() or any(character.isspace() for character in value):
            raise ValueError(f"must be printable characters without blanks, got {value!r}")
        return value

    @field_validator("category")
    @classmethod
    def _check_category(cls, value: str) -> str:
        names = value.split("+")
        if not set(names) <= set(CATEGORIES) or len(set(names)) < len(names) or ("base" in names and len(names) > 1):
            known = ", ".join(CATEGORIES)
            raise ValueError(f"unknown category {value!r}; known: {known} (those after base may be joined by '+')")
        return value

    @field_validator("domains")
    @classmethod
    def _check_domains(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in domain_names():
                raise ValueError(f"unknown domain {name!r}; known: {', '.join(domain_names())}")
        if len(set(value)) < len(value):
            raise ValueError(f"a domain is named twice in {list(value)}")
        return value

    @model_validator(mode="after")
    def _check_fields_agree(self) -> Self:
        if len(self.ground_truth) != len(self.turns):
            raise ValueError(f"ground_truth: must have an entry for each of the {len(self.turns)} turns")
        if self.source == "bfcl" and self.source_version != BFCL_VERSION:
            found = self.source_version or "none"
            raise ValueError(f"source_version: BFCL data of version {BFCL_VERSION} is needed, found {found}")
        tools = _tool_domains(self.domains)
        for turn, names in self.missed_functions.items():
            if not 0 < turn < len(self.turns):
                raise ValueError(f"missed_functions: turn {turn} is not between 1 and {len(self.turns) - 1}")
            _check_tools(f"missed_functions.{turn}", names, tools)
        withheld = [name for names in self.missed_functions.values() for name in names]
        twice = next((name for name in withheld if withheld.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"missed_functions: {twice!r} is withheld twice")
        _check_tools("excluded_functions", self.excluded_functions, tools)
        for turn, calls in enumerate(self.ground_truth):
            for index, text in enumerate(calls):
                _check_tools(f"ground_truth.{turn}.{index}", _called_names(text, turn, index), tools)
        return self

    @property
    def num_turns(self) -> int:
        """Number of user turns."""
        return len(self.turns)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content; the order of keys counts, for domains list their contents in it."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json")).encode()).hexdigest()

    @cached_property
    def difficulty(self) -> Difficulty:
        """How hard the task is, in numbers measured on its ground truth."""
        from envtune_gym.tasks.difficulty import measure_difficulty  # builds on this module

        return measure_difficulty(self)

    def withheld(self, turn: int) -> frozenset[str]:
        """Return the names of the tools that are still withheld in a turn."""
        return frozenset(name for until, names in self.missed_functions.items() if turn < until for name in names)

    def to_bfcl(self) -> dict[str, Any]:
        """Return the task as an entry of the official data files, in fresh containers.

        The turn at which withheld tools come back has no messages there: the benchmark puts its own sentence.
        """
        data = self.model_dump(mode="json", include={"id", "initial_config"})
        entry: dict[str, Any] = {
            "id": self.id,
            "question": [
                [] if turn in self.missed_functions else [{"role": "user", "content": text}]
                for turn, text in enumerate(self.turns)
            ],
            "initial_config": data["initial_config"],
            "path": self._outline() if self.path is None else list(self.path),
            "involved_classes": list(self.domains),
        }
        if self.missed_functions:
            entry["missed_function"] = {str(turn): list(names) for turn, names in self.missed_functions.items()}
        if self.excluded_functions:
            entry["excluded_function"] = list(self.excluded_functions)
        return entry

    def _outline(self) -> list[str]:
        """Return the tools of the ground truth in order, as `Domain.tool`."""
        tools = _tool_domains(self.domains)
        names = [parse_call(text).name for calls in self.ground_truth for text in calls]
        return [f"{tools[name]}.{name}" for name in names]

    def __eq__(self, other: object) -> bool:
        """Tell whether two tasks have the same content."""
        return self.fingerprint == other.fingerprint if isinstance(other, Task) else NotImplemented

    def __hash__(self) -> int:
        """Hash by content, so that tasks can be keys."""
        return hash(self.fingerprint)


@lru_cache(maxsize=256)
def _tool_domains(domains: tuple[str, ...]) -> Mapping[str, str]:
    """Return the domain of each tool by the tool's name."""
    return {name: domain for domain in domains for name in domain_class(domain).tools}


def _check_tools(where: str, names: tuple[str, ...], tools: Mapping[str, str]) -> None:
    for name in names:
        if name not in tools:
            raise ValueError(f"{where}: {name!r} is not a tool of the task's domains")


def _called_names(text: str, turn: int, index: int) -> tuple[str, ...]:
    try:
        return tuple(parse_call(text).names())
    except CallSyntaxError as error:
        raise ValueError(f"ground_truth.{turn}.{index}: {error}") from None


@contextmanager
def _task_errors(data: Any) -> Iterator[None]:
    """Turn pydantic's report into one line that names the task and the field."""
    try:
        yield
    except ValidationError as error:
        first, *others = error.errors(include_url=False, include_input=False)
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, TaskError):  # pydantic wraps what `__init__` raises
            raise cause from None
        field = ".".join(map(str, first["loc"]))
        message = f"{field}: {cause or first['msg']}" if field else str(cause or first["msg"])
        more = f" (and {len(others)} more)" if others else ""
        name = data.get("id") if isinstance(data, Mapping) else None
        prefix = f"task {name!r}: " if isinstance(name, str) else "task: "
        raise TaskError(f"{prefix}{message}{more}") from None
