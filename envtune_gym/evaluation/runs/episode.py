"""One episode: a policy and an environment talk until it is over, and a record of it is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from envtune_gym.calls.reply import readable
from envtune_gym.callsyntax import MAX_LENGTH
from envtune_gym.errors import EnvtuneError
from envtune_gym.evaluation.runs.policies import AsyncPolicy
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.feedback import HintBook
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.scoring import FORCE_TERMINATED
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.wrappers import AugmentedFeedbackWrapper

__all__ = ["MakeEnv", "end_episode", "enter_step", "env_maker", "new_record", "play_episode"]

MakeEnv = Callable[[], gym.Env[str, str]]

_REASON_LENGTH = 500
_FINGERPRINT_DIGITS = 16


def env_maker(tasks: TaskSet, run: RunSettings) -> MakeEnv:
    """Return what makes the environments of a run, all alike.

    Args:
        tasks: The tasks that they serve.
        run: The settings.

    Raises:
        DataError: If the hints are a file that cannot be read.
    """
    hints: HintBook | str | None = run.hints or None
    if run.hints not in ("", "automatic"):
        hints = HintBook.from_file(run.hints)  # once for all environments

    def make() -> gym.Env[str, str]:
        env: gym.Env[str, str] = gym.make(
            MULTI_DOMAIN_ID,
            tasks=tasks,
            action_format=run.action_format,
            decoder=run.decoder,
            offer=run.offer or None,
            tool_docs=run.tool_docs,
            max_steps_per_turn=run.max_steps_per_turn,
            disable_env_checker=True,
        )
        return env if run.feedback == "off" else AugmentedFeedbackWrapper(env, run.feedback, hints)

    return make


def new_record(task: Task, sample: int, run: RunSettings) -> EvaluatedEpisode:
    """Return the record of an episode that has not begun."""
    return EvaluatedEpisode(
        task_id=task.id,
        sample=sample,
        category=task.category,
        domains=list(task.domains),
        source=f"{task.source} {task.source_version}".strip(),
        fingerprint=task.fingerprint[:_FINGERPRINT_DIGITS],
        num_turns=task.num_turns,
        error_type=FORCE_TERMINATED,
        run=run,
        messages=[],
    )


async def play_episode(
    env: gym.Env[str, str], task: Task, record: EvaluatedEpisode, make_policy: Callable[[], AsyncPolicy]
) -> Exception | None:
    """Play a task to its end and fill in its record; whatever goes wrong is recorded and stops this episode alone.

    Args:
        env: An environment that serves the task and nobody else uses now.
        task: The task.
        record: Its record, as `new_record` makes it.
        make_policy: Makes the policy.

    Returns:
        What broke the episode, or None.
    """
    start = time.perf_counter()
    try:
        await _play(env, task, record, make_policy())
    except Exception as error:  # a policy may be anyone's code, and its failure is this episode's
        record.broken = _reason(error)
        return error
    finally:
        record.seconds = round(time.perf_counter() - start, 3)
    return None


async def _play(env: gym.Env[str, str], task: Task, record: EvaluatedEpisode, policy: AsyncPolicy) -> None:
    _, info = env.reset(options={"task_id": task.id})
    messages, tools = info["messages"], info["tools"]
    terminated = truncated = False
    while not (terminated or truncated):
        reply = await policy.reply(list(messages), tools)
        text = readable(reply.text[: MAX_LENGTH + 1])  # a longer one cannot be read, however long it is
        record.prompt_tokens += reply.prompt_tokens
        record.completion_tokens += reply.completion_tokens
        record.messages.append(text)
        _, reward, terminated, truncated, info = env.step(text)
        messages += info["messages"]
        tools = info.get("tools", tools)
        enter_step(record, float(reward), info)
    end_episode(record, truncated, info)


def end_episode(record: EvaluatedEpisode, truncated: bool, info: Mapping[str, Any]) -> None:
    """Enter the end of an episode into the record."""
    record.truncated_by = "env" if truncated else ""
    record.success = info["success"]
    record.error_type = info.get("error_type")


def enter_step(record: EvaluatedEpisode, reward: float, info: Mapping[str, Any]) -> None:
    """Enter a step's outcome into the record."""
    results, turns = info["tool_results"], info["turn_results"]
    is_unread = "parse_error" in info
    record.num_steps += 1
    record.reward += reward
    record.turns = len(turns)
    record.turns_passed = sum(turn["passed"] for turn in turns)
    record.progress = record.turns_passed / record.num_turns
    record.calls += len(results)
    record.errors += sum(result["error"] is not None for result in results) + is_unread
    record.format_errors += not info["format_ok"] or is_unread
    if is_unread:
        record.hints += info["messages"][1]["content"] != info["parse_error"]
    else:
        record.hints += sum(result.get("official", result["content"]) != result["content"] for result in results)


def _reason(error: Exception) -> str:
    """Return what broke an episode, on one line."""
    text = str(error) if isinstance(error, EnvtuneError) else f"{type(error).__name__}: {error}"
    return readable(" ".join(text.split()))[:_REASON_LENGTH]
