"""The figures of the overview, as charts or tables: what `evaluation.numbers` counts, in the form to be drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from envtune_gym.errors import EnvtuneError
from envtune_gym.evaluation.numbers.comparison import Comparison, compare
from envtune_gym.evaluation.numbers.summary import AVERAGE, Group, RunSummary, summarise
from envtune_gym.evaluation.paired import Interval
from envtune_gym.evaluation.runs.records import EvaluatedEpisode
from envtune_gym.viewer.details import ViewedEpisode

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Figures", "PairedFigures"]


class Figures:
    """The numbers of the episodes that are shown of a run.

    Args:
        episodes: The episodes, at least one.

    Attributes:
        summary: The numbers; None where the episodes cannot be counted together.
        trouble: Why not; empty if they can.
    """

    def __init__(self, episodes: Sequence[ViewedEpisode]) -> None:
        self.summary: RunSummary | None = None
        self.trouble = ""
        failures = Counter(one.failure for one in episodes if one.failure)
        try:
            self.summary = summarise(map(_counted, episodes), dict(failures.most_common()))
        except EnvtuneError as error:
            self.trouble = str(error)

    def to_dict(self) -> dict[str, Any] | None:
        """Return headlines and charts as plain data, in the order in which they are shown."""
        summary = self.summary
        if summary is None:
            return None
        charts = [
            _chart("accuracy", "Accuracy by category", _shares(summary.accuracy, summary.categories, "category")),
            _chart("progress", "Progress by category", _shares(summary.progress, summary.categories, "category")),
            _chart("failures", "Failures by class", _counts(summary.failures), unit="count"),
            _chart("turns", "Accuracy by number of user turns", _groups(summary.by_turns)),
            _chart(
                "domains",
                "Accuracy by domain",
                _groups(summary.domains, "domain"),
                "A task counts in each of its domains.",
            ),
            _chart("attempts", f"Of {summary.attempts} attempts", _attempts(summary)),
        ]
        return {"headlines": list(_headlines(summary)), "charts": [chart for chart in charts if chart["rows"]]}

    def settings(self) -> Iterator[tuple[str, str]]:
        """Yield what must be known to read the numbers: tasks among them that cannot fairly be solved."""
        summary = self.summary
        if summary is None or not summary.quarantined:
            return
        yield "quarantined tasks", ", ".join(summary.quarantined)
        others = summary.without_quarantined
        if others is not None:
            yield "accuracy without these", f"{others.accuracy[AVERAGE].value:.1%}"

    def tables(self) -> Sequence[RenderableType]:
        """Return the numbers as tables for the terminal."""
        return [f"figures not shown: {self.trouble}"] if self.summary is None else self.summary.tables()


class PairedFigures:
    """The numbers of two runs compared.

    Args:
        ones: Episodes of the first run.
        others: Those of the second.

    Attributes:
        comparison: The numbers; None where the runs cannot be compared.
        trouble: Why not; empty if they can.
    """

    def __init__(self, ones: Sequence[ViewedEpisode], others: Sequence[ViewedEpisode]) -> None:
        self.comparison: Comparison | None = None
        self.trouble = ""
        try:
            self.comparison = compare(map(_counted, ones), map(_counted, others), ("A", "B"))
        except EnvtuneError as error:
            self.trouble = str(error)

    def lines(self) -> Iterator[str]:
        """Yield what there is to say of the difference, in sentences."""
        comparison = self.comparison
        if comparison is None:
            yield f"Not compared: {self.trouble}."
            return
        total = comparison.total
        yield f"{total.pairs:,} episodes are in both: A solved {total.accuracy[0]:.1%}, B {total.accuracy[1]:.1%}."
        yield f"B against A: accuracy {_points(total.difference)}, progress {_points(comparison.progress.difference)}."
        yield f"McNemar's exact test on {total.gained + total.lost:,} verdicts that differ: p = {total.p_value:.2g}."
        for name, (first, second) in comparison.different_settings.items():
            yield f"Not alike: {name.replace('_', ' ')} {first or 'none'} in A, {second or 'none'} in B."

    def tables(self) -> Sequence[RenderableType]:
        """Return the numbers as tables for the terminal."""
        return list(self.lines()) if self.comparison is None else self.comparison.tables()


def _points(interval: Interval) -> str:
    """Return a difference of shares in percentage points, with its interval."""
    return f"{100 * interval.value:+.1f} points (95% interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f})"


def _counted(viewed: ViewedEpisode) -> EvaluatedEpisode:
    """Return the record of an episode with what it lacks taken from the task."""
    update: dict[str, Any] = {"category": viewed.category, "domains": list(viewed.domains)}
    if not viewed.opened.episode.num_turns and viewed.task is not None:
        update["num_turns"] = viewed.task.num_turns
    return viewed.opened.episode.model_copy(update=update)


def _chart(
    identity: str, title: str, rows: Iterable[dict[str, Any]], note: str = "", unit: str = "share"
) -> dict[str, Any]:
    return {"id": identity, "title": title, "unit": unit, "note": note, "rows": list(rows)}


def _headlines(summary: RunSummary) -> Iterator[dict[str, Any]]:
    yield {"label": "Accuracy, mean of categories", **_interval(summary.accuracy[AVERAGE])}
    yield {"label": "Progress, mean of categories", **_interval(summary.progress[AVERAGE])}
    episodes = len(summary.episodes)
    solved = sum(episode.success for episode in summary.episodes)
    yield {"label": "Solved", "unit": "count", "value": solved, "note": f"of {episodes:,} episodes"}
    hinted = sum(episode.hints > 0 for episode in summary.episodes)
    if hinted:
        yield {"label": "Saw hints", "unit": "count", "value": hinted, "note": f"of {episodes:,} episodes"}


def _shares(shares: Mapping[str, Interval], groups: Sequence[Group], kind: str) -> Iterator[dict[str, Any]]:
    for group in groups:
        filters = {"filter": {kind: group.name}}
        yield {"label": group.name, "count": group.episodes, **filters, **_interval(shares[group.name])}


def _groups(groups: Sequence[Group], kind: str = "") -> Iterator[dict[str, Any]]:
    for group in groups:
        filters = {"filter": {kind: group.name}} if kind else {}
        yield {"label": group.name, "count": group.episodes, **filters, **_interval(group.accuracy)}


def _counts(failures: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for name, count in failures.items():
        yield {"label": name, "value": count, "filter": {"failure": name}}


def _attempts(summary: RunSummary) -> Iterator[dict[str, Any]]:
    for k, shares in summary.pass_any.items():
        yield {"label": f"pass@{k}", **_interval(shares[AVERAGE])}
    for k, shares in summary.pass_all.items():
        yield {"label": f"pass^{k}", **_interval(shares[AVERAGE])}


def _interval(interval: Interval) -> dict[str, float]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
