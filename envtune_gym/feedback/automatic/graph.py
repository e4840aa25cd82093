"""What successful trajectories teach of tools: which come before which, and whose results become whose arguments.

A graph holds names of tools, fields and arguments, and counts; no value of any trajectory.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from typing_extensions import Self

from envtune_gym.errors import DataError
from envtune_gym.feedback.automatic.conversation import Conversation, PastCall
from envtune_gym.feedback.automatic.places import is_said

__all__ = ["USER", "Source", "ToolGraph", "default_graph", "mine"]

USER = "user"
"""In place of a tool and its field: the value stood in the user's words."""

_DOUBT = 1
"""Turns without a predecessor that are added to those seen, so that a single one proves little."""


class Source(NamedTuple):
    """Where the values of an argument come from.

    Attributes:
        tool: The tool whose results have them.
        field: The key that they stand under; empty for a result that is bare text.
        share: The share of the argument's uses that they are.
    """

    tool: str
    field: str
    share: float


@dataclass
class ToolGraph:
    """Counts over successful trajectories.

    Attributes:
        turns: For each tool, the turns in which it was called.
        before: For each tool, for each other one, the turns in which the other was called before its first call.
        uses: For each `tool.argument`, the values that it was given.
        feeds: For each `tool.argument`, for each source (`tool.field`, or `user`), the values that came from there.
    """

    turns: Counter[str] = field(default_factory=Counter)
    before: dict[str, Counter[str]] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    feeds: dict[str, Counter[str]] = field(default_factory=dict)

    def predecessors(self, tool: str) -> dict[str, float]:
        """Return the tools that come before a tool, with the share of its turns in which they do.

        The share is lowered by how often the order is the other way round: what is often done together in any order
        is no prerequisite.
        """
        turns = self.turns[tool]
        shares: dict[str, float] = {}
        for other, count in self.before.get(tool, Counter()).items():
            reverse = self.before.get(other, Counter())[tool]
            shares[other] = count / (turns + _DOUBT) * count / (count + reverse)
        return shares

    def state_predecessors(self, tool: str) -> dict[str, float]:
        """Return the predecessors of a tool, as far as they do not just come before it to give it an argument."""
        given: dict[str, float] = {}
        for key in self.feeds:
            if key.rpartition(".")[0] == tool:
                for source in self.sources(tool, key.rpartition(".")[2]):
                    given[source.tool] = max(given.get(source.tool, 0.0), source.share)
        return {other: share * (1 - given.get(other, 0.0)) for other, share in self.predecessors(tool).items()}

    def sources(self, tool: str, argument: str) -> list[Source]:
        """Return the tools whose results an argument's values come from, the commonest first.

        Where there are none, those that feed arguments of that name of other tools.
        """
        return self._sources([f"{tool}.{argument}"]) or self._sources(
            [key for key in self.uses if key.rpartition(".")[2] == argument]
        )

    def _sources(self, keys: list[str]) -> list[Source]:
        uses = sum(self.uses[key] for key in keys) + _DOUBT
        counts = sum((self.feeds.get(key, Counter()) for key in keys), Counter[str]())
        found = [
            Source(*source.rpartition(".")[::2], count / uses) for source, count in counts.items() if source != USER
        ]
        return sorted(found, key=lambda source: (-source.share, source))

    def restricted(self, tools: Iterable[str]) -> ToolGraph:
        """Return the part of the graph that is about some tools only."""
        kept = frozenset(tools)

        def of(key: str) -> str:
            return key.rpartition(".")[0]

        return ToolGraph(
            Counter({tool: count for tool, count in self.turns.items() if tool in kept}),
            {
                tool: Counter({other: count for other, count in others.items() if other in kept})
                for tool, others in self.before.items()
                if tool in kept
            },
            Counter({key: count for key, count in self.uses.items() if of(key) in kept}),
            {
                key: Counter({source: n for source, n in sources.items() if source == USER or of(source) in kept})
                for key, sources in self.feeds.items()
                if of(key) in kept
            },
        )

    def __add__(self, other: ToolGraph) -> ToolGraph:
        """Return the counts of both."""
        return ToolGraph(
            self.turns + other.turns,
            _added(self.before, other.before),
            self.uses + other.uses,
            _added(self.feeds, other.feeds),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as plain data, in an order that does not depend on how it was made."""
        return {
            "turns": _ordered(self.turns),
            "before": {tool: _ordered(self.before[tool]) for tool in sorted(self.before) if self.before[tool]},
            "uses": _ordered(self.uses),
            "feeds": {key: _ordered(self.feeds[key]) for key in sorted(self.feeds) if self.feeds[key]},
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Make a graph from plain data.

        Raises:
            DataError: If it is not what `to_dict` gives.
        """
        try:
            turns, uses = _counts(data["turns"]), _counts(data["uses"])
            before = {str(tool): _counts(counts) for tool, counts in data["before"].items()}
            feeds = {str(key): _counts(counts) for key, counts in data["feeds"].items()}
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise DataError(f"not a graph of tools: {error!r}; make one with: envtune hints graph --out FILE") from None
        if not (set(before) <= set(turns) and set(feeds) <= set(uses)):
            raise DataError("not a graph of tools: it has no counts of some that it speaks of")
        return cls(turns, before, uses, feeds)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a graph from a JSON file, as `envtune hints graph --out graph.json` writes it.

        Raises:
            DataError: If the file cannot be read or holds something else.
        """
        try:
            data = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"cannot read the graph {os.fspath(path)}: {error}") from None
        return cls.from_dict(data)


def mine(conversations: Iterable[Conversation]) -> ToolGraph:
    """Count over successful conversations; their failed calls are left out.

    A value counts as coming from the user if the user had said it before, else from the first result that had it. Calls
    of one tool after the same other ones, with values from the same places, count once, however many conversations have
    them: a thousand copies of one template are no better evidence than one.
    """
    graph = ToolGraph()
    known: set[tuple[str, ...]] = set()
    for conversation in conversations:
        said: list[str] = []
        first: dict[str, str] = {}
        called: list[str] = []
        for event in conversation.events:
            if isinstance(event, str):
                said.append(event)
                called = []
            elif not event.failed:
                _count_order(graph, event.name, called, known)
                _count_values(graph, event, said, first, (*called, event.name), known)
                called.append(event.name)
                echoed = {str(value) for _, value in event.given}
                for key, value in event.values:
                    if str(value) not in echoed:
                        first.setdefault(str(value), f"{event.name}.{key}")
    return graph


@lru_cache(maxsize=1)
def default_graph() -> ToolGraph:
    """Return the graph of this package's tools, mined from generated and official tasks of the train split.

    It is shared: do not change it.
    """
    folder = files(__package__)
    graphs = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("generated.json", "bfcl_train.json"))
    return sum(map(ToolGraph.from_dict, graphs), ToolGraph())


def _count_order(graph: ToolGraph, tool: str, called: list[str], known: set[tuple[str, ...]]) -> None:
    if tool in called or not _is_new((*called, tool), known):
        return
    graph.turns[tool] += 1
    graph.before.setdefault(tool, Counter()).update(set(called))


def _count_values(
    graph: ToolGraph,
    call: PastCall,
    said: list[str],
    first: Mapping[str, str],
    path: tuple[str, ...],
    known: set[tuple[str, ...]],
) -> None:
    for argument, value in call.given:
        key = f"{call.name}.{argument}"
        source = USER if any(is_said(value, request) for request in said) else first.get(str(value), "")
        if not _is_new((*path, argument, source), known):
            continue
        graph.uses[key] += 1
        if source:
            graph.feeds.setdefault(key, Counter())[source] += 1


def _is_new(key: tuple[str, ...], known: set[tuple[str, ...]]) -> bool:
    new = key not in known
    known.add(key)
    return new


def _added(one: Mapping[str, Counter[str]], other: Mapping[str, Counter[str]]) -> dict[str, Counter[str]]:
    return {key: one.get(key, Counter()) + other.get(key, Counter()) for key in {**one, **other}}


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _counts(data: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(key): _positive(count) for key, count in data.items()})


def _positive(count: Any) -> int:
    if type(count) is not int or count < 1:
        raise ValueError(f"{count!r} is not a count")
    return count
