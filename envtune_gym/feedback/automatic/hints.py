"""Hints for any tool: from its documentation, what happened so far, and what successful runs have in common.

Nothing here knows a domain, an environment or a typed error: a hint is made from what stands between an agent and a
server. A hint names tools only if they are on offer, names fields and arguments, and states no value.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from envtune_gym.feedback.automatic.conversation import Conversation
from envtune_gym.feedback.automatic.documentation import ToolDoc, Violation
from envtune_gym.feedback.automatic.failure import looks_failed, message_of
from envtune_gym.feedback.automatic.graph import Source, ToolGraph, default_graph
from envtune_gym.feedback.automatic.places import Likeness, Place, is_said, look_alike, where_seen
from envtune_gym.feedback.automatic.prerequisites import Prerequisite, prerequisites, stems
from envtune_gym.feedback.levels import FeedbackLevel, check_level

__all__ = ["MAX_LENGTH", "AutomaticHints"]

MAX_LENGTH = 600
"""Most characters of a hint."""

_NAME = 100
_READ = 4000
_NEAR_TOOL = 0.85
_NEAR_ARGUMENT = 0.6
_OFTEN = 0.3
"""Share of an argument's values from which on a source counts as usual."""
_SOMETIMES = 0.05
"""Likewise for a value that an error blames."""
_CODE = re.compile(r"\S{1,60}|\S+( \S+){1,3}")
"""What can be looked up, as opposed to prose."""
_LISTED = 12


@dataclass(frozen=True, slots=True)
class _Lead:
    """What is wrong, and what to do about it."""

    fault: str
    advice: str = ""
    blamed: bool = True


