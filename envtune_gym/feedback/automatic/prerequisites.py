"""Which other tool a failing call seems to wait for, by the graph and by the words of the error."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from envtune_gym.feedback.automatic.conversation import Conversation
from envtune_gym.feedback.automatic.documentation import ToolDoc
from envtune_gym.feedback.automatic.graph import ToolGraph

__all__ = ["Prerequisite", "prerequisites", "stems"]

_ENOUGH = 0.25
"""The least score that makes a tool worth naming."""
_CALLED = 0.5
"""What a score loses if the tool has been called already."""
_UNHEARD_OF = 0.6
"""What the words of an error are worth for a tool that is not known to come before, where the order is known."""
_MOST = 1
_READ = 2000
_STEM = 4


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """A tool that should perhaps be called before another.

    Attributes:
        tool: The tool.
        usual: Whether it usually comes before the other one in successful runs.
        spoken: Whether the error speaks of what it does.
        called: Whether it has been called with success in this conversation.
    """

    tool: str
    usual: bool
    spoken: bool
    called: bool


def prerequisites(
    tool: str, text: str, docs: Mapping[str, ToolDoc], graph: ToolGraph, conversation: Conversation
) -> list[Prerequisite]:
    """Return the tools on offer that a failing call seems to wait for, the likeliest first.

    The score of a tool is the share of turns in which it comes before the failing one, plus the share of its name
    that the error has in words (rare words weigh more), less if it has been called already.

    Args:
        tool: The tool whose call failed.
        text: What it said.
        docs: The tools on offer.
        graph: What comes before what.
        conversation: What happened before.
    """
    called = {call.name for call in conversation.calls if not call.failed}
    order = graph.state_predecessors(tool)
    names = {name: stems(name) for name in docs}
    documents = Counter(word for words in names.values() for word in set(words))
    weights = {word: math.log(1 + len(docs) / count) for word, count in documents.items()}
    said = stems(text[:_READ])
    # "logged in" is said of a login
    spoken = {*said, *map("".join, itertools.pairwise(said))} - set(stems(tool))
    scored: list[tuple[float, Prerequisite]] = []
    for name, words in names.items():
        if name == tool:
            continue
        usual = order.get(name, 0.0)
        likeness = _share(words, spoken, weights)
        if order and name not in order:
            likeness *= _UNHEARD_OF
        score = usual + likeness - _CALLED * (name in called)
        if score >= _ENOUGH:
            scored.append((score, Prerequisite(name, usual >= likeness, likeness > 0, name in called)))
    scored.sort(key=lambda pair: (-pair[0], pair[1].tool))
    return [prerequisite for _, prerequisite in scored[:_MOST]]


def stems(text: str) -> list[str]:
    """Return the words of a name or a text without the endings of English, in lower case."""
    return [_stem(word.lower()) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)]


def _share(words: list[str], spoken: set[str], weights: Mapping[str, float]) -> float:
    """Return the share of a name's words, by weight, that a text has."""
    own = set(words)
    total = sum(weights[word] for word in own)
    found = sum(weights[word] for word in own if len(word) >= _STEM - 1 and word in spoken)
    return found / total if total else 0.0


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ing", "ions", "ion", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM - 1 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > _STEM - 1 and word[-1] == word[-2] else word
