"""`CurriculumWrapper`: tasks, feedback and reward by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from envtune_gym.adaptive import AdaptiveSampler
from envtune_gym.curriculum import PAPER_STAGES, AdvanceRule, Metrics, Reward, Stage, stage_categories, stage_tasks
from envtune_gym.domains.base import copy_plain
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import HintBook
from envtune_gym.tasks import TaskSet
from envtune_gym.wrappers.augmented_feedback import AugmentedFeedbackWrapper
from envtune_gym.wrappers.base import EnvtuneWrapper
from envtune_gym.wrappers.direct_reward import DirectRewardWrapper
from envtune_gym.wrappers.format_reward import FormatRewardWrapper
from envtune_gym.wrappers.progress_reward import ProgressRewardWrapper
from envtune_gym.wrappers.toolrl_reward import ToolRLRewardWrapper

__all__ = ["CurriculumWrapper"]


class CurriculumWrapper(EnvtuneWrapper):
    """Picks tasks, feedback and reward by stage, and moves on from stage to stage.

    A stage's tasks are those of the environment that it asks for; its feedback and reward are those of
    `AugmentedFeedbackWrapper`, `FormatRewardWrapper` and `ProgressRewardWrapper`. `advance` goes on to the next stage;
    `record` takes the trainer's metrics and goes on when the rule says so. A stage with `sampling="adaptive"` draws
    more of those kinds of tasks that are solved sometimes: episodes played here count by themselves, those played
    elsewhere are told by `record_episode`. Whatever changes, changes at the next
    `reset`: an episode ends in the stage that it began in. `info["stage"]` is the name of that stage.

    `reset(seed=...)` seeds the draw of tasks, and the option `task_id` plays that task, of the stage or not.

    Args:
        env: The environment to wrap; it serves the tasks of all stages.
        stages: The stages in order, each a `Stage` or the same as plain data.
        rule: When `record` advances: an `AdvanceRule`, its fields as a mapping, or None for its defaults.
        hints: As in `AugmentedFeedbackWrapper`.

    Raises:
        ConfigurationError: If there is no stage, a stage finds no task, there is no EnvTune environment inside, or
            another wrapper that gives feedback.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import CurriculumWrapper
        >>> env = CurriculumWrapper(gym.make("EnvTune/MultiDomain-v0"))
        >>> env.reset(seed=0)[1]["stage"]
        'format'
        >>> env.advance()
        >>> env.reset()[1]["stage"]
        'base'
    """

    gives_feedback = True

    def __init__(
        self,
        env: gym.Env[str, str],
        stages: Sequence[Stage | Mapping[str, Any]] = PAPER_STAGES,
        rule: AdvanceRule | Mapping[str, Any] | None = None,
        hints: HintBook | Mapping[str, Any] | str | None = None,
    ) -> None:
        if isinstance(stages, (str, Mapping)) or not isinstance(stages, Sequence):
            raise ConfigurationError(f"stages are a list of Stage, not {stages!r}")
        self.stages = tuple(stage if isinstance(stage, Stage) else Stage.from_dict(stage) for stage in stages)
        self.rule = rule if isinstance(rule, AdvanceRule) else AdvanceRule.from_dict(rule or {})
        super().__init__(
            env,
            stages=[stage.to_dict() for stage in self.stages],
            rule=self.rule.to_dict(),
            hints=hints.to_dict() if isinstance(hints, HintBook) else hints,
        )
        if not self.stages:
            raise ConfigurationError("a curriculum needs at least one stage")
        for stage in self.stages:
            stage_categories(self.unwrapped.tasks, stage)
        self._hints = hints
        self._index = 0
        self._history: list[Metrics] = []
        self._rng = np.random.default_rng()
        self._sampler = self._new_sampler()
        self._enter()

    @property
    def stage(self) -> Stage:
        """The stage that the next episode begins in."""
        return self.stages[self._index]

    @property
    def stage_index(self) -> int:
        """Its place among the stages, from 0."""
        return self._index

    @property
    def history(self) -> tuple[Metrics, ...]:
        """What has been recorded since the stage began."""
        return tuple(self._history)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode of the stage; its task is drawn unless `options` names one."""
        if self.stage is not self._entered:
            self._enter()
        if seed is not None:
            self._rng, _ = seeding.np_random(seed)
        options = dict(options or {})
        if options.get("task_id") is None:
            options["task_id"] = (self._sampler or self._tasks).sample(self._rng).id
        observation, info = self._layers.reset(seed=seed, options=options)
        return observation, {**info, "stage": self._entered.name}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step under the feedback and the reward of the stage that the episode began in."""
        observation, reward, terminated, truncated, info = self._layers.step(action)
        if terminated or truncated:
            success = bool(info.get("success"))  # where a limit around the environment ended it, there is none
            self.record_episode(self.unwrapped.episode.task.id, success)
        return observation, float(reward), terminated, truncated, {**info, "stage": self._entered.name}

    def advance(self) -> None:
        """Go on to the next stage at the next reset; in the last stage nothing happens."""
        if self._index + 1 < len(self.stages):
            self._index += 1
            self._history = []
            self._sampler = self._new_sampler()

    def record(self, *, accuracy: float | None = None, grad_norm: float | None = None) -> bool:
        """Take the trainer's metrics, and advance if a new validation shows that the stage has done its work.

        Args:
            accuracy: Share of validation tasks solved, if there was a validation.
            grad_norm: Norm of the gradient before clipping, if there was an update; need not be finite.

        Returns:
            Whether the next episode begins in another stage.

        Raises:
            ConfigurationError: If the accuracy is not in [0, 1], or the norm is negative.
        """
        if not isinstance(accuracy, (int, float, type(None))) or not isinstance(grad_norm, (int, float, type(None))):
            raise ConfigurationError(f"metrics are numbers, not {accuracy!r} and {grad_norm!r}")
        if accuracy is not None and not 0 <= accuracy <= 1:
            raise ConfigurationError(f"accuracy is a share of tasks, from 0 to 1, not {accuracy!r}")
        if grad_norm is not None and grad_norm < 0:
            raise ConfigurationError(f"grad_norm cannot be negative, and is {grad_norm!r}")
        self._history.append(Metrics(accuracy, grad_norm))
        is_last = self._index + 1 == len(self.stages)
        if accuracy is None or is_last or not self.rule.should_advance(self._history):
            return False
        self.advance()
        return True

    def record_episode(self, task_id: str, success: float) -> None:
        """Take the outcome of an episode, which a stage with adaptive sampling draws by; other stages need none.

        Args:
            task_id: The task that was played.
            success: From 0 to 1.

        Raises:
            ConfigurationError: If the outcome is not in [0, 1].
        """
        if self._sampler is not None:
            self._sampler.record(task_id, success)

    def state_dict(self) -> dict[str, Any]:
        """Return the stage, its history and the state of the draw of tasks, as plain data."""
        return {
            "stages": [stage.name for stage in self.stages],
            "stage": self._index,
            "history": [list(metrics) for metrics in self._history],
            "rng": copy_plain(self._rng.bit_generator.state),
            "sampler": None if self._sampler is None else self._sampler.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state from `state_dict`: from the next reset on, the same tasks follow in the same stages.

        Raises:
            ConfigurationError: If the state is of another curriculum, or broken; nothing changes then.
        """
        names = [stage.name for stage in self.stages]
        if not isinstance(state, Mapping):
            raise ConfigurationError(f"not a state of a CurriculumWrapper: {state!r}")
        if state.get("stages") != names:
            raise ConfigurationError(f"the state is of the stages {state.get('stages')}, this curriculum has {names}")
        # Hundreds of environments follow one before each batch, and to make a generator takes most of the time.
        generator = self._rng.bit_generator
        before, drawn = self._index, generator.state
        try:
            index = state["stage"]
            if type(index) is not int or not 0 <= index < len(names):
                raise ValueError(f"stage {index!r}")
            history = [Metrics(*(None if x is None else float(x) for x in metrics)) for metrics in state["history"]]
            generator.state = state["rng"]
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(f"not a state of a CurriculumWrapper: {error!r}") from None
        self._index = index
        try:
            sampler = self._new_sampler() if index != before else self._sampler
            if sampler is not None:
                sampler.load_state_dict(state.get("sampler") or {})
        except ConfigurationError:
            self._index, generator.state = before, drawn
            raise
        self._history, self._sampler = history, sampler

    def _new_sampler(self) -> AdaptiveSampler | None:
        """Return what draws the tasks of the present stage, if it is not each as likely as the other."""
        if self.stage.sampling == "uniform":
            return None
        return AdaptiveSampler(stage_tasks(self.unwrapped.tasks, self.stage))

    def _enter(self) -> None:
        """Take the tasks, the feedback and the reward of the present stage."""
        stage = self._entered = self.stage
        self._tasks: TaskSet = stage_tasks(self.unwrapped.tasks, stage)
        feedback = AugmentedFeedbackWrapper(self.env, stage.feedback, self._hints)
        self._layers: gym.Env[str, str] = _with_reward(feedback, stage.reward)


_REWARDS: dict[Reward, Callable[[gym.Env[str, str]], gym.Env[str, str]] | None] = {
    "format": FormatRewardWrapper,
    "progress": ProgressRewardWrapper,
    "earned": partial(ProgressRewardWrapper, earned=True),
    "verdict": None,
    "direct": DirectRewardWrapper,
    "toolrl": ToolRLRewardWrapper,
}


def _with_reward(env: gym.Env[str, str], reward: Reward) -> gym.Env[str, str]:
    wrapper = _REWARDS[reward]
    return env if wrapper is None else wrapper(env)
