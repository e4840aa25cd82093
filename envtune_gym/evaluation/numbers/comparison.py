"""Two runs over the same tasks: which tasks flipped, and whether that could be chance.

The test is McNemar's, exact: of the pairs that differ, each is as likely to favour either run if the runs are equally
good. The interval of the difference draws scenarios whole, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any

from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.numbers.summary import RunSummary, summarise
from envtune_gym.evaluation.paired import Interval, PairedShare, paired_shares
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.tasks import CATEGORIES
from envtune_gym.tasks.scenarios import scenario_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Comparison", "Flip", "compare", "mcnemar"]

_FIRST, _SECOND = "first", "second"


@dataclass(frozen=True)
class Flip:
    """An episode that one run solved and the other did not.

    Attributes:
        task_id: The task.
        sample: Which of its episodes.
        error_type: The benchmark's name of what failed in the run that did not solve it.
    """

    task_id: str
    sample: int
    error_type: str | None


@dataclass(frozen=True)
class PairedGroup:
    """Some pairs of episodes.

    Attributes:
        name: What they have in common.
        pairs: Number of pairs.
        both: Pairs that both runs solved.
        gained: Pairs that the second run alone solved.
        lost: Pairs that the first run alone solved.
        neither: Pairs that neither solved.
        accuracy: Accuracies of the first and the second run.
        difference: By how much the second run is better, with its interval.
        p_value: Of McNemar's test.
    """

    name: str
    pairs: int
    both: int
    gained: int
    lost: int
    neither: int
    accuracy: tuple[float, float]
    difference: Interval
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """Two runs, the first being what the second is compared with.

    Attributes:
        names: What the runs are called.
        pairs: The episodes that both have, of each task and sample.
        alone: Number of episodes that only the first, and only the second run has.
        seed: Seed of the bootstrap.
    """

    names: tuple[str, str]
    pairs: Sequence[tuple[EvaluatedEpisode, EvaluatedEpisode]]
    alone: tuple[int, int]
    seed: int = 0

    @cached_property
    def gained(self) -> list[Flip]:
        """What the second run alone solved."""
        return [_flip(old) for old, new in self.pairs if new.success and not old.success]

    @cached_property
    def lost(self) -> list[Flip]:
        """What the first run alone solved."""
        return [_flip(new) for old, new in self.pairs if old.success and not new.success]

    @cached_property
    def total(self) -> PairedGroup:
        """All pairs."""
        return self._group("all", self.pairs)

    @cached_property
    def categories(self) -> list[PairedGroup]:
        """The pairs by category."""
        found = {old.category for old, _ in self.pairs}
        names = dict.fromkeys((*(name for name in CATEGORIES if name in found), *sorted(found)))
        return [self._group(name, [pair for pair in self.pairs if pair[0].category == name]) for name in names]

    @cached_property
    def progress(self) -> PairedShare:
        """Progress of the second run, and how it differs from that of the first."""
        return self._paired(self.pairs, lambda episode: episode.progress)

    @cached_property
    def summaries(self) -> tuple[RunSummary, RunSummary]:
        """The numbers of each run on what both have."""
        return summarise(old for old, _ in self.pairs), summarise(new for _, new in self.pairs)

    @cached_property
    def different_settings(self) -> dict[str, tuple[str, str]]:
        """What the runs were not alike in, apart from who played."""
        first, second = (summary.circumstances for summary in self.summaries)
        return {
            name: (first.get(name, ""), second.get(name, ""))
            for name in dict.fromkeys((*first, *second))
            if first.get(name, "") != second.get(name, "") and name != "policy"
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        first, second = self.summaries
        return {
            "runs": list(self.names),
            "pairs": len(self.pairs),
            "alone": list(self.alone),
            "total": asdict(self.total),
            "by_category": [asdict(group) for group in self.categories],
            "progress": {
                "values": [first.total.progress.value, second.total.progress.value],
                "difference": asdict(self.progress.difference),
            },
            "gained": [asdict(flip) for flip in self.gained],
            "lost": [asdict(flip) for flip in self.lost],
            "circumstances": [first.circumstances, second.circumstances],
            "different_settings": {name: list(values) for name, values in self.different_settings.items()},
            "quarantined": first.quarantined,
        }

    def tables(self) -> list[RenderableType]:
        """Return the comparison as tables for the terminal."""
        from envtune_gym.evaluation.numbers.tables import comparison_tables  # needs rich, of the extra eval

        return comparison_tables(self)

    def _group(self, name: str, pairs: Sequence[tuple[EvaluatedEpisode, EvaluatedEpisode]]) -> PairedGroup:
        outcomes = [(old.success, new.success) for old, new in pairs]
        gained, lost = outcomes.count((False, True)), outcomes.count((True, False))
        both = outcomes.count((True, True))
        shares = ((both + lost) / len(pairs), (both + gained) / len(pairs))
        difference = self._paired(pairs, lambda episode: float(episode.success)).difference
        neither = len(pairs) - both - gained - lost
        return PairedGroup(name, len(pairs), both, gained, lost, neither, shares, difference, mcnemar(gained, lost))

    def _paired(self, pairs: Any, measure: Any) -> PairedShare:
        scenarios = [scenario_of(old.task_id, old.source) for old, _ in pairs]
        outcomes = {_FIRST: [measure(old) for old, _ in pairs], _SECOND: [measure(new) for _, new in pairs]}
        return paired_shares(scenarios, outcomes, _FIRST, self.seed)[_SECOND]


def compare(
    first: Iterable[EvaluatedEpisode],
    second: Iterable[EvaluatedEpisode],
    names: tuple[str, str] = ("a", "b"),
    seed: int = 0,
) -> Comparison:
    """Compare two runs on the episodes that both have, by task and sample.

    Args:
        first: The run to compare with.
        second: The other.
        names: What to call them.
        seed: Seed of the bootstrap.

    Raises:
        ConfigurationError: If they have no episode in common.
        DataError: If a task is not the same in both.
    """
    olds, news = (_by_key(episodes) for episodes in (first, second))
    pairs = [(old, news[key]) for key, old in olds.items() if key in news]
    if not pairs:
        raise ConfigurationError("the runs have no task in common; compare runs over the same tasks")
    for old, new in pairs:
        _check_same_task(old, new)
    return Comparison(names, pairs, (len(olds) - len(pairs), len(news) - len(pairs)), seed)


def mcnemar(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    Args:
        gained: Pairs that only one of the runs solved.
        lost: Pairs that only the other solved.

    Example:
        >>> mcnemar(9, 1)
        0.021484375
        >>> mcnemar(3, 3)
        1.0
    """
    differing = gained + lost
    tail = sum(comb(differing, count) for count in range(min(gained, lost) + 1))
    return float(min(1.0, 2 * tail / 2**differing))


def _by_key(episodes: Iterable[EvaluatedEpisode]) -> dict[tuple[str, int], EvaluatedEpisode]:
    found: dict[tuple[str, int], EvaluatedEpisode] = {}
    for episode in episodes:
        key = (episode.task_id, episode.sample)
        if key in found:
            raise DataError(f"task {episode.task_id!r} has sample {episode.sample} twice in one run")
        found[key] = episode
    return found


def _check_same_task(old: EvaluatedEpisode, new: EvaluatedEpisode) -> None:
    prints = {old.fingerprint, new.fingerprint} - {""}
    if old.source != new.source or len(prints) > 1:
        raise DataError(
            f"task {old.task_id!r} is another one in the second run ({old.source}; {new.source}): "
            "runs are compared over equal tasks"
        )


def _flip(failed: EvaluatedEpisode) -> Flip:
    return Flip(failed.task_id, failed.sample, failed.error_type)
