"""What a run leaves of an episode: a line of JSON that can be read, counted, played again and looked at by itself.

A line holds the assistant's messages, not what the environment said: that comes from playing them again, which is
deterministic. The settings stand in each line, so that files can be cut, joined and filtered with ordinary tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from envtune_gym.calls import ActionFormat, Decoder, DocStyle
from envtune_gym.feedback import FeedbackLevel

__all__ = ["EvaluatedEpisode", "RunSettings", "write_episodes"]


class RunSettings(BaseModel):
    """What all episodes of a run have in common.

    Attributes:
        policy: Who plays, as the command line names it, such as `oracle` or `server:NAME`.
        action_format: How the messages write calls.
        decoder: Which decoder read them.
        feedback: Level of feedback.
        hints: The hints: empty for the package's own, `automatic`, or a hint book's path.
        offer: What happened to withheld and excluded tools; empty: by each task's source.
        tool_docs: How tools are documented in the environment's prompt.
        max_steps_per_turn: The limit of steps in a turn.
        seed: Seed of the run.
        options: What else the policy was given, such as sampling parameters; plain data.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: str
    action_format: ActionFormat = "tool_call"
    decoder: Decoder = "correct"
    feedback: FeedbackLevel = "off"
    hints: str = ""
    offer: Literal["", "official", "strict"] = ""
    tool_docs: DocStyle = "full"
    max_steps_per_turn: int = 20
    seed: int = 0
    options: dict[str, Any] = Field(default_factory=dict)


class EvaluatedEpisode(BaseModel):
    """One finished episode.

    Attributes:
        task_id: The task.
        sample: Which of several episodes of this task.
        category: The task's category.
        domains: Its domains.
        source: Its source and the source's version, such as `bfcl 2026.3.23`.
        fingerprint: The task's content, as the first 16 digits of its fingerprint; empty if it was not recorded.
        num_turns: Its user turns.
        turns: Turns that were finished.
        turns_passed: Of them those that passed.
        num_steps: Assistant messages.
        calls: Calls that ran.
        errors: Calls that failed, and messages that could not be read.
        format_errors: Messages that broke the letter of the format.
        hints: Texts that feedback augmented.
        success: The benchmark's verdict.
        error_type: The benchmark's name of what failed first, or None.
        progress: Passed turns divided by all turns of the task.
        reward: Sum of the rewards.
        truncated_by: What cut the episode off: `env`, `steps`, `tokens`, or empty.
        broken: Why the policy or the environment could not go on (a server that gave no answer, say), or empty. Such
            an episode counts as a failure.
        prompt_tokens: Tokens that the policy read, as far as it tells.
        completion_tokens: Tokens that it wrote, likewise.
        seconds: How long the episode took; the one field that differs between equal runs.
        run: The settings of the run.
        messages: The assistant messages as the environment was sent them.
    """

    model_config = ConfigDict(extra="ignore")

    task_id: str
    sample: int = Field(default=0, ge=0)
    category: str = ""
    domains: list[str] = Field(default_factory=list)
    source: str = ""
    fingerprint: str = ""
    num_turns: int = 0
    turns: int = 0
    turns_passed: int = 0
    num_steps: int = 0
    calls: int = 0
    errors: int = 0
    format_errors: int = 0
    hints: int = 0
    success: bool = False
    error_type: str | None = None
    progress: float = Field(default=0.0, ge=0, le=1)
    reward: float = Field(default=0.0, allow_inf_nan=False)
    truncated_by: Literal["", "env", "steps", "tokens"] = ""
    broken: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = Field(default=0.0, allow_inf_nan=False)
    run: RunSettings
    messages: list[str]


def write_episodes(episodes: Iterable[EvaluatedEpisode], file: Path, *, append: bool = False) -> None:
    """Write episodes to a file, one a line, in place of what it held, or behind it."""
    with file.open("a" if append else "w", encoding="utf-8") as stream:
        stream.writelines(episode.model_dump_json() + "\n" for episode in episodes)
