"""A run counted up as the leaderboard does, and by domain and number of turns, with intervals.

The accuracy of a category is the share of its tasks with a valid verdict; the average is the unweighted mean of the
categories. Of a task with several samples their mean counts. Intervals (95 %, percentile bootstrap) draw scenarios
whole: the variants of a scenario in other categories are no independent evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from envtune_gym.domains import domain_names
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.numbers.attempts import pass_all, pass_any, reported_ks
from envtune_gym.evaluation.numbers.outcomes import TaskOutcome, outcomes_by_task
from envtune_gym.evaluation.paired import Drawn, Interval, ScenarioDraws, average
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks import CATEGORIES
from envtune_gym.tasks.quarantine import load_quarantine
from envtune_gym.tasks.splits import NUM_SCENARIOS

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["AVERAGE", "Group", "RunSummary", "summarise"]

AVERAGE = "average"
"""Under this name the mean over the categories stands beside them."""

_TOLD = ("policy", "action_format", "decoder", "feedback", "hints", "max_steps_per_turn")

Measure = Callable[[TaskOutcome], float]


@dataclass(frozen=True)
class Group:
    """What some tasks came to.

    Attributes:
        name: What they have in common.
        tasks: Number of tasks.
        episodes: Number of episodes.
        turns: Turns finished in them.
        calls: Calls run in them.
        accuracy: Mean share of valid verdicts.
        progress: Mean progress.
    """

    name: str
    tasks: int
    episodes: int
    turns: int
    calls: int
    accuracy: Interval
    progress: Interval


@dataclass(frozen=True)
class RunSummary:
    """The numbers of a run.

    Attributes:
        outcomes: Its tasks.
        failures: Number of episodes by class of failure; empty if nobody looked.
        seed: Seed of the bootstrap.
    """

    outcomes: Sequence[TaskOutcome]
    failures: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0

    @cached_property
    def episodes(self) -> list[EvaluatedEpisode]:
        """All episodes."""
        return [episode for outcome in self.outcomes for episode in outcome.episodes]

    @cached_property
    def attempts(self) -> int:
        """Samples that every task has at least."""
        return min(len(outcome.episodes) for outcome in self.outcomes)

    @cached_property
    def accuracy(self) -> dict[str, Interval]:
        """Accuracy by category, and the average."""
        return self._by_category(lambda outcome: outcome.accuracy)

    @cached_property
    def progress(self) -> dict[str, Interval]:
        """Progress by category, and the average."""
        return self._by_category(lambda outcome: outcome.progress)

    @cached_property
    def pass_any(self) -> dict[int, dict[str, Interval]]:
        """pass@k by k and category, for tasks that were tried more than once."""
        return self._attempted(pass_any)

    @cached_property
    def pass_all(self) -> dict[int, dict[str, Interval]]:
        """pass^k likewise."""
        return self._attempted(pass_all)

    @cached_property
    def categories(self) -> list[Group]:
        """The categories that occur."""
        return self._groups(lambda outcome: (outcome.first.category,), CATEGORIES)

    @cached_property
    def domains(self) -> list[Group]:
        """The domains that occur; a task counts in each of its domains."""
        return self._groups(lambda outcome: tuple(outcome.first.domains), domain_names())

    @cached_property
    def by_turns(self) -> list[Group]:
        """The tasks by their number of turns."""
        numbers = sorted({outcome.first.num_turns for outcome in self.outcomes})
        return self._groups(lambda outcome: (str(outcome.first.num_turns),), [str(number) for number in numbers])

    @cached_property
    def total(self) -> Group:
        """All tasks together, each with the same weight."""
        return self._group("all", [True] * len(self.outcomes))

    @cached_property
    def leaderboard(self) -> float | None:
        """The leaderboard's multi-turn accuracy, to which a category that was not run adds nothing.

        None if there are other tasks than official ones. It cannot be compared with the leaderboard unless it
        `is_complete`, nor if it was played under other circumstances than the benchmark's.
        """
        if any(outcome.first.source.partition(" ")[0] != "bfcl" for outcome in self.outcomes):
            return None
        return sum(self.accuracy[name].value for name in CATEGORIES if name in self.accuracy) / len(CATEGORIES)

    @property
    def is_complete(self) -> bool:
        """Whether all official tasks are there, and no other."""
        return self.leaderboard is not None and len(self.outcomes) == NUM_SCENARIOS * len(CATEGORIES)

    @cached_property
    def quarantined(self) -> list[str]:
        """Ids of the tasks among them that cannot fairly be solved."""
        known = load_quarantine()
        return [outcome.first.task_id for outcome in self.outcomes if outcome.first.task_id in known]

    @cached_property
    def without_quarantined(self) -> RunSummary | None:
        """The summary of all other tasks; None if there are none."""
        left = set(self.quarantined)
        others = [outcome for outcome in self.outcomes if outcome.first.task_id not in left]
        return RunSummary(others, seed=self.seed) if others else None

    @cached_property
    def circumstances(self) -> dict[str, str]:
        """What the episodes were played under; several values where they differ."""
        found: dict[str, dict[str, None]] = {}
        for episode in self.episodes:
            settings = {name: str(getattr(episode.run, name)) for name in _TOLD}
            offer = episode.run.offer or ("official" if episode.source.partition(" ")[0] == "bfcl" else "strict")
            for name, value in {**settings, "offer": offer, "tasks": episode.source}.items():
                if value:
                    found.setdefault(name, {})[value] = None
        return {name: ", ".join(values) for name, values in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data; `docs/evaluation_numbers.md` says what each is."""
        errors = Counter(episode.error_type for episode in self.episodes if episode.error_type)
        others = self.without_quarantined
        return {
            "episodes": len(self.episodes),
            "distinct_tasks": len(self.outcomes),
            "accuracy": _values(self.accuracy),
            "progress": _values(self.progress),
            "intervals": {"accuracy": _ends(self.accuracy), "progress": _ends(self.progress)},
            "leaderboard": {"multi_turn": self.leaderboard, "complete": self.is_complete},
            "pass@k": {str(k): _values(shares) for k, shares in self.pass_any.items()},
            "pass^k": {str(k): _values(shares) for k, shares in self.pass_all.items()},
            "by_category": [asdict(group) for group in self.categories],
            "by_domain": [asdict(group) for group in self.domains],
            "by_turns": [asdict(group) for group in self.by_turns],
            "total": asdict(self.total),
            "error_types": dict(errors.most_common()),
            "failures": dict(self.failures),
            "broken": sum(bool(episode.broken) for episode in self.episodes),
            "feedback": self.circumstances["feedback"],
            "quarantined": self.quarantined,
            "without_quarantined": _values(others.accuracy) if others else {},
        }

    def tables(self) -> list[RenderableType]:
        """Return the numbers as tables for the terminal."""
        from envtune_gym.evaluation.numbers.tables import summary_tables  # needs rich, of the extra eval

        return summary_tables(self)

    @cached_property
    def _draws(self) -> ScenarioDraws:
        return ScenarioDraws([outcome.scenario for outcome in self.outcomes], self.seed)

    def _attempted(self, estimator: Callable[[int, int, int], float]) -> dict[int, dict[str, Interval]]:
        if self.attempts < 2:
            return {}

        def of(k: int) -> Measure:
            return lambda outcome: estimator(len(outcome.episodes), outcome.successes, k)

        return {k: self._by_category(of(k)) for k in reported_ks(self.attempts)}

    def _by_category(self, measure: Measure) -> dict[str, Interval]:
        figures: dict[str, Drawn] = {}
        for group in self._members(lambda outcome: (outcome.first.category,), CATEGORIES).items():
            name, chosen = group
            figures[name] = self._mean(measure, chosen)
        figures[AVERAGE] = average(list(figures.values()))
        return {name: figure.interval() for name, figure in figures.items()}

    def _groups(self, names_of: Callable[[TaskOutcome], Sequence[str]], order: Iterable[str]) -> list[Group]:
        return [self._group(name, chosen) for name, chosen in self._members(names_of, order).items()]

    def _members(self, names_of: Callable[[TaskOutcome], Sequence[str]], order: Iterable[str]) -> dict[str, list[bool]]:
        """Return which outcomes belong to each name that occurs, the names in an order, others behind."""
        named = [frozenset(names_of(outcome)) for outcome in self.outcomes]
        found = frozenset().union(*named)
        names = dict.fromkeys((*(name for name in order if name in found), *sorted(found)))
        return {name: [name in own for own in named] for name in names}

    def _group(self, name: str, chosen: Sequence[bool]) -> Group:
        members = [outcome for outcome, counts in zip(self.outcomes, chosen, strict=True) if counts]
        episodes = [episode for outcome in members for episode in outcome.episodes]
        return Group(
            name=name,
            tasks=len(members),
            episodes=len(episodes),
            turns=sum(episode.turns for episode in episodes),
            calls=sum(episode.calls for episode in episodes),
            accuracy=self._mean(lambda outcome: outcome.accuracy, chosen).interval(),
            progress=self._mean(lambda outcome: outcome.progress, chosen).interval(),
        )

    def _mean(self, measure: Measure, chosen: Sequence[bool]) -> Drawn:
        return self._draws.mean([measure(outcome) for outcome in self.outcomes], chosen)


def summarise(
    episodes: Iterable[EvaluatedEpisode], failures: Mapping[str, int] | None = None, seed: int = 0
) -> RunSummary:
    """Return the numbers of a run.

    Args:
        episodes: At least one; several samples of a task are attempts at it.
        failures: Number of episodes by class of failure, as `failure_counts` gives them.
        seed: Seed of the bootstrap.

    Raises:
        ConfigurationError: If there is no episode.
        DataError: If they are not of one run.
    """
    outcomes = outcomes_by_task(episodes)
    if not outcomes:
        raise ConfigurationError("no episode to count; loosen what the tasks were chosen by")
    return RunSummary(outcomes, failures or {}, seed)


def _values(shares: Mapping[str, Interval]) -> dict[str, float]:
    return {name: interval.value for name, interval in shares.items()}


def _ends(shares: Mapping[str, Interval]) -> dict[str, list[float]]:
    return {name: [interval.low, interval.high] for name, interval in shares.items()}
