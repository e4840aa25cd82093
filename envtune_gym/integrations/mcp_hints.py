"""Hints for the tools of an MCP server that somebody else wrote: from its schemas and from what has passed so far.

Hints of a hint book come first. Its entries know typed errors, and a foreign server has none; so the entries under
`general` are used, for the causes that its schemas tell: `unknown_tool`, `missing_argument`, `unknown_argument` and
`ill_typed_argument`, and `failed` for every other failure, each for any tool or for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from envtune_gym.domains.base import ToolError
from envtune_gym.feedback import FeedbackLevel, HintBook
from envtune_gym.feedback.automatic import AutomaticHints, Conversation, ToolGraph
from envtune_gym.feedback.automatic.documentation import ToolDoc
from envtune_gym.feedback.levels import check_level

__all__ = ["ServerHints"]

_REMEMBERED = 200
"""Calls that are remembered."""
_FAULT = "Names and types of the arguments are as documented: the cause is one of the values, or the present state."
_ADVICE = "Compare each value with the documentation and with earlier results, and do not repeat the call unchanged."
_VIOLATIONS = {"missing": "missing_argument", "unknown": "unknown_argument"}


class ServerHints:
    """Makes the hints of one session with a server.

    Args:
        level: Level of the feedback; `diagnostic` adds nothing here, for nobody knows the outcome that is wanted.
        book: Hints that are tried before the automatic ones.
        graph: What successful runs of the server's tools have in common; by default that of this package's tools.

    Raises:
        ConfigurationError: If the level is unknown.
    """

    def __init__(
        self, level: FeedbackLevel = "actionable", book: HintBook | None = None, graph: ToolGraph | None = None
    ) -> None:
        self.level = check_level(level)
        self._book = book
        self._graph = graph
        self._conversation = Conversation()
        self._maker: AutomaticHints | None = None

    def learn(self, tools: Iterable[Mapping[str, Any]]) -> None:
        """Take the documentation of all tools on offer, in the form of MCP."""
        self._maker = AutomaticHints(tools, self._graph)

    def of_call(self, name: str, arguments: Mapping[str, Any], text: str, failed: bool) -> str | None:
        """Return a hint for a call that failed, and remember the call; every call is to be shown once.

        Before the tools on offer are known there is no hint: one could not tell an unknown tool from any other.
        """
        hint = None
        if failed and self.level != "off" and self._maker is not None:
            hint = self._from_book(self._maker.docs, name, arguments, text) or self._automatic(
                self._maker, name, arguments, text
            )
        self._conversation.note(name, arguments, text, is_error=failed)
        del self._conversation.events[:-_REMEMBERED]
        return hint

    def _automatic(self, maker: AutomaticHints, name: str, arguments: Mapping[str, Any], text: str) -> str:
        hint = maker.hint(self._conversation, name, arguments, text, is_error=True, level=self.level)
        return hint or (_FAULT if self.level == "error" else f"{_FAULT} {_ADVICE}")

    def _from_book(self, docs: Mapping[str, ToolDoc], name: str, arguments: Mapping[str, Any], text: str) -> str | None:
        if self._book is None:
            return None
        error = _cause(docs, name, arguments, text)
        hint = self._book.explain(None, error, list(docs), advise=self.level != "error")
        return None if hint is None else hint.text


def _cause(docs: Mapping[str, ToolDoc], name: str, arguments: Mapping[str, Any], text: str) -> ToolError:
    """Return what the schemas tell of a failure as a typed error."""
    doc = docs.get(name)
    if doc is None:
        return ToolError("unknown_tool", name, "name", name)
    violation = next(iter(doc.violations(arguments)), None)
    if violation is None:
        return ToolError("failed", name, details={"message": text})
    details = {
        "required": list(doc.required),
        "parameters": list(doc.arguments),
        "expected": " or ".join(violation.expected),
    }
    code = _VIOLATIONS.get(violation.kind, "ill_typed_argument")
    return ToolError(code, name, violation.argument, arguments.get(violation.argument), details)
