"""Stages of training and the rule of advancing from one to the next; data and pure functions.

The stages are the paper's (arXiv 2510.10197, section 3): first the format on a few easy tasks, then one category,
then all of them with feedback that teaches, and last all of them under the benchmark's own feedback.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from statistics import median
from typing import Any, Literal, NamedTuple, get_args

from typing_extensions import Self

from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.levels import FeedbackLevel, check_level
from envtune_gym.tasks import CATEGORIES, TaskSet

__all__ = [
    "ADAPTIVE_STAGE",
    "PAPER_STAGES",
    "AdvanceRule",
    "Metrics",
    "Reward",
    "Sampling",
    "Stage",
    "stage_categories",
    "stage_tasks",
]

Reward = Literal["format", "progress", "earned", "verdict", "direct", "toolrl"]
"""What a stage pays: `FormatRewardWrapper`, `ProgressRewardWrapper`, the same with `earned`, the benchmark's verdict,
`DirectRewardWrapper` or `ToolRLRewardWrapper`."""

Sampling = Literal["uniform", "adaptive"]
"""How a stage draws its tasks: each as likely as the other, or more of those that the learner solves sometimes."""

_LOOKED_THROUGH = 8_192
_COMPARED = 128
_CHOICES_KEPT = 16
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a curriculum.

    Attributes:
        name: What reports call it.
        categories: The categories of its tasks; a task that combines several is in if all of them are.
        reward: What it pays.
        feedback: Level of feedback.
        limit: Only so many tasks, the easiest: those with the fewest turns, then the fewest calls. None: all.
        sampling: How its tasks are drawn.

    Raises:
        ConfigurationError: If a field has no meaning.
    """

    name: str
    categories: tuple[str, ...] = CATEGORIES
    reward: Reward = "progress"
    feedback: FeedbackLevel = "actionable"
    limit: int | None = None
    sampling: Sampling = "uniform"

    def __post_init__(self) -> None:
        unknown = [name for name in self.categories if name not in CATEGORIES]
        if unknown or not self.categories:
            found = repr(unknown[0]) if unknown else "none"
            raise ConfigurationError(f"stage {self.name!r}: categories are of {', '.join(CATEGORIES)}, not {found}")
        object.__setattr__(self, "categories", tuple(self.categories))  # a list has no hash, by which choices are kept
        if self.reward not in get_args(Reward):
            known = ", ".join(map(repr, get_args(Reward)))
            raise ConfigurationError(f"stage {self.name!r}: reward must be one of {known}, not {self.reward!r}")
        check_level(self.feedback)
        if self.sampling not in get_args(Sampling):
            known = ", ".join(map(repr, get_args(Sampling)))
            raise ConfigurationError(f"stage {self.name!r}: sampling must be one of {known}, not {self.sampling!r}")
        if self.limit is not None and (not isinstance(self.limit, int) or self.limit < 1):
            raise ConfigurationError(f"stage {self.name!r}: limit must be a positive integer or None")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a stage from plain data, as `to_dict` gives it.

        Raises:
            ConfigurationError: If a field is unknown, missing or without meaning.
        """
        if not isinstance(data, Mapping):
            raise ConfigurationError(f"a stage is a Stage or its fields, not {data!r}")
        fields = dict(data)
        if isinstance(fields.get("categories"), str):
            raise ConfigurationError(f"stage {fields.get('name')!r}: categories must be a list of names")
        fields["categories"] = tuple(fields.get("categories", CATEGORIES))
        try:
            return cls(**fields)
        except TypeError as error:
            known = ", ".join(cls.__dataclass_fields__)
            raise ConfigurationError(f"stage {fields.get('name')!r}: {error}; fields: {known}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as plain data."""
        return {**asdict(self), "categories": list(self.categories)}


PAPER_STAGES = (
    Stage("format", ("base",), reward="format", feedback="off", limit=32),
    Stage("base", ("base",)),
    Stage("all", CATEGORIES),
    Stage("benchmark", CATEGORIES, feedback="off"),
)
"""The paper's four stages. It does not say how many tasks the first has: 32 is ours."""

ADAPTIVE_STAGE = Stage("adaptive", CATEGORIES, sampling="adaptive")
"""A fifth mode, ours: no fixed stages of difficulty; the tasks follow the learner (`AdaptiveSampler`)."""


class Metrics(NamedTuple):
    """One report of the trainer; what it did not measure is None.

    Attributes:
        accuracy: Share of validation tasks solved.
        grad_norm: Norm of the gradient of one update, before clipping.
    """

    accuracy: float | None = None
    grad_norm: float | None = None