class AutomaticHints:
    """Makes hints for calls of the tools on offer.

    Args:
        tools: Documentation of the tools on offer, in OpenAI's form or in that of MCP.
        graph: What successful runs have in common; that of this package by default.

    Example:
        >>> weather = {"name": "forecast", "inputSchema": {"properties": {"city": {"type": "string"}}}}
        >>> hints = AutomaticHints([weather])
        >>> print(hints.hint(Conversation(), "forecast", {"town": "Oslo"}, "Error: bad arguments"))
        'forecast' has no argument town. Its arguments: city. Make the call again with these names only.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]], graph: ToolGraph | None = None) -> None:
        docs = map(ToolDoc.read, tools)
        self.docs: dict[str, ToolDoc] = {doc.name: doc for doc in docs}
        self.graph = default_graph() if graph is None else graph

    def hint(
        self,
        conversation: Conversation,
        name: str,
        arguments: Mapping[str, Any],
        text: str,
        is_error: bool | None = None,
        level: FeedbackLevel = "actionable",
    ) -> str | None:
        """Return a hint for a call, or None if it did not fail or nothing is known of the cause.

        Args:
            conversation: What happened before the call.
            name: The tool that was called.
            arguments: Its arguments.
            text: The text of the result.
            is_error: What the server says of it; None where nobody says anything.
            level: `off` gives no hint, `error` what is wrong, the others also what to do.

        Raises:
            ConfigurationError: If there is no such level.
        """
        if check_level(level) == "off" or not (is_error or looks_failed(text)):
            return None
        leads = list(self._leads(conversation, name, arguments, message_of(text)[:_READ]))
        sentences = [lead.fault for lead in leads if lead.fault]
        if level != "error":
            sentences += [lead.advice for lead in leads if lead.advice]
        return _bounded(sentences)

    def _leads(self, conversation: Conversation, name: str, arguments: Mapping[str, Any], text: str) -> Iterator[_Lead]:
        """Yield what is known of a failure; the first kind of cause that there is excludes the others."""
        doc = self.docs.get(name)
        if doc is None:
            yield self._unknown_tool(name)
            return
        violations = doc.violations(arguments)
        if violations:
            for violation in violations[:2]:
                yield self._violation(doc, violation, arguments, conversation)
            return
        if any(call.failed and call.name == name and call.arguments == arguments for call in conversation.calls):
            yield _Lead("The same call has failed already.")
        suspect = self._suspect(doc, arguments, text, conversation)
        waits = prerequisites(name, text, self.docs, self.graph, conversation)
        if suspect is not None and not (waits and waits[0].spoken and not suspect.blamed):
            yield suspect
            if suspect.advice:
                return
        for prerequisite in waits:
            yield _prerequisite(name, prerequisite)

    def _unknown_tool(self, name: str) -> _Lead:
        shown = _shown(name)
        near = _near(name, self.docs, _NEAR_TOOL)
        if near:
            return _Lead(f"{shown} is not a tool on offer.", f"Tools of a similar name: {_tools(near)}.")
        return _Lead(
            f"{shown} is not a tool on offer, and none has a similar name.",
            "If none of those on offer can do this, tell the user so.",
        )

    def _violation(
        self, doc: ToolDoc, violation: Violation, arguments: Mapping[str, Any], conversation: Conversation
    ) -> _Lead:
        name = _bare(violation.argument)
        if violation.kind == "missing":
            return _Lead(
                f"The call lacks the argument {name}.", self._where_from(doc, violation.argument, conversation)
            )
        if violation.kind == "unknown":
            if not doc.arguments:
                return _Lead(f"{_shown(doc.name)} takes no arguments.", "Make the call again without any.")
            left = [argument for argument in doc.arguments if argument not in arguments]
            near = _near(violation.argument, left, _NEAR_ARGUMENT)
            advice = f"Is {_bare(near[0])} meant?" if near else "Make the call again with these names only."
            listed = _listed(doc.arguments)
            return _Lead(f"{_shown(doc.name)} has no argument {name}. Its arguments: {listed}.", advice)
        if violation.kind == "type":
            kinds = " or ".join(violation.expected) or "another"
            return _Lead(
                f"The argument {name} must be of type {kinds}.", "Make the call again with a value of that type."
            )
        if violation.kind == "option":
            return _Lead(f"The argument {name} must be one of {_listed(violation.expected)}.", "Choose one of these.")
        return _Lead(f"The value of {name} is outside the range that the documentation states.", "Keep within it.")

    def _suspect(
        self, doc: ToolDoc, arguments: Mapping[str, Any], text: str, conversation: Conversation
    ) -> _Lead | None:
        """Return what is wrong with the likeliest argument at fault, or None if all look right."""
        ranked = _ranked(arguments, text)
        places = {argument: where_seen(arguments[argument], conversation) for argument, _ in ranked}
        weak: _Lead | None = None
        for argument, blamed in ranked:
            place = places[argument]
            lead = None
            if place is None and not self._documented(doc, argument, arguments[argument]):
                lead = self._unseen(doc, argument, arguments[argument], blamed, conversation)
            elif blamed and place is not None and place.kind == "user":
                lead = self._looked_up(doc, argument)
            if lead is not None and lead.advice:
                return lead
            weak = weak or lead
        speaking = set(stems(text))
        for argument, place in places.items():
            source = self._lookup(doc, argument) if place is not None and place.kind == "user" else None
            if source is not None and isinstance(arguments[argument], str) and speaking & set(stems(source.tool)):
                return self._looked_up(doc, argument)
        return weak

    def _unseen(
        self, doc: ToolDoc, argument: str, value: Any, blamed: bool, conversation: Conversation
    ) -> _Lead | None:
        """Return what to say of a value that nobody has given."""
        likeness = look_alike(value, conversation, doc.options(argument))
        if likeness is not None and (blamed or likeness.how != "similar"):
            return self._written_otherwise(argument, likeness)
        fault = f"The value of {_bare(argument)} appears nowhere in the conversation."
        if blamed and isinstance(value, str) and "/" in value:
            return _Lead(fault, "It is a path: if the tool takes bare names, give the name alone.")
        if not blamed and not self._usual(doc, argument):
            return None
        return _Lead(fault, self._where_from(doc, argument, conversation), blamed)

    def _looked_up(self, doc: ToolDoc, argument: str) -> _Lead | None:
        source = self._lookup(doc, argument)
        if source is None:
            return None
        fault = f"{_bare(argument)} usually takes what another tool returns, not the user's own words."
        return _Lead(fault, f"Look it up with `{source.tool}`{_field(source.field)}.")

    def _documented(self, doc: ToolDoc, argument: str, value: Any) -> bool:
        description = doc.arguments.get(argument, {}).get("description")
        options = doc.options(argument)
        return str(value) in options or (isinstance(description, str) and is_said(value, description[:_READ]))

    def _usual(self, doc: ToolDoc, argument: str, least: float = _OFTEN) -> list[Source]:
        """Return the tools on offer whose results the argument's values usually come from."""
        sources = self.graph.sources(doc.name, argument)
        return [source for source in sources if source.tool in self.docs and source.share >= least]

    def _lookup(self, doc: ToolDoc, argument: str) -> Source | None:
        """Return a tool on offer that takes something and returns what the argument takes."""
        sources = self._usual(doc, argument, _SOMETIMES)
        return next((source for source in sources if self.docs[source.tool].required), None)

    def _where_from(self, doc: ToolDoc, argument: str, conversation: Conversation) -> str:
        """Return where a value for an argument can be found, or nothing if that is not known."""
        for source in self._usual(doc, argument):
            called = any(call.name == source.tool and not call.failed for call in conversation.calls)
            if called:
                return f"Such values stand in an earlier result{_field(source.field)}."
            return f"Such values come from `{source.tool}`{_field(source.field)}: look it up with that."
        return ""

    def _written_otherwise(self, argument: str, likeness: Likeness) -> _Lead:
        name, place = _bare(argument), self._place(likeness.place)
        if likeness.how in ("upper", "lower"):
            return _Lead(
                f"The value of {name} is written in {likeness.how} case in {place}.", "Write it in the same way."
            )
        if likeness.how == "case":
            return _Lead(f"The value of {name} is written with other capitals in {place}.", "Write it in the same way.")
        if likeness.how == "path":
            return _Lead(f"The value of {name} is a path; {place} has the name without it.", "Give the name alone.")
        if likeness.how == "scale":
            return _Lead(
                f"The number in {name} has the digits of one in {place}, on another scale.",
                "Take it as it stands there.",
            )
        return _Lead(
            f"The value of {name} is much like one in {place}, but not the same.", "Take it letter for letter."
        )

    def _place(self, place: Place) -> str:
        if place.kind == "user":
            return "the user's words"
        if place.kind == "documentation":
            return "the documentation"
        tool = f"`{place.tool}`" if place.tool in self.docs else "another tool"
        return f"the {place.kind} of {tool}{_field(place.field)}"


