"""Drawing tasks that a learner can learn from: those it solves sometimes, neither always nor never.

A group of rollouts that all succeed or all fail teaches nothing, as every advantage is zero. The sampler keeps the
recent success of each kind of task (first domain, category, shape) and draws those kinds more whose success lies
between two bounds, the learner's zone; as the learner improves, the zone moves on to harder kinds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import Task, TaskSet

__all__ = ["AdaptiveSampler"]


class AdaptiveSampler:
    """Draws tasks from the kinds that lie in a learner's zone.

    Args:
        tasks: The tasks to draw from, endless or not.
        low: Kinds that are solved less often are too hard for now.
        high: Kinds that are solved more often have little left to teach.
        window: Results of a kind that count, the latest ones.
        trials: Results that a kind needs before it is judged; until then it is drawn as if in the zone.
        floor: Weight of a kind far outside the zone, whose members weigh 1; above 0, so that none is lost sight of.

    Raises:
        ConfigurationError: If a number has no meaning.
    """

    def __init__(
        self,
        tasks: TaskSet,
        *,
        low: float = 0.2,
        high: float = 0.8,
        window: int = 32,
        trials: int = 4,
        floor: float = 0.02,
    ) -> None:
        if not 0 <= low < high <= 1 or not 0 < floor <= 1 or not 0 < trials <= window:
            raise ConfigurationError("AdaptiveSampler needs 0 <= low < high <= 1, 0 < floor <= 1, 0 < trials <= window")
        self._tasks = tasks
        self._kinds = tasks.kinds()
        self._low, self._high, self._window, self._trials, self._floor = low, high, window, trials, floor
        self._results: dict[str, deque[float]] = {}

    @property
    def weights(self) -> dict[str, float]:
        """How much each kind is drawn, in relation to the others."""
        return {kind: self._weight(kind) for kind in self._kinds}

    @property
    def success(self) -> dict[str, float]:
        """Recent success of each kind that has been judged."""
        return {kind: sum(results) / len(results) for kind, results in self._results.items() if results}

    def sample(self, rng: np.random.Generator) -> Task:
        """Return a task; its kind is drawn by weight, the task within it uniformly."""
        weights = np.fromiter(map(self._weight, self._kinds), float, len(self._kinds))
        kind = list(self._kinds)[int(rng.choice(len(weights), p=weights / weights.sum()))]
        return self._kinds[kind].sample(rng)

    def record(self, task_id: str, success: float) -> None:
        """Take the outcome of an episode.

        Args:
            task_id: The task that was played; one that the sampler does not know counts nowhere.
            success: 1 if it was solved, 0 if not, or something between.

        Raises:
            ConfigurationError: If the outcome is not in [0, 1].
        """
        if not 0 <= success <= 1:
            raise ConfigurationError(f"success is a number from 0 to 1, not {success!r}")
        kind = self._tasks.kind_of(task_id)
        if kind in self._kinds:
            self._results.setdefault(kind, deque(maxlen=self._window)).append(float(success))

    def state_dict(self) -> dict[str, list[float]]:
        """Return the results that count, as plain data."""
        return {kind: list(results) for kind, results in self._results.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state from `state_dict`.

        Raises:
            ConfigurationError: If the state is broken or of other tasks; nothing changes then.
        """
        try:
            results = {
                kind: deque((float(value) for value in values), maxlen=self._window) for kind, values in state.items()
            }
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(f"not a state of an AdaptiveSampler: {error}") from None
        unknown = [kind for kind in results if kind not in self._kinds]
        if unknown:
            raise ConfigurationError(f"the state is of other tasks: there is no kind {unknown[0]!r}")
        self._results = results

    def _weight(self, kind: str) -> float:
        """Return 1 within the zone and for kinds not judged yet, falling to the floor at never and always."""
        results = self._results.get(kind, ())
        if len(results) < self._trials:
            return 1.0
        mean = sum(results) / len(results)
        if mean < self._low:
            nearness = mean / self._low
        elif mean > self._high:
            nearness = (1 - mean) / (1 - self._high)
        else:
            nearness = 1.0
        return self._floor + (1 - self._floor) * nearness
