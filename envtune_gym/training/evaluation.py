"""What a model can do: tasks played to their ends, with feedback as it is asked for, under the benchmark's limits.

This is how a trained model is tested, and how one is tested that has yet to be trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from transformers import set_seed

from envtune_gym import Task, TaskSet
from envtune_gym.errors import ConfigurationError, DataError, TrainingError
from envtune_gym.evaluation.run_logs import read_evaluations
from envtune_gym.evaluation.runs.episode import new_record
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.feedback import FeedbackLevel
from envtune_gym.integrations.engines import MakeEngine, engine_maker
from envtune_gym.integrations.models import end_token_ids
from envtune_gym.integrations.rollout import EpisodeRequest, Rollout, RolloutConfig, RolloutRecord, play
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.scoring import FORCE_TERMINATED
from envtune_gym.training.environment import make_env
from envtune_gym.training.layers import file_layers, make_settings
from envtune_gym.training.log import SETTINGS_FILE
from envtune_gym.training.processes import Processes
from envtune_gym.training.settings import EvaluationSettings, Settings
from envtune_gym.wrappers import AugmentedFeedbackWrapper

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = [
    "EVALUATION_STEPS_PER_TURN",
    "EvaluationPass",
    "all_steps",
    "evaluate",
    "evaluation_engine",
    "evaluation_passes",
    "play_pass",
    "played_before",
]

EVALUATION_STEPS_PER_TURN = 20
"""The benchmark's limit."""

_ASIDE = {
    *("out", "evaluations", "rollout_batch", "vllm_server"),
    *("report_to", "log_rollouts", "keep_checkpoints", "checkpoint_every"),
}
"""Settings that change no episode of an evaluation, or that each episode holds itself."""


@dataclass(frozen=True)
class EvaluationPass:
    """The tasks of an evaluation, played once under one level of feedback.

    Attributes:
        evaluation: The evaluation.
        feedback: The level of feedback.
        tasks: The tasks of the evaluation.
        run: What the records say of the pass.
    """

    evaluation: EvaluationSettings
    feedback: FeedbackLevel
    tasks: TaskSet
    run: RunSettings

    def requests(self) -> list[tuple[Task, int]]:
        """Return each task with each sample's number."""
        return [(task, sample) for task in self.tasks for sample in range(self.evaluation.samples)]

    def found_in(self, episodes: Sequence[EvaluatedEpisode]) -> list[EvaluatedEpisode]:
        """Return its episodes among some; none if they are not all there."""
        found = [episode for episode in episodes if episode.run == self.run]
        wanted = [new_record(task, sample, self.run) for task, sample in self.requests()]
        return found if list(map(_played, found)) == list(map(_played, wanted)) else []


def evaluation_engine(settings: Settings) -> MakeEngine:
    """Return what makes the engine that the settings name, for evaluations outside of training."""
    dtype = torch.bfloat16 if settings.bf16 else None
    return engine_maker(settings.engine, settings.rollout_batch, dtype, settings.server())


def evaluate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    settings: Settings,
    make_engine: MakeEngine,
    processes: Processes,
    policy: str,
) -> list[EvaluatedEpisode]:
    """Play all evaluations of some settings; each of several processes plays its share, and all have the results.

    Args:
        model: The model, on the device that it is to run on.
        tokenizer: Its tokenizer.
        settings: Evaluations, format, hints and token budgets.
        make_engine: Makes what samples the replies.
        processes: Those that share the work.
        policy: What the records call the model.

    Raises:
        DataError: If the data of a source is missing.
        ConfigurationError: If an evaluation has no task, or tasks without end.
        TrainingError: If the memory does not suffice.
    """
    passes = evaluation_passes(settings, policy)
    return [episode for one in passes for episode in play_pass(one, model, tokenizer, settings, make_engine, processes)]


