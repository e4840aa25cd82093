"""The hint book as a YAML file that a person reviews: each cause with its text, who proposed it, and why it stands.

Only entries with `status: approved` become hints. Texts are templates over a closed set of names, which each entry
lists; anything else in braces is refused when the file is read, whoever wrote it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import Self

from envtune_gym.asking import Writer
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.feedback.book import HintBook
from envtune_gym.feedback.proposing.reply import Proposal
from envtune_gym.feedback.rules import HintRule

if TYPE_CHECKING:
    import yaml

__all__ = [
    "Attempt",
    "Cause",
    "Entry",
    "Example",
    "load_entries",
    "placeholders",
    "to_hint_book",
    "write_entries",
    "yaml_module",
]

VERSION = 1

_HEADER = """\
# Hints that a language model proposed, for review.
#
# An entry with `status: approved` is used, any other is not. To drop a hint, set its status to rejected; to accept one
# that was rejected, correct its texts and set its status to approved. `error` is shown at every level of feedback but
# `off`, and `actionable` adds one text to it: the first whose tools (in backticks) are all on offer; the last one names
# no tool. In braces stand names of values, which are filled in; `names` lists those that a cause has.
# A cause that stands here is not asked about again. The file is written anew when hints are added, and comments are
# lost then: write into `note`.
"""
_WIDTH = 110


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cause(_Model):
    """What a hint is about.

    Attributes:
        domain: The domain, or `general` for what goes wrong outside a tool.
        code: The code of the error.
        tool: The tool, where the hint is about one alone.
        argument: The offending argument, likewise.
    """

    domain: Annotated[str, Field(min_length=1)]
    code: Annotated[str, Field(min_length=1)]
    tool: str | None = None
    argument: str | None = None

    @property
    def sort_key(self) -> tuple[str, ...]:
        """The place of the cause in a book."""
        return self.domain, self.code, self.tool or "", self.argument or ""

    def __str__(self) -> str:
        """Return the cause as a reader names it."""
        return " ".join(filter(None, (self.domain, self.code, self.tool, self.argument)))


class Example(_Model):
    """One of the failures that the hint was made from."""

    task: str
    call: str
    result: str


class Attempt(_Model):
    """One proposal and what was decided on it.

    Attributes:
        approved: Whether it was approved.
        decided_by: What decided: the form of the reply, the leak check in code, or the judge model.
        reasons: Why.
        proposal: The proposal, if the reply held one.
        reply: The beginning of a reply that held none.
    """

    approved: bool
    decided_by: Literal["form", "leak check", "judge"]
    reasons: tuple[str, ...]
    proposal: Proposal | None = None
    reply: str = ""


class Entry(_Model):
    """A cause and what became of it.

    Attributes:
        cause: The cause.
        status: Whether the hint is used.
        note: The reviewer's own words.
        hint: The hint; none if no reply held one.
        names: The values that the texts may use, by name.
        proposed_by: Who wrote the hint.
        judged_by: Who judged it.
        decided_at: When.
        failures: How many failures the cause had.
        example: One of them.
        attempts: All proposals and decisions, in order.
    """

    cause: Cause
    status: Literal["approved", "rejected"]
    note: str = ""
    hint: Proposal | None = None
    names: tuple[str, ...] = ()
    proposed_by: Writer
    judged_by: Writer
    decided_at: datetime
    failures: Annotated[int, Field(ge=1)]
    example: Example
    attempts: tuple[Attempt, ...] = ()

    @model_validator(mode="after")
    def _check_hint(self) -> Self:
        if self.status == "approved":
            if self.hint is None:
                raise ValueError("an approved entry needs a hint")
            self.rule()
            unknown = placeholders(self.hint) - set(self.names)
            if unknown:
                raise ValueError(f"{{{min(unknown)}}} is not one of its names: {', '.join(self.names)}")
        return self

    def rule(self) -> HintRule:
        """Return the hint as a rule.

        Raises:
            ConfigurationError: If there is none, or its texts are not templates of a rule.
        """
        if self.hint is None:
            raise ConfigurationError(f"{self.cause} has no hint")
        return rule_of(self.cause, self.hint)


class _Book(_Model):
    version: Literal[1]
    hints: tuple[Entry, ...]


def rule_of(cause: Cause, hint: Proposal) -> HintRule:
    """Return a proposal as the rule that it would be.

    Raises:
        ConfigurationError: If its texts are not templates of a rule.
    """
    return HintRule(
        code=cause.code,
        category=hint.category,
        augmentation=hint.augmentation,
        error=hint.error,
        actionable=hint.actionable,
        tool=cause.tool,
        when={} if cause.argument is None else {"argument": cause.argument},
    )


def placeholders(hint: Proposal) -> set[str]:
    """Return the names in braces in the texts of a hint, which `rule_of` has accepted."""
    texts = (hint.error, *hint.actionable)
    return {name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None}


def to_hint_book(entries: Iterable[Entry]) -> HintBook:
    """Return the approved hints as a book, those about one tool or argument before those about any.

    Raises:
        ConfigurationError: If a domain is unknown.
    """
    rules: dict[str, list[HintRule]] = {}
    approved = [entry for entry in entries if entry.status == "approved"]
    for entry in sorted(approved, key=lambda entry: (entry.cause.tool is None, entry.cause.argument is None)):
        rules.setdefault(entry.cause.domain, []).append(entry.rule())
    return HintBook(rules)


def load_entries(path: str | os.PathLike[str]) -> list[Entry]:
    """Read a hint book.

    Raises:
        DataError: If it cannot be read or is broken; the message names the line and the field.
        ConfigurationError: If PyYAML is missing.
    """
    yaml = yaml_module()
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise DataError(f"cannot read the hint book {path}: {error}") from error
    try:
        data, tree = yaml.safe_load(text), yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise DataError(f"{path}{f', line {mark.line + 1}' if mark else ''}: not YAML: {problem}") from None
    try:
        entries = _Book.model_validate(data).hints
    except (ValidationError, RecursionError) as error:
        raise DataError(f"{path}{_first_fault(error, tree)}") from None
    seen: set[Cause] = set()
    for index, entry in enumerate(entries):
        if entry.cause in seen:
            where = _line(tree, ("hints", index))
            raise DataError(f"{path}, line {where}: hints.{index}: {entry.cause} stands in an earlier entry already")
        seen.add(entry.cause)
    return list(entries)


def write_entries(path: Path, entries: Iterable[Entry]) -> None:
    """Write a hint book, in the order of its causes; a reader of the file sees the old or the new one, never a part.

    Raises:
        ConfigurationError: If PyYAML is missing.
    """
    ordered = sorted(entries, key=lambda entry: entry.cause.sort_key)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(_lines(ordered))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _lines(entries: Sequence[Entry]) -> Iterator[str]:
    yaml = yaml_module()
    yield f"{_HEADER}version: {VERSION}\n"
    yield "hints:\n" if entries else "hints: []\n"
    for number, entry in enumerate(entries, start=1):
        cause = json.dumps(str(entry.cause))  # no line break of a name may end the comment
        attempts, failures = _counted(len(entry.attempts), "attempt"), _counted(entry.failures, "failure")
        yield f"\n# {number} of {len(entries)}: {cause}: {entry.status} after {attempts}; {failures}\n"
        yield yaml.safe_dump([entry.model_dump(mode="json")], sort_keys=False, allow_unicode=True, width=_WIDTH)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _first_fault(error: ValidationError | RecursionError, tree: yaml.Node | None) -> str:
    """Return where and what the first fault of a book is."""
    if isinstance(error, RecursionError):
        return ": nested too deeply"
    fault = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, fault["loc"]))
    return f", line {_line(tree, fault['loc'])}: {field + ': ' if field else ''}{fault['msg']}"


def _line(tree: yaml.Node | None, path: Sequence[str | int]) -> int:
    """Return the line of a field, or of the innermost one around it that is there."""
    yaml = yaml_module()
    node = tree
    for part in path:
        inner: Any = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            inner = node.value[part]
        if inner is None:
            break
        node = inner
    return 1 if node is None else node.start_mark.line + 1


def yaml_module() -> Any:
    """Return PyYAML, which is loaded where a book is read or written.

    Raises:
        ConfigurationError: If it is missing.
    """
    try:
        import yaml
    except ModuleNotFoundError:
        raise ConfigurationError('hint books need PyYAML; run: pip install "envtune-gym[eval]"') from None
    return yaml
