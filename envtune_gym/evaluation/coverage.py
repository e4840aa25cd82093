"""How far hints reach: a corpus of failing calls, played at every level, and what is said of each failure.

A failure counts as explained by a rule for its own cause if the rule is about its code and the text names what is at
fault: the argument or its value where the error is about one, else the state that the rule describes. The one rule
that describes none counts as generic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import gymnasium as gym

from envtune_gym.calls import ActionFormat
from envtune_gym.domains.base import ToolError
from envtune_gym.env import EnvtuneEnv, Episode
from envtune_gym.evaluation.corpus import BrokenEpisode, broken_episode
from envtune_gym.feedback.book import GENERAL, Hint, HintBook, default_book
from envtune_gym.feedback.causes import parse_cause
from envtune_gym.feedback.general import FALLBACK
from envtune_gym.feedback.leaks import LeakGuard
from envtune_gym.feedback.levels import LEVELS
from envtune_gym.feedback.render import explain_step, step_errors, text_of
from envtune_gym.feedback.rules import shown
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["CauseCount", "Coverage", "measure_coverage"]

_STEPS = 1000


@dataclass(slots=True)
class CauseCount:
    """The failures of one cause.

    Attributes:
        domain: The domain of the tool; `general` if there is no such tool, or no call at all.
        cause: The error's code.
        failures: How many there were.
        own: How many were explained by a rule for this cause that names what is at fault.
        generic: How many got the rule that describes no cause.
        leaks: How many hints gave something away.
    """

    domain: str
    cause: str
    failures: int = 0
    own: int = 0
    generic: int = 0
    leaks: int = 0

    @property
    def unexplained(self) -> int:
        """Failures without any hint, or with one that does not name what is at fault."""
        return self.failures - self.own - self.generic


@dataclass
class Coverage:
    """What was found on a corpus.

    Attributes:
        episodes: Number of episodes.
        steps: Number of steps of all episodes together.
        off_differences: Steps in which level `off` returned anything else than the environment without the wrapper.
        score_differences: Episodes of which rewards, turn results or success depend on the level.
        leaked: Some of the hints that gave something away.
        missed: Some of the failures that no rule of their own explains.
    """

    episodes: int = 0
    steps: int = 0
    off_differences: int = 0
    score_differences: int = 0
    leaked: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    _counts: dict[tuple[str, str], CauseCount] = field(default_factory=dict)

    @property
    def causes(self) -> list[CauseCount]:
        """The counts by domain and cause, in the order of their names."""
        return [self._counts[key] for key in sorted(self._counts)]

    @property
    def total(self) -> CauseCount:
        """All causes together."""
        return _sum("all", "all", self._counts.values())

    @property
    def domains(self) -> list[CauseCount]:
        """The counts by domain."""
        names = sorted({count.domain for count in self.causes})
        return [_sum(name, "all", (count for count in self.causes if count.domain == name)) for name in names]

    def count(self, domain: str, cause: str) -> CauseCount:
        """Return the count of a cause, to add to."""
        return self._counts.setdefault((domain, cause), CauseCount(domain, cause))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "episodes": self.episodes,
            "steps": self.steps,
            "off_differences": self.off_differences,
            "score_differences": self.score_differences,
            "total": asdict(self.total),
            "causes": [asdict(count) for count in self.causes],
        }


def measure_coverage(
    tasks: Sequence[Task],
    seed: int = 0,
    *,
    book: HintBook | None = None,
    on_episode: Callable[[], object] = lambda: None,
) -> Coverage:
    """Play the broken episodes of some tasks and count what hints explain.

    Withheld and excluded tools fail (`offer="strict"`), as they do in training.

    Args:
        tasks: The tasks.
        seed: Seed of the corpus.
        book: The rules; those that are installed by default.
        on_episode: Called after each episode.
    """
    coverage = Coverage()
    book = book or default_book()
    stages: dict[ActionFormat, _Stage] = {}
    for index, task in enumerate(tasks):
        episode = broken_episode(task, index, seed)
        if episode.action_format not in stages:
            stages[episode.action_format] = _Stage(TaskSet(tasks), episode.action_format, book)
        stages[episode.action_format].play(episode, coverage)
        on_episode()
    return coverage


class _Stage:
    """The environments that an episode is played in: one for each level, and one without feedback."""

    def __init__(self, tasks: TaskSet, action_format: ActionFormat, book: HintBook) -> None:
        def make() -> gym.Env[str, str]:
            env: gym.Env[str, str] = gym.make(
                MULTI_DOMAIN_ID,
                tasks=tasks,
                action_format=action_format,
                offer="strict",
                max_steps_per_turn=_STEPS,
                disable_env_checker=True,
            )
            return env

        self._book = book
        self._plain = make()
        self._levels = {level: AugmentedFeedbackWrapper(make(), level, book) for level in LEVELS}

    def play(self, broken: BrokenEpisode, coverage: Coverage) -> None:
        """Play an episode at all levels at once."""
        options = {"task_id": broken.task.id}
        _, info = self._plain.reset(options=options)
        for env in self._levels.values():
            env.reset(options=options)
        guard = LeakGuard()
        guard.begin(info)
        same_scores = True
        for action in broken.actions:
            step = self._plain.step(action)
            steps = {level: env.step(action) for level, env in self._levels.items()}
            off = steps["off"]
            off[-1].pop("feedback")
            coverage.off_differences += off != step
            same_scores &= all(_score(other) == _score(step) for other in steps.values())
            coverage.steps += 1
            _judge(cast(EnvtuneEnv, self._plain.unwrapped).episode, step[-1], self._book, guard, coverage)
        coverage.episodes += 1
        coverage.score_differences += not same_scores


def _judge(episode: Episode, info: dict[str, Any], book: HintBook, guard: LeakGuard, coverage: Coverage) -> None:
    """Count the failures of a step and what would be said of them at level `actionable`."""
    hints = explain_step(episode, book, "actionable")
    for found, hint in zip(_failures(episode), hints, strict=True):
        if found is None:
            continue
        domain, error = found
        count = coverage.count(domain or GENERAL, error.code)
        count.failures += 1
        if hint is not None and hint.rule is FALLBACK:
            count.generic += 1
        elif hint is not None and _names_cause(hint):
            count.own += 1
        else:
            coverage.missed.append(f"{error}: {hint and hint.text}")
    kept, dropped = guard.checked([text_of(hint) for hint in hints], episode, info)
    if dropped:
        for hint, text in zip(hints, kept, strict=True):
            if hint is not None and text is None:
                coverage.leaked.append(hint.text)
                coverage.count(_domain_of(hint, episode), hint.error.code).leaks += 1


def _failures(episode: Episode) -> list[tuple[str | None, ToolError] | None]:
    if episode.reply is not None and episode.reply.error is not None:
        return [(None, parse_cause(episode.reply.error))]
    return step_errors(episode)


def _domain_of(hint: Hint, episode: Episode) -> str:
    found = (one for one in _failures(episode) if one is not None and one[1] == hint.error)
    return next(found, (None, hint.error))[0] or GENERAL


def _names_cause(hint: Hint) -> bool:
    """Tell whether a hint is about the code of its error and names what is at fault."""
    error = hint.error
    if hint.rule.code != error.code:
        return False
    return error.argument is None or shown(error.argument) in hint.text or shown(error.value) in hint.text


def _score(step: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*step[1:4], step[4]["turn_results"], step[4].get("success"))


def _sum(domain: str, cause: str, counts: Iterable[CauseCount]) -> CauseCount:
    total = CauseCount(domain, cause)
    for count in counts:
        total.failures += count.failures
        total.own += count.own
        total.generic += count.generic
        total.leaks += count.leaks
    return total