def play_pass(
    one: EvaluationPass,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    settings: Settings,
    make_engine: MakeEngine,
    processes: Processes,
) -> list[EvaluatedEpisode]:
    """Play one pass of an evaluation as `evaluate` plays them all; what it draws does not hang on those before it.

    Raises:
        TrainingError: If the memory does not suffice.
    """
    template = ChatTemplate(tokenizer, settings.tool_role)
    end_ids = end_token_ids(model, tokenizer)  # those that ended replies in training
    shared = processes.share(one.requests())
    set_seed(settings.seed + processes.index)
    rollouts = [
        Rollout(
            AugmentedFeedbackWrapper(
                make_env(settings, TaskSet([task]), EVALUATION_STEPS_PER_TURN), one.feedback, settings.hints
            ),
            template,
            _limits(settings, one.tasks),
            EpisodeRequest(settings.seed, task.id),
        )
        for task, _ in shared
    ]
    try:
        play(rollouts, make_engine(model, end_ids, one.evaluation.temperature))
    except torch.OutOfMemoryError as error:
        raise TrainingError(
            f"out of memory in the evaluation {one.evaluation.name!r}; sample fewer conversations together "
            f"(rollout_batch, now {settings.rollout_batch}) or shorten them (max_completion_tokens, "
            "max_prompt_tokens); of a trained run --resume plays the evaluations alone"
        ) from error
    played = [
        _episode(rollout.record, one, task, sample) for rollout, (task, sample) in zip(rollouts, shared, strict=True)
    ]
    return processes.joined(played)


def evaluation_passes(settings: Settings, policy: str) -> list[EvaluationPass]:
    """Return all passes of the evaluations of some settings, with their tasks, in the order of playing.

    Args:
        settings: The settings.
        policy: What the records call the model.

    Raises:
        DataError: If the data of a source is missing.
        ConfigurationError: If an evaluation has no task, or tasks without end.
    """
    return [one for evaluation in settings.evaluations for one in _passes(evaluation, settings, policy)]


def played_before(settings: Settings, passes: Sequence[EvaluationPass]) -> list[EvaluatedEpisode]:
    """Return the episodes that a run's directory has, if they were played under these settings.

    Those of passes that are not whole are left out, and those of other evaluations stay. What cannot be read has not
    been played.
    """
    out = Path(settings.out)
    with suppress(ConfigurationError, DataError):
        before = make_settings(file_layers(out / SETTINGS_FILE))
        if before.model_dump(exclude=_ASIDE) == settings.model_dump(exclude=_ASIDE):
            episodes = read_evaluations(out)
            to_play = [one.run for one in passes if not one.found_in(episodes)]
            return [episode for episode in episodes if episode.run not in to_play]
    return []


def all_steps(tasks: TaskSet) -> int:
    """Return the most replies that an episode of some tasks can have under the benchmark's limit."""
    return (EVALUATION_STEPS_PER_TURN + 1) * max(task.num_turns for task in tasks)


def _passes(evaluation: EvaluationSettings, settings: Settings, policy: str) -> list[EvaluationPass]:
    tasks = evaluation.load_tasks()
    return [
        EvaluationPass(
            evaluation,
            feedback,
            tasks,
            RunSettings(
                policy=policy,
                action_format=settings.action_format,
                feedback=feedback,
                hints=settings.hints or "",
                tool_docs=settings.tool_docs,
                max_steps_per_turn=EVALUATION_STEPS_PER_TURN,
                seed=settings.seed,
                options={"evaluation": evaluation.name, "temperature": evaluation.temperature},
            ),
        )
        for feedback in evaluation.feedback
    ]


def _played(episode: EvaluatedEpisode) -> tuple[str, int, str]:
    """Return what was played."""
    return episode.task_id, episode.sample, episode.fingerprint


def _limits(settings: Settings, tasks: TaskSet) -> RolloutConfig:
    return RolloutConfig(
        max_prompt_tokens=settings.max_prompt_tokens,
        max_completion_tokens=settings.max_completion_tokens,
        max_new_tokens=settings.max_new_tokens,
        max_steps=all_steps(tasks),
        tool_role=settings.tool_role,
        batch_size=settings.rollout_batch,
    )


def _episode(record: RolloutRecord, one: EvaluationPass, task: Task, sample: int) -> EvaluatedEpisode:
    played = {
        "turns": record.turns,
        "turns_passed": sum(record.passed),
        "num_steps": record.num_steps,
        "calls": record.calls,
        "errors": record.errors,
        "format_errors": record.format_errors,
        "hints": record.hints,
        "success": record.success,
        "error_type": None if record.success else record.error_type or FORCE_TERMINATED,
        "progress": record.progress,
        "reward": record.reward,
        "truncated_by": record.truncated_by,
        "broken": record.broken,
        "messages": record.messages,
    }
    return new_record(task, sample, one.run).model_copy(update=played)
