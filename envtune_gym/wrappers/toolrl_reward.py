"""`ToolRLRewardWrapper`: pays for calls that look like the ground truth's, whatever they do to the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envtune_gym.callsyntax import parse_call
from envtune_gym.tasks import Task
from envtune_gym.world import name_arguments
from envtune_gym.wrappers.base import RewardWrapper

__all__ = ["ToolRLRewardWrapper", "call_match"]

_SCALE = 6.0
"""From the worst match of a turn to the best: R_correct runs from -3 to 3."""

_Made = tuple[str, Mapping[str, Any]]
"""A call: the tool's name and the arguments by name."""


class ToolRLRewardWrapper(RewardWrapper):
    """Replaces the reward by R_format + R_correct + 3 of ToolRL (arXiv 2504.13958, section 3.3), in [0, 7].

    ToolRL rewards single replies; over an episode of turns that is taken to mean:

    * R_format is 1 if every step keeps the letter of the format, else 0; paid in the last step.
    * R_correct = 6 · `call_match` - 3, the mean over the turns that have ground truth, each paid when it ends.
    * The constant 3 leaves the advantages within a group as they are. It is added since an episode that is cut off is
      paid nothing for what it misses, which must not be more than the least that it could have got.

    Args:
        env: The environment to wrap.

    Raises:
        ConfigurationError: If there is no EnvTune environment inside.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import ToolRLRewardWrapper
        >>> env = ToolRLRewardWrapper(gym.make("EnvTune/MathAPI-v0"))
        >>> _ = env.reset(seed=0)
        >>> env.step("<answer>I have done nothing.</answer>")[1]
        0.0
    """

    def _forget(self) -> None:
        self._calls: list[_Made] = []
        self._closed = 0
        self._is_well_formed = True

    def _pay(self, info: dict[str, Any], is_last: bool) -> float:
        episode = self.unwrapped.episode
        self._calls += [(result.name, result.arguments) for result in episode.results]
        self._is_well_formed = self._is_well_formed and bool(info["format_ok"]) and "parse_error" not in info
        parts: dict[str, float] = {}
        if len(episode.scorer.turns) > self._closed:
            truths = episode.task.ground_truth
            if truths[self._closed]:
                match = call_match(self._calls, _truth(episode.task, self._closed))
                parts["correct"] = _SCALE * match / sum(map(bool, truths))  # with the constant: R_correct + 3
            self._closed, self._calls = len(episode.scorer.turns), []
        if is_last:
            parts["format"] = float(self._is_well_formed)
        if parts:
            info["reward_parts"] = parts
        return sum(parts.values(), 0.0)


def call_match(made: Sequence[_Made], truth: Sequence[_Made]) -> float:
    """Return how much some calls are like those of the ground truth: R / S of ToolRL, in [0, 1].

    R = r_name + the sum over the ground truth's calls of r_param + r_value. r_name is the intersection of the tools'
    names over their union, with multiplicities; a call of the ground truth is compared with the call of the same tool,
    used once, that is most like it: r_param is the intersection over the union of the arguments' names, r_value the
    number of arguments with equal values. S = 1 + the sum of 1 + the number of arguments: the most that R can be.

    Args:
        made: The calls to judge.
        truth: The calls of the ground truth, at least one.
    """
    score = _overlap((name for name, _ in made), (name for name, _ in truth))
    left = list(made)
    for name, arguments in truth:
        likeness = [(_likeness(given, arguments), place) for place, (tool, given) in enumerate(left) if tool == name]
        if likeness:
            best, place = max(likeness, key=lambda one: (one[0], -one[1]))
            score += best
            del left[place]
    return score / (1 + sum(1 + len(arguments) for _, arguments in truth))


def _likeness(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> float:
    equal = sum(1 for name, value in wanted.items() if name in given and given[name] == value)
    return _overlap(given, wanted) + equal


def _overlap(some: Iterable[str], others: Iterable[str]) -> float:
    """Return intersection over union, with multiplicities; 1 where there is nothing on either side."""
    left, right = Counter(iter(some)), Counter(iter(others))  # a mapping would be taken for counts
    union = (left | right).total()
    return (left & right).total() / union if union else 1.0


def _truth(task: Task, turn: int) -> list[_Made]:
    """Return the ground truth's calls of a turn with their arguments by name."""
    calls = (name_arguments(parse_call(text), task.domains) for text in task.ground_truth[turn])
    return [(call.name, call.kwargs) for call in calls]
