"""A hint rule: the code of an error, and what to say about it at each level.

The kinds of error and of help are those of the paper (appendix B). A text is a template over the typed values of
the error. Templates are checked when the rule is made and admit plain names only; values are shortened, and are
never themselves read as templates, for a model may have written them.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Literal, TypeAlias, get_args

from typing_extensions import Self

from envtune_gym.domains.base import ToolError
from envtune_gym.errors import ConfigurationError

__all__ = ["MAX_HINT", "MAX_TEXT", "Augmentation", "ErrorCategory", "HintRule", "named_tools", "shown"]

ErrorCategory = Literal[
    "dependency_missing", "parameter_constraint", "state_prerequisite", "format_mismatch", "resource_unavailable"
]
Augmentation = Literal["clarify_constraint", "suggest_prerequisite", "explain_dependency", "correct_format"]

MAX_TEXT = 300
"""Most characters that one text of a rule may have before its values are filled in."""

MAX_HINT = 1_000
"""Most characters of a hint."""

_Template: TypeAlias = tuple[tuple[str, str | None], ...]
"""A text in parts, each with the name of the value that follows it."""

_TOOL = re.compile(r"`([^`]*)`")
_LISTED = 12
_SHORT = 58
_OR_ASK = " If neither a message nor a result says which one is meant, put the question to the user."

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HintRule:
    """What to say about one kind of error.

    In the texts, `{argument}`, `{value}`, `{tool}` and the names of the error's details stand for their values
    (quoted where they are strings), and backticks mark the name of a tool.

    Attributes:
        code: The `ToolError.code` that the rule is about.
        category: What kind of error it is.
        augmentation: What kind of help the texts give.
        error: What went wrong and the rule behind it. Names no tool.
        actionable: What kind of step resolves it: alternatives, of which the first is used whose tools are all on
            offer and whose values are all there. The last one must name no tool. None: nothing can be done.
        tool: The tool that the rule is about, or None for any.
        when: Values that the error must have (`argument`, `value` or details, by name) for the rule to apply.
        or_ask: Whether the user may not have said yet what the call needs. The advice then ends with what to do in
            that case, whatever the task: it tells nothing about the turn at hand.

    Raises:
        ConfigurationError: If a text is empty, too long, or not such a template, or a kind is unknown.
    """

    code: str
    category: ErrorCategory
    augmentation: Augmentation
    error: str
    actionable: tuple[str, ...] = ()
    tool: str | None = None
    when: Mapping[str, Any] = field(default_factory=dict)
    or_ask: bool = False
    _explanation: _Template = field(init=False, repr=False, compare=False)
    _advice: tuple[tuple[frozenset[str], _Template], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.category not in get_args(ErrorCategory):
            raise self._mistake(f"category {self.category!r} is not one of {', '.join(get_args(ErrorCategory))}")
        if self.augmentation not in get_args(Augmentation):
            raise self._mistake(f"augmentation {self.augmentation!r} is not one of {', '.join(get_args(Augmentation))}")
        for text in (self.error, *self.actionable):
            self._check_text(text)
        if named_tools(self.error) or (self.actionable and named_tools(self.actionable[-1])):
            raise self._mistake("neither the text 'error' nor the last of 'actionable' may name a tool in backticks")
        if type(self.or_ask) is not bool:
            raise self._mistake(f"or_ask is true or false, not {self.or_ask!r}")
        advice = tuple((frozenset(named_tools(text)), _parsed(text)) for text in self.actionable)
        object.__setattr__(self, "_explanation", _parsed(self.error))
        object.__setattr__(self, "_advice", advice)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a rule from plain data, as `to_dict` gives it.

        Raises:
            ConfigurationError: If a field is unknown, missing or of the wrong type.
        """
        fields: dict[str, Any] = dict(data)
        if isinstance(fields.get("actionable"), str):
            raise ConfigurationError(f"hint rule {fields.get('code')!r}: actionable must be a list of texts")
        fields["actionable"] = tuple(fields.get("actionable", ()))
        try:
            return cls(**fields)
        except TypeError as error:
            known = ", ".join(name for name, known in cls.__dataclass_fields__.items() if known.init)
            raise ConfigurationError(f"hint rule {fields.get('code')!r}: {error}; fields: {known}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {
            "code": self.code,
            "category": self.category,
            "augmentation": self.augmentation,
            "error": self.error,
            "actionable": list(self.actionable),
            "tool": self.tool,
            "when": dict(self.when),
            "or_ask": self.or_ask,
        }

    def applies_to(self, error: ToolError) -> bool:
        """Tell whether the rule is about an error."""
        if self.code != error.code or self.tool not in (None, error.tool):
            return False
        for name, wanted in self.when.items():
            if name in ("argument", "value"):
                if (error.argument if name == "argument" else error.value) != wanted:
                    return False
            elif name not in error.details or error.details[name] != wanted:
                return False
        return True

    def text(self, error: ToolError, offered: Collection[str], *, advise: bool) -> str | None:
        """Return what to say about an error.

        Args:
            error: An error that the rule applies to.
            offered: Names of the tools on offer; a set is fastest.
            advise: Whether to say, too, what kind of step resolves it.

        Returns:
            The text; None if the error lacks a value that the text needs.
        """
        explanation = _filled(self._explanation, error)
        if explanation is None or not advise:
            return explanation and explanation[:MAX_HINT]
        for tools, template in self._advice:
            if tools.issubset(offered):
                advice = _filled(template, error)
                if advice is not None:
                    return f"{explanation} {advice}{_OR_ASK if self.or_ask else ''}"[:MAX_HINT]
        return explanation[:MAX_HINT]

    def _check_text(self, text: Any) -> None:
        if not isinstance(text, str) or not text or len(text) > MAX_TEXT:
            raise self._mistake(f"a text is a string of 1 to {MAX_TEXT} characters, not {_short.repr(text)}")
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise self._mistake(f"{text!r} is not a template: {error}") from None
        for _, name, spec, conversion in parts:
            if name is not None and (not name.isidentifier() or spec or conversion):
                raise self._mistake(f"{text!r}: braces hold a plain name, such as {{value}}")

    def _mistake(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"hint rule {self.code!r}: {what}")


def named_tools(text: str) -> list[str]:
    """Return the names that stand in backticks."""
    return _TOOL.findall(text)


def shown(value: Any) -> str:
    """Return a value as a short text: quoted where it is a string, the first items where it is a list."""
    if type(value) is list and value:
        more = f" and {len(value) - _LISTED} more" if len(value) > _LISTED else ""
        return ", ".join(map(_shown_item, value[:_LISTED])) + more
    return _shown_item(value)


def _parsed(text: str) -> _Template:
    return tuple((literal, name) for literal, name, _, _ in Formatter().parse(text))


def _filled(template: _Template, error: ToolError) -> str | None:
    """Return a template with the values of an error in it, or None if the error lacks one."""
    try:
        return "".join([literal if name is None else literal + _value(error, name) for literal, name in template])
    except KeyError:
        return None


def _value(error: ToolError, name: str) -> str:
    """Return a value of an error as a short text; an argument that the error does not name has none."""
    if error.argument is not None:
        if name == "value":
            return shown(error.value)
        if name == "argument":
            return shown(error.argument)
    return shown(error.tool if name == "tool" else error.details[name])


def _shown_item(value: Any) -> str:
    if type(value) is str and len(value) < _SHORT and len(text := repr(value)) <= _SHORT + 2:
        return text
    try:
        return _short.repr(value)
    except ValueError:  # an integer with too many digits to print
        return "a number too long to print"
