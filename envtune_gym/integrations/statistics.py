"""Figures of a batch of rollouts: overall, and apart by component of the reward, turn, category, domain and stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["WITHOUT_SPREAD", "rollout_statistics", "share_without_spread"]

WITHOUT_SPREAD = "groups/without_spread"
"""The name under which the share of groups without any spread of rewards is handed to a trainer."""

Record = Mapping[str, Any]

_GROUPS: dict[str, Callable[[Record], Sequence[str]]] = {
    "category": lambda record: [record["category"]],
    "domain": lambda record: record["domains"],
    "stage": lambda record: [record.get("stage", "")],
}
"""What rollouts are told apart by; one that involves several domains counts in each."""

_MOST_TURNS = 8
"""Later turns have no figure of their own: the benchmark's longest tasks have as many."""

_ROUNDING = 1e-9


def rollout_statistics(records: Sequence[Record], rewards: Mapping[str, str] | None = None) -> dict[str, float]:
    """Return figures of some rollouts, by the names under which trainers log them.

    Args:
        records: `RolloutRecord`s as dicts, at least one, or `EvaluatedEpisode`s, which have no stage and do not tell
            turns apart.
        rewards: What each stage pays, by its name; what only that reward is made of is then told apart too.
    """
    rewards = rewards or {}
    figures = {f"rollout/{name}": value for name, value in _overall(records).items()}
    figures |= {f"component/{name}": value for name, value in _components(records, rewards).items()}
    figures |= {f"turn/{number}/passed": value for number, value in _turns(records).items()}
    for group, names_of in _GROUPS.items():
        for name in sorted({name for record in records for name in names_of(record) if name}):
            chosen = [record for record in records if name in names_of(record)]
            figures[f"{group}/{name}/reward"] = _mean(chosen, lambda record: record["reward"])
            figures |= {f"{group}/{name}/{part}": value for part, value in _components(chosen, rewards).items()}
    return figures


def share_without_spread(records: Sequence[Record], group_size: int) -> float:
    """Return the share of groups whose rewards are all the same, up to rounding; they teach nothing.

    TRL's `frac_reward_zero_std` misses many of them: in float32, equal rewards such as 1/3 deviate from their mean.

    Args:
        records: `RolloutRecord`s as dicts, group after group.
        group_size: Rollouts in a group.
    """
    rewards = [record["reward"] for record in records]
    groups = [rewards[start : start + group_size] for start in range(0, len(rewards), group_size)]
    return sum(math.isclose(min(g), max(g), rel_tol=_ROUNDING, abs_tol=_ROUNDING) for g in groups) / len(groups)


def _overall(records: Sequence[Record]) -> dict[str, float]:
    """Return shares of the rollouts, numbers a rollout, and hints an error."""
    errors = sum(record["errors"] for record in records)
    return {
        "success": _mean(records, lambda record: record["success"]),
        "turns": _mean(records, lambda record: record["turns"]),
        "steps": _mean(records, lambda record: record["num_steps"]),
        "calls": _mean(records, lambda record: record["calls"]),
        "errors": errors / len(records),
        "hints": _mean(records, lambda record: record["hints"]),
        "hint_rate": sum(record["hints"] for record in records) / errors if errors else 0.0,
        "broken": _mean(records, lambda record: bool(record["broken"])),
        **{
            f"truncated_by_{cause}": sum(record["truncated_by"] == cause for record in records) / len(records)
            for cause in ("env", "steps", "tokens")
        },
    }


def _components(records: Sequence[Record], rewards: Mapping[str, str]) -> dict[str, float]:
    """Return the means of what rewards are made of; of some parts only where they are paid."""
    figures = {
        "verdict": _mean(records, lambda record: record["success"]),
        "progress": _mean(records, lambda record: record["progress"]),
        "format": _mean(records, _format_share),
    }
    for reward, (part, constant) in _PARTS.items():
        told = [record for record in records if "reward_parts" in record]  # as older records do not have it
        paid = [record["reward_parts"] for record in told if rewards.get(record.get("stage", "")) == reward]
        if paid:
            figures[part] = sum(parts.get(part, 0.0) for parts in paid) / len(paid) - constant
    return figures


def _turns(records: Sequence[Record]) -> dict[int, float]:
    """Return how often each turn passed, of the rollouts whose task has it; one that was not reached did not."""
    longest = max((record["num_turns"] for record in records if "passed" in record), default=0)
    return {
        number: _mean(
            [record for record in records if record["num_turns"] >= number],
            lambda record, number=number: record["passed"][number - 1 : number] == [True],  # type: ignore[misc]
        )
        for number in range(1, min(longest, _MOST_TURNS) + 1)
    }


def _format_share(record: Record) -> float:
    steps: int = record["num_steps"]
    return (steps - record["format_errors"]) / steps if steps else 0.0


_PARTS: dict[str, tuple[str, float]] = {"format": ("tool", 0.0), "toolrl": ("correct", 3.0)}
"""By reward the term that it alone has, and the constant in what is paid for it: ToolRL's is paid as R_correct + 3."""


def _mean(records: Sequence[Record], value: Callable[[Record], float]) -> float:
    return sum(map(value, records)) / len(records)
