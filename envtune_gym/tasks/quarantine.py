"""The official tasks that no agent can fairly be expected to solve, with the reason, as data of this package.

The audit finds candidates; a person decides. What was decided stands in `REVIEWED`; `write_quarantine` checks it
against the audit and writes the packaged file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from envtune_gym.errors import DataError
from envtune_gym.official import BFCL_VERSION

if TYPE_CHECKING:
    from envtune_gym.tasks.audit import Finding

__all__ = ["REVIEWED", "Decision", "Quarantined", "load_quarantine", "write_quarantine"]

_FILE = Path(__file__).with_name("quarantine.json")
_ALL = ("base", "miss_func", "miss_param", "long_context")
_VARIANTS = _ALL[1:]


class Decision(NamedTuple):
    """What a reader of the audit decided about some variants of a scenario."""

    scenario: int
    categories: tuple[str, ...]
    kind: str
    reason: str


class Quarantined(NamedTuple):
    """Why a task is left out."""

    kind: str
    reason: str


REVIEWED = (
    Decision(49, ("miss_func",), "withheld_tool_called", "turn 1 needs the result of tail, withheld until turn 3"),
    Decision(
        133, ("miss_func",), "request_differs", "the user names a company (Gorilla) without stock; AAPL is needed"
    ),
    Decision(143, _VARIANTS, "request_differs", "the message asked for ends in $10000, the one needed in $10000.00"),
    Decision(172, _VARIANTS, "request_differs", "the user says the card expires 08/2026, 08/2025 is needed"),
    Decision(176, ("base",), "request_differs", "the description given names 2026, the one needed 2023"),
    Decision(178, _ALL, "argument_not_stated", "the ticket needs priority 4, which neither user nor default gives"),
    Decision(183, _ALL, "argument_not_stated", "travel class economy is needed, the user names none"),
    Decision(187, _ALL, "argument_not_stated", "the ticket needs one exact description that the user only paraphrases"),
    Decision(197, _VARIANTS, "request_differs", "the user says the card expires 12/26, 12/2025 is needed"),
)
"""Decisions on the findings in the pinned data. Values that can be computed or guessed from the documentation are
fair, and so are calls that fail on the user's own data and dates in the past, which no tool refuses."""


@lru_cache(maxsize=1)
def load_quarantine() -> Mapping[str, Quarantined]:
    """Return the quarantined tasks of the pinned official data, by id."""
    tasks = json.loads(_FILE.read_text(encoding="utf-8"))["tasks"]
    return MappingProxyType({task_id: Quarantined(**entry) for task_id, entry in tasks.items()})


def write_quarantine(findings: Iterable[Finding], path: Path = _FILE) -> None:
    """Write the file that `load_quarantine` reads.

    Args:
        findings: What `audit_tasks` says of all official tasks.
        path: Where to write.

    Raises:
        DataError: If a decision rests on a finding that the audit no longer makes, in any variant of the scenario.
    """
    found = {(finding.task_id, finding.kind) for finding in findings}
    tasks: dict[str, dict[str, str]] = {}
    for scenario, categories, kind, reason in REVIEWED:
        ids = [f"multi_turn_{category}_{scenario}" for category in categories]
        if not any((task_id, kind) in found for task_id in ids):
            raise DataError(f"the audit no longer finds {kind} in scenario {scenario}; review the decision on it")
        tasks.update({task_id: {"kind": kind, "reason": reason} for task_id in ids})
    path.write_text(json.dumps({"bfcl_eval": BFCL_VERSION, "tasks": tasks}, indent=1) + "\n", encoding="utf-8")
