"""Episodes counted up: by category, by domain, and all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from envtune_gym.domains import domain_names
from envtune_gym.tasks import CATEGORIES

__all__ = ["EpisodeRecord", "Summary", "summarize", "summarize_by_category", "summarize_by_domain"]


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One played task.

    Attributes:
        task_id: The task.
        category: Its category.
        domains: Its domains.
        num_turns: Its user turns.
        turns: Turns that were finished.
        num_steps: Number of assistant messages.
        calls: Calls that ran, nested ones not counted.
        errors: Calls that failed, and messages that could not be read.
        success: The benchmark's verdict.
        error_type: The benchmark's name of what failed first, or None.
        progress: Passed turns divided by all turns of the task.
        offer: What happened to withheld and excluded tools.
        messages: The assistant messages.
    """

    task_id: str
    category: str
    domains: tuple[str, ...]
    num_turns: int
    turns: int
    num_steps: int
    calls: int
    errors: int
    success: bool
    error_type: str | None
    progress: float
    offer: str
    messages: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Summary:
    """What some episodes come to.

    Attributes:
        name: What they have in common.
        tasks: Number of episodes.
        turns: Turns finished in them.
        calls: Calls run in them.
        success: Share of them that the benchmark calls valid.
        progress: Mean of their progress.
    """

    name: str
    tasks: int
    turns: int
    calls: int
    success: float
    progress: float

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return asdict(self)


def summarize(name: str, episodes: Sequence[EpisodeRecord]) -> Summary:
    """Count up at least one episode."""
    number = len(episodes)
    return Summary(
        name=name,
        tasks=number,
        turns=sum(episode.turns for episode in episodes),
        calls=sum(episode.calls for episode in episodes),
        success=sum(episode.success for episode in episodes) / number,
        progress=sum(episode.progress for episode in episodes) / number,
    )


def summarize_by_category(episodes: Iterable[EpisodeRecord]) -> list[Summary]:
    """Count up each category that occurs."""
    return _summarize_groups(((episode.category, episode) for episode in episodes), CATEGORIES)


def summarize_by_domain(episodes: Iterable[EpisodeRecord]) -> list[Summary]:
    """Count up each domain that occurs; an episode counts in every domain that its task involves."""
    pairs = ((domain, episode) for episode in episodes for domain in episode.domains)
    return _summarize_groups(pairs, domain_names())


def _summarize_groups(pairs: Iterable[tuple[str, EpisodeRecord]], order: Sequence[str]) -> list[Summary]:
    groups: dict[str, list[EpisodeRecord]] = {name: [] for name in order}
    for name, episode in pairs:
        groups.setdefault(name, []).append(episode)
    return [summarize(name, members) for name, members in groups.items() if members]
