"""What has happened so far, as anybody sees it who stands between an agent and its tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from envtune_gym.feedback.automatic.failure import looks_failed

__all__ = ["Conversation", "PastCall", "leaves"]

_READ = 100_000
"""Characters of a result that are read."""
_VALUES = 300
"""Values that are kept of one result or of the arguments of one call."""
_DEPTH = 32


@dataclass(frozen=True)
class PastCall:
    """A call that was made, and what came of it.

    Attributes:
        name: The tool.
        arguments: Its arguments.
        content: The text of the result.
        failed: Whether it failed, as far as one can tell.
    """

    name: str
    arguments: Mapping[str, Any]
    content: str
    failed: bool

    @cached_property
    def values(self) -> tuple[tuple[str, Any], ...]:
        """The strings and numbers in the result, each with the key that it stands under; none if it failed."""
        if self.failed or len(self.content) > _READ:
            return ()
        try:
            data = json.loads(self.content)
        except (ValueError, RecursionError):
            data = self.content
        return tuple(islice(leaves(data), _VALUES))

    @cached_property
    def given(self) -> tuple[tuple[str, Any], ...]:
        """The strings and numbers in the arguments, each with the name of its argument."""
        named = ((name, value) for name, data in self.arguments.items() for _, value in leaves(data))
        return tuple(islice(named, _VALUES))


@dataclass
class Conversation:
    """Requests of the user and calls of the agent, in order.

    Attributes:
        events: What the user said, as text, and the calls.

    Example:
        >>> conversation = Conversation()
        >>> conversation.hear("Is flight LH400 on time?")
        >>> conversation.note("search", {"flight": "LH400"}, '{"flight_id": 12}')
        >>> conversation.calls[0].values
        (('flight_id', 12),)
    """

    events: list[str | PastCall] = field(default_factory=list)

    def hear(self, text: str) -> None:
        """Keep what the user says."""
        self.events.append(text[:_READ])

    def note(self, name: str, arguments: Mapping[str, Any], content: str, is_error: bool | None = None) -> None:
        """Keep a call and its result.

        Args:
            name: The tool.
            arguments: Its arguments.
            content: The text of the result.
            is_error: What the server says of it; None where nobody says anything.
        """
        failed = bool(is_error) or looks_failed(content)
        self.events.append(PastCall(name, dict(arguments), content[: _READ + 1], failed))

    @property
    def requests(self) -> list[str]:
        """What the user said."""
        return [event for event in self.events if isinstance(event, str)]

    @property
    def calls(self) -> list[PastCall]:
        """The calls."""
        return [event for event in self.events if isinstance(event, PastCall)]


def leaves(data: Any, key: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield the strings and numbers in plain data, each with the nearest key above it; truth values are none.

    The keys of a mapping that holds nothing but mappings are values too: it is a table, and they are its ids.
    """
    if isinstance(data, (str, int, float)) and not isinstance(data, bool):
        yield key, data
    elif depth and isinstance(data, Mapping):
        is_table = bool(data) and all(isinstance(value, Mapping) for value in data.values())
        for name, value in data.items():
            if is_table:
                yield key, str(name)
            yield from leaves(value, str(name), depth - 1)
    elif depth and isinstance(data, (list, tuple)):
        for value in data:
            yield from leaves(value, key, depth - 1)