def _ranked(arguments: Mapping[str, Any], text: str) -> list[tuple[str, bool]]:
    """Return the arguments that hold something to look up, with whether the text blames them; those come first.

    A text blames an argument if it has its value, or its name.
    """
    cited: list[tuple[str, bool]] = []
    named: list[tuple[str, bool]] = []
    others: list[tuple[str, bool]] = []
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not _CODE.fullmatch(str(value)[:100]):
            continue
        words = " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)).lower()
        if len(str(value)) > 1 and is_said(value, text):
            cited.append((name, True))
        elif is_said(name, text) or (words and is_said(words, text.lower())):
            named.append((name, True))
        else:
            others.append((name, False))
    return [*cited, *named, *others]


def _prerequisite(tool: str, other: Prerequisite) -> _Lead:
    again = "again " if other.called else ""
    if other.usual:
        return _Lead("", f"In runs that succeed, `{other.tool}` usually comes before `{tool}`: call it {again}first.")
    return _Lead("", f"The error speaks of what `{other.tool}` does: call it {again}first.")


def _near(name: str, known: Iterable[str], cutoff: float) -> list[str]:
    plain: dict[str, str] = {}
    for one in known:
        plain.setdefault(_plain(one), one)
    wanted = _plain(name)
    near = difflib.get_close_matches(wanted, list(plain), 3, cutoff)
    swapped = [one for one in plain if sorted(one) == sorted(wanted)]  # a slip weighs much in a short name
    return [plain[one] for one in dict.fromkeys((*near, *swapped))]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name[:_NAME]).lower()


def _field(name: str) -> str:
    return f" (field {_bare(name)})" if name else ""


def _tools(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _listed(names: Iterable[str]) -> str:
    shown = [_bare(name) for name in names]
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ", ".join(shown[:_LISTED]) + more


def _shown(name: str) -> str:
    text = name if len(name) <= _NAME else name[:_NAME] + "…"
    return repr(text.replace("`", "'"))


def _bare(name: str) -> str:
    """Return the name of an argument or a field as it is, unless it is none that one could tell from prose."""
    return name if re.fullmatch(r"\w{1,60}", name) else _shown(name)


def _bounded(sentences: list[str]) -> str | None:
    """Return as many whole sentences as a hint may have, at least a part of the first."""
    text = ""
    for sentence in dict.fromkeys(sentences):
        longer = f"{text} {sentence}".lstrip()
        if len(longer) > MAX_LENGTH:
            break
        text = longer
    return text or (sentences[0][:MAX_LENGTH] if sentences else None)
