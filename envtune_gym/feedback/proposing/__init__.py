"""Hints proposed by a language model: the hint making of the paper's appendix B, for a reviewer to accept.

`failures` replays recorded runs and groups what fails by its cause. For each cause `loop` asks a generator for a
proposal (`prompts`, `examples`, `reply`), lets the leak check in code (`checks`) and a judge model that sees the
ground truth decide, and tries at most three times. `bookfile` is the reviewable YAML file of what came out, `journal`
the same in the making. The server and the rest of asking a model are in `envtune_gym.asking`.
"""

from __future__ import annotations

from envtune_gym.asking import ChatModel, ModelSettings, Outcome
from envtune_gym.feedback.proposing.bookfile import Entry, load_entries, to_hint_book, write_entries
from envtune_gym.feedback.proposing.failures import FailureGroup, collect_failures
from envtune_gym.feedback.proposing.loop import MAX_ATTEMPTS, propose_all, propose_hint

__all__ = [
    "MAX_ATTEMPTS",
    "ChatModel",
    "Entry",
    "FailureGroup",
    "ModelSettings",
    "Outcome",
    "collect_failures",
    "load_entries",
    "propose_all",
    "propose_hint",
    "to_hint_book",
    "write_entries",
]
