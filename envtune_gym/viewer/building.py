"""From runs to a page: what is shown at once, what when an episode is opened, and which episodes stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.viewer.details import ViewedEpisode, detail, line
from envtune_gym.viewer.figures import Figures, PairedFigures
from envtune_gym.viewer.opening import OpenedRun, settings_as_text
from envtune_gym.viewer.page import render_page
from envtune_gym.viewer.strings import Strings

__all__ = ["ViewedRun", "build_page", "notes_on", "paired_rows"]

_CHANGES = ("lost", "gained", "both failed", "both solved", "alone")
_LISTED = 6
"""Settings that a note lists."""


@dataclass(frozen=True)
class ViewedRun:
    """A run with its episodes played again.

    Attributes:
        opened: The file.
        episodes: The episodes that are shown, in its order.
    """

    opened: OpenedRun
    episodes: Sequence[ViewedEpisode]

    @cached_property
    def figures(self) -> Figures:
        """The numbers of the episodes."""
        return Figures(self.episodes)


def build_page(runs: Sequence[ViewedRun]) -> str:
    """Return the page of one run, or of two side by side."""
    strings = Strings(sum(len(run.episodes) for run in runs))
    title = " against ".join(run.opened.name for run in runs)
    index = {
        "runs": [_run(run) for run in runs],
        "notes": list(notes_on(runs)),
        "comparison": {"lines": list(PairedFigures(runs[0].episodes, runs[1].episodes).lines())}
        if len(runs) > 1
        else None,
        "episodes": [[line(episode) for episode in run.episodes] for run in runs],
        "rows": paired_rows(*(run.episodes for run in runs)),
    }
    details = {"episodes": [[_detail(episode, strings) for episode in run.episodes] for run in runs]}
    return render_page(title, index, {**details, "strings": strings.kept})


def paired_rows(ones: Sequence[ViewedEpisode], others: Sequence[ViewedEpisode] | None = None) -> list[list[int | None]]:
    """Return the rows of the list: the places of the episodes that stand side by side, None where a run has none.

    Of two runs, those come first whose verdicts differ: what the first run alone solved, then what the second did.
    """
    if others is None:
        return [[place] for place in range(len(ones))]
    theirs = {episode.opened.key: place for place, episode in enumerate(others)}
    ours = {episode.opened.key for episode in ones}
    rows: list[list[int | None]] = [[place, theirs.get(one.opened.key)] for place, one in enumerate(ones)]
    rows += [[None, place] for place, other in enumerate(others) if other.opened.key not in ours]

    def rank(row: list[int | None]) -> int:
        place, other = row
        if place is None or other is None:
            return _CHANGES.index("alone")
        before, after = ones[place].opened.episode.success, others[other].opened.episode.success
        if before == after:
            return _CHANGES.index("both solved" if before else "both failed")
        return _CHANGES.index("lost" if before else "gained")

    return sorted(rows, key=rank)


def _detail(episode: ViewedEpisode, strings: Strings) -> dict[str, Any]:
    strings.begin_episode()
    return detail(episode, strings.number)


def _run(run: ViewedRun) -> dict[str, Any]:
    episodes = [one.opened.episode for one in run.episodes]
    return {
        "name": run.opened.name,
        "settings": [*_settings(one.run for one in episodes), *_sources(run), *run.figures.settings()],
        "figures": run.figures.to_dict(),
    }


def _settings(all_settings: Iterable[RunSettings]) -> Iterable[tuple[str, str]]:
    """Yield the settings of a run; where its episodes differ in one, every value that occurs."""
    found: dict[str, dict[str, None]] = {}
    for settings in all_settings:
        for name, text in settings_as_text(settings).items():
            found.setdefault(name, {})[text] = None
    for name, values in found.items():
        yield name, ", ".join(values)


def _sources(run: ViewedRun) -> Iterable[tuple[str, str]]:
    sources = dict.fromkeys(one.opened.episode.source for one in run.episodes)
    if any(sources):
        yield "tasks", ", ".join(filter(None, sources))
    yield "file", str(run.opened.path)


def notes_on(runs: Sequence[ViewedRun]) -> Iterator[str]:
    """Yield what must be known before the figures of runs are believed."""
    for run in runs:
        name, shown, everything = run.opened.name, len(run.episodes), len(run.opened.episodes)
        if shown < everything:
            yield f"{name}: {shown:,} of its {everything:,} episodes are shown, and the figures are of these."
        under = dict.fromkeys(one.opened.extras.get("under", "") for one in run.episodes)
        if len(under) > 1:
            yield f"{name}: the figures mix episodes that were played under different settings: {_listed(under)}."
        if run.figures.trouble:
            yield f"{name}: no figures, for {run.figures.trouble}."
        unplayed = [episode for episode in run.episodes if episode.playback is None]
        if unplayed:
            yield (
                f"{name}: {len(unplayed):,} of the episodes could not be played again, and have messages only "
                f"({unplayed[0].notes[0]}); --tasks says where tasks are."
            )


def _listed(texts: Iterable[str]) -> str:
    every = list(texts)
    more = f"; and {len(every) - _LISTED:,} more" if len(every) > _LISTED else ""
    return "; ".join(every[:_LISTED]) + more