@dataclass(frozen=True, slots=True)
class AdvanceRule:
    """Advance when validation accuracy has plateaued and the gradient norm is stable.

    That is the paper's rule; it gives no numbers, so these are ours. The plateau: the last `patience` validations
    bring nothing better by at least `min_gain` than the best before them. Stable: the last `window` norms are finite
    and none exceeds `max_ratio` times the usual norm. That is the median of the stage's norms so far, at the lowest
    that it has been since accuracy last gained: norms may grow as the model learns, but a collapsed run, whose norm
    stays high, does not come to count as usual. In the paper's one collapsing run the norm is 0.3 to 0.45 until step
    63, 1.5 at 75 and 2.9 at 91; twice the median is passed between 70 and 75, and from there on the rule holds back.

    Attributes:
        patience: Validations without gain that make a plateau.
        min_gain: Least gain in accuracy that counts.
        window: Updates whose norm is looked at; a stage needs as many before it can end.
        max_ratio: How far above the usual one a norm may be.

    Raises:
        ConfigurationError: If a number has no meaning.
    """

    patience: int = 3
    min_gain: float = 0.01
    window: int = 10
    max_ratio: float = 2.0

    def __post_init__(self) -> None:
        if self.patience < 1 or self.window < 1 or self.min_gain < 0 or self.max_ratio < 1:
            raise ConfigurationError("AdvanceRule needs patience and window >= 1, min_gain >= 0 and max_ratio >= 1")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a rule from plain data, as `to_dict` gives it.

        Raises:
            ConfigurationError: If a field is unknown or without meaning.
        """
        try:
            return cls(**data)
        except TypeError as error:
            known = ", ".join(cls.__dataclass_fields__)
            raise ConfigurationError(f"not an AdvanceRule: {error}; fields: {known}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return asdict(self)

    def should_advance(self, history: Sequence[Metrics]) -> bool:
        """Tell whether the stage that a history comes from has done its work.

        Args:
            history: The reports since the stage began, oldest first.
        """
        return self.has_plateaued(history) and self.is_stable(history)

    def has_plateaued(self, history: Sequence[Metrics]) -> bool:
        """Tell whether validation accuracy no longer rises."""
        accuracies = [metrics.accuracy for metrics in history if metrics.accuracy is not None]
        before, latest = accuracies[: -self.patience], accuracies[-self.patience :]
        return bool(before) and max(latest) < max(before) + max(self.min_gain, _LEAST_GAIN)

    def is_stable(self, history: Sequence[Metrics]) -> bool:
        """Tell whether the gradient norm stays where it was."""
        norms = [metrics.grad_norm for metrics in history if metrics.grad_norm is not None]
        latest = norms[-self.window :]
        if len(latest) < self.window or not all(map(math.isfinite, latest)):
            return False
        return max(latest) <= self.max_ratio * self._usual_norm(history)

    def _usual_norm(self, history: Sequence[Metrics]) -> float:
        """Return the lowest running median since accuracy last gained; updates without any gradient do not count."""
        norms: list[float] = []
        best, lowest = -math.inf, math.inf
        for accuracy, norm in history:
            if norm and math.isfinite(norm):
                insort(norms, norm)
            has_gained = accuracy is not None and accuracy >= best + max(self.min_gain, _LEAST_GAIN)
            if accuracy is not None and has_gained:
                best = accuracy
            if len(norms) >= self.window:
                lowest = median(norms) if has_gained else min(lowest, median(norms))
        return lowest if math.isfinite(lowest) else median(norms or [0.0])


def stage_categories(tasks: TaskSet, stage: Stage) -> list[str]:
    """Return the categories of a set of tasks that belong to a stage, combined ones included.

    Raises:
        ConfigurationError: If there are none.
    """
    found = [name for name in tasks.categories if set(name.split("+")) <= set(stage.categories)]
    if not found:
        wanted, there = ", ".join(stage.categories), ", ".join(tasks.categories) or "none"
        raise ConfigurationError(f"stage {stage.name!r} has no task: it takes {wanted}, and the tasks are of {there}")
    return found


@lru_cache(maxsize=_CHOICES_KEPT)  # hundreds of environments enter a stage together
def stage_tasks(tasks: TaskSet, stage: Stage) -> TaskSet:
    """Return the tasks of a stage.

    Of an endless set the first 8,192 tasks are looked through, unless the stage takes all of it; where only the easiest
    are wanted, the first 128 that belong to the stage are compared.

    Raises:
        ConfigurationError: If there are none.
    """
    categories = stage_categories(tasks, stage)
    endless = not tasks.is_finite
    if endless and stage.limit is None and len(categories) == len(tasks.categories):
        return tasks
    tasks = (tasks[:_LOOKED_THROUGH] if endless else tasks).with_categories(categories)
    if stage.limit is None:
        return tasks
    return _easiest(tasks[:_COMPARED] if endless else tasks, stage.limit)


def _easiest(tasks: TaskSet, limit: int) -> TaskSet:
    """Return the tasks with the fewest turns, then the fewest calls, then in order."""
    return TaskSet(sorted(tasks, key=lambda task: (task.num_turns, sum(map(len, task.ground_truth))))[:limit])
