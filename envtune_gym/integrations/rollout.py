"""Many episodes at once: replies are sampled for all that wait, and each goes on at its own turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Literal, Protocol, cast, runtime_checkable

import gymnasium as gym

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.engine import Continuation, Engine, Generated
from envtune_gym.integrations.tokens import ChatTemplate, Conversation, Message, ToolRole

__all__ = [
    "AsynchronousEnv",
    "EpisodeRequest",
    "MakeEnv",
    "Rollout",
    "RolloutConfig",
    "RolloutRecord",
    "TruncatedBy",
    "play",
]

logger = logging.getLogger(__name__)

MakeEnv = Callable[[], gym.Env[str, str]]
TruncatedBy = Literal["", "env", "steps", "tokens"]

Work = Callable[[], None]

_LARGEST_REWARD = 1e30
"""Beyond it the trainer's float32 overflows; not a number is not below it either."""


@dataclass(frozen=True)
class RolloutConfig:
    """The limits of an episode and how it is sampled."""

    max_prompt_tokens: int = 4096
    """Longest first prompt (tool documentation included); an episode with a longer one is not played."""
    max_completion_tokens: int = 2048
    """Most tokens after the first prompt, the environment's included; then the episode is cut (`"tokens"`)."""
    max_new_tokens: int = 256
    """Most tokens of one reply; a reply cut here goes to the environment as it is."""
    max_steps: int = 20
    """Most replies of an episode; then it is cut (`"steps"`)."""
    tool_role: ToolRole = "auto"
    """How tool results are shown: `"tool"` messages, a `"user"` message, or as the chat template suggests."""
    batch_size: int = 64
    """Conversations for which replies are sampled together."""

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ConfigurationError: If a limit is not positive.
        """
        for name, value in asdict(self).items():
            if name != "tool_role" and value < 1:
                raise ConfigurationError(f"{name} must be at least 1, not {value!r}")


@dataclass(frozen=True)
class EpisodeRequest:
    """Which episode to play; equal requests start alike.

    Attributes:
        seed: Seed of the environment's reset.
        task_id: The task; None lets the environment draw one by the seed.
    """

    seed: int
    task_id: str | None = None


@dataclass
class RolloutRecord:
    """What became of an episode; plain data.

    Attributes:
        task_id: The task that was played.
        category: Its category.
        domains: Its domains.
        seed: The seed of the reset.
        reward: Sum of the episode's rewards; 0.0 if it broke.
        reward_parts: The terms of which it is the sum, as far as the reward tells them apart.
        success: Whether the benchmark's verdict was valid.
        error_type: The benchmark's name of what failed first; None if nothing did or the episode was cut off.
        progress: Passed turns divided by the turns of the task.
        turns: Number of finished turns.
        num_turns: Number of turns of the task.
        passed: Of each finished turn, whether it passed.
        num_steps: Number of replies.
        format_errors: Number of replies that broke the letter of the format, understood or not.
        calls: Number of tool calls that ran.
        errors: Number of calls that failed, and of replies that could not be read.
        hints: Number of texts that the feedback wrapper augmented: of results, and of replies that could not be read.
        feedback: Level of feedback (`"off"` also where no wrapper gives any).
        stage: The curriculum's stage; empty without one.
        truncated_by: `"tokens"`: the token budget ended it. If tools had run in the last reply, their results are
            not in the transcript, and nothing follows. `"steps"`: the limit of replies. `"env"`: the environment.
            Empty if the episode ran to its end.
        broken: Why the rollout could not be carried on; empty if nothing broke.
        messages: The assistant messages that the environment was sent, as they stood.
    """

    task_id: str = ""
    category: str = ""
    domains: list[str] = field(default_factory=list)
    seed: int = 0
    reward: float = 0.0
    reward_parts: dict[str, float] = field(default_factory=dict)
    success: bool = False
    error_type: str | None = None
    progress: float = 0.0
    turns: int = 0
    num_turns: int = 0
    passed: list[bool] = field(default_factory=list)
    num_steps: int = 0
    format_errors: int = 0
    calls: int = 0
    errors: int = 0
    hints: int = 0
    feedback: str = "off"
    stage: str = ""
    truncated_by: TruncatedBy = ""
    broken: str = ""
    messages: list[str] = field(default_factory=list)


@runtime_checkable
class AsynchronousEnv(Protocol):
    """An environment that works elsewhere: it is told what to do, and asked for the outcome when others were told, too.

    A method without `_wait` begins, the one with it returns what `reset` or `step` would, or raises what they would.
    """

    def reset_async(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a reset."""

    def reset_wait(self) -> tuple[str, dict[str, Any]]:
        """Return its outcome."""

    def step_async(self, action: str) -> None:
        """Begin a step."""

    def step_wait(self) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Return its outcome."""


@dataclass
class Rollout:
    """One episode in its own environment.

    Whatever goes wrong inside ends this rollout alone: it is marked as broken, keeps the tokens that it has, and is
    worth 0.0.

    Attributes:
        env: The environment, which nobody else uses.
        template: The chat template.
        config: The limits.
        request: The episode to play.
        record: What has become of it so far.
        conversation: Its tokens; empty if it broke before the first prompt stood.
        over: Whether it has ended.
    """

    env: gym.Env[str, str]
    template: ChatTemplate
    config: RolloutConfig
    request: EpisodeRequest
    record: RolloutRecord = field(default_factory=RolloutRecord)
    conversation: Conversation = field(init=False)
    over: bool = False
    _opening: list[Message] = field(default_factory=list, init=False, repr=False, compare=False)
    _sent: Work | None = field(default=None, init=False, repr=False, compare=False)
    _like: Rollout | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Begin with an empty conversation."""
        self.conversation = Conversation(self.template)

    def start(self) -> None:
        """Reset the environment; one that works elsewhere is only told to: see `receive`. `open` is next."""
        self.record.seed = self.request.seed
        self._carry_on(self._start)

    def open(self) -> None:
        """Make the first prompt, unless the rollout could not begin."""
        if not self.over:
            self._carry_on(self._open)

    def start_like(self, first: Rollout) -> None:
        """Take over the first prompt of a rollout of the same request; the environment is reset at the first reply.

        The resets of a group then happen while the engine is at work for others, rather than before it begins. If that
        rollout could not begin, this one tries for itself.
        """
        if first.over:
            self.start()
            self.open()
            return
        self.record.seed = self.request.seed
        self.conversation.open_like(first.conversation)
        self._like = first

    def advance(self, reply: Generated) -> None:
        """Take the sampled reply, step the environment and make the next prompt.

        One that works elsewhere is only told to: see `receive`.
        """
        self._carry_on(lambda: self._advance(reply))

    def go_on(self, reply: Generated) -> Continuation | None:
        """Advance, and return what is to be replied to next, if that is known already."""
        self.advance(reply)
        is_known = not self.over and self._sent is None
        return Continuation(self.conversation.ids, self.limit) if is_known else None

    def receive(self) -> None:
        """Go on with what an environment that works elsewhere was told to do; nothing is to be done for others."""
        if self._sent is not None:
            going_on, self._sent = self._sent, None
            self._carry_on(going_on)

    @property
    def limit(self) -> int:
        """The most tokens that the next reply may have."""
        return min(self.config.max_new_tokens, self._room)

    @property
    def _room(self) -> int:
        return self.config.max_completion_tokens - len(self.conversation.completion_ids)

    def _carry_on(self, work: Work) -> None:
        try:
            work()
        except Exception as error:  # whatever an environment raises must not stop the other rollouts
            self._break(error)

    def _start(self) -> None:
        seed = self.request.seed
        options = None if self.request.task_id is None else {"task_id": self.request.task_id}
        elsewhere = _asynchronous(self.env)
        if elsewhere is not None:
            elsewhere.reset_async(seed=seed, options=options)
            self._sent = lambda: self._begin(*elsewhere.reset_wait())
        else:
            self._begin(*self.env.reset(seed=seed, options=options))

    def _start_late(self, first: Rollout) -> None:
        """Reset the environment, after the first prompt of another rollout has been replied to in its stead.

        Raises:
            RuntimeError: If it begins with another one.
        """
        self._start()
        if (self._opening, self.template, self.config) == (first._opening, first.template, first.config):
            return  # nothing else makes a prompt, and to make it again takes longer than to compare
        read = self.conversation.prompt_ids
        self._open()
        if self.conversation.prompt_ids != read:
            raise RuntimeError("equal requests must start alike, and this environment began with another prompt")

    def _begin(self, _: str, info: dict[str, Any]) -> None:
        """Enter what a reset has come to into the record."""
        self.record.task_id = info["task_id"]
        self.record.category = info["category"]
        self.record.domains = info["domains"]
        self.record.num_turns = info["num_turns"]
        self.record.feedback = info.get("feedback", "off")
        self.record.stage = info.get("stage", "")
        self._opening = [dict(message) for message in info["messages"]]  # an environment may change its own

    def _open(self) -> None:
        conversation = Conversation(self.template)
        conversation.open(self._opening)
        length = len(conversation.prompt_ids)
        if not 0 < length <= self.config.max_prompt_tokens:
            raise ValueError(f"the prompt has {length} tokens; max_prompt_tokens is {self.config.max_prompt_tokens}")
        self.conversation = conversation

    def _advance(self, reply: Generated) -> None:
        if self._like is not None:
            first, self._like = self._like, None
            self._start_late(first)
        text = self.conversation.add_reply(reply.ids, reply.logprobs)
        if reply.error:
            raise ArithmeticError(reply.error)
        self.record.num_steps += 1
        if self._room == 0 and reply.ids[-1] != self.template.end_id:
            self._truncate("tokens")  # cut off in the middle: half a reply must not run
            return
        self.record.messages.append(text)
        elsewhere = _asynchronous(self.env)
        if elsewhere is not None:
            elsewhere.step_async(text)
            self._sent = lambda: self._take(*elsewhere.step_wait())
        else:
            self._take(*self.env.step(text))

    def _take(self, observation: str, reward: Any, terminated: bool, truncated: bool, info: dict[str, Any]) -> None:
        """Take what a step has come to."""
        self._take_stock(float(reward), info)
        if terminated:
            self.over = True
        elif truncated:
            self._truncate("env")
        elif self.record.num_steps == self.config.max_steps:
            self._truncate("steps")
        elif not self.conversation.add_messages(info["messages"], observation, self._room - 1):
            self._truncate("tokens")

    def _take_stock(self, reward: float, info: dict[str, Any]) -> None:
        """Enter a step's outcome into the record."""
        record, results = self.record, info["tool_results"]
        total = record.reward + reward
        if not abs(total) < _LARGEST_REWARD:
            raise ArithmeticError(f"the environment's reward is {reward}")
        record.reward = total
        for part, paid in info.get("reward_parts", {}).items():
            record.reward_parts[part] = record.reward_parts.get(part, 0.0) + paid
        record.success = info.get("success", False)
        record.error_type = info.get("error_type")
        record.turns = len(info["turn_results"])
        record.passed = [turn["passed"] for turn in info["turn_results"]]
        record.progress = sum(record.passed) / record.num_turns
        record.format_errors += not info["format_ok"] or "parse_error" in info
        record.calls += len(results)
        record.errors += sum(result["error"] is not None for result in results) + ("parse_error" in info)
        record.hints += _hints(info)

    def _truncate(self, cause: TruncatedBy) -> None:
        self.record.truncated_by = cause
        self.over = True

    def _break(self, error: Exception) -> None:
        self.record.broken = f"{type(error).__name__}: {error}"
        self.record.reward = 0.0
        self.record.reward_parts = {}
        self.over = True
        logger.warning("rollout of task %r broke: %s", self.record.task_id, self.record.broken)


def _asynchronous(env: gym.Env[str, str]) -> AsynchronousEnv | None:
    """Return an environment that works elsewhere, or None for another one."""
    is_asynchronous = _is_asynchronous(type(env))  # type: ignore[arg-type]  # a class is hashable
    return cast(AsynchronousEnv, env) if is_asynchronous else None


@cache  # to look for each method of a protocol takes as long as a step
def _is_asynchronous(kind: type) -> bool:
    return issubclass(kind, AsynchronousEnv)


def _hints(info: dict[str, Any]) -> int:
    """Return how many of a step's texts are not the official ones."""
    if "parse_error" in info:
        return sum(m["content"] != info["parse_error"] for m in info["messages"] if m["role"] == "tool")
    results = info["tool_results"]
    return sum(result.get("official", result["content"]) != result["content"] for result in results)


def play(rollouts: Sequence[Rollout], engine: Engine) -> None:
    """Play rollouts to their ends, sampling the replies of all that wait in one go.

    Args:
        rollouts: Rollouts that have not begun, each with its own environment; those with equal requests start alike.
        engine: What samples the replies.
    """
    firsts: dict[EpisodeRequest, Rollout] = {}
    started: list[Rollout] = []
    late: list[tuple[Rollout, Rollout]] = []
    for rollout in rollouts:
        first = firsts.setdefault(rollout.request, rollout)
        if rollout is first or _asynchronous(rollout.env) is not None:  # what works elsewhere keeps nobody waiting
            rollout.start()
            started.append(rollout)
        else:
            late.append((rollout, first))
    for rollout in started:
        rollout.receive()
    _open_together(started)
    for rollout, first in late:
        rollout.start_like(first)
    while waiting := [rollout for rollout in rollouts if not rollout.over]:
        taken: dict[int, Generated] = {}

        def advance(
            place: int, reply: Generated, waiting: Sequence[Rollout] = waiting, taken: dict[int, Generated] = taken
        ) -> Continuation | None:
            taken[place] = reply
            return waiting[place].go_on(reply)

        prompts = [rollout.conversation.ids for rollout in waiting]
        replies = engine.generate(prompts, [rollout.limit for rollout in waiting], advance)
        for place, reply in enumerate(replies):
            if taken.get(place) is not reply:
                waiting[place].advance(reply)
        for rollout in waiting:
            rollout.receive()


def _open_together(rollouts: Sequence[Rollout]) -> None:
    """Make the first prompts of rollouts that have started."""
    begun: dict[ChatTemplate, list[Rollout]] = {}
    for rollout in rollouts:
        if not rollout.over:
            begun.setdefault(rollout.template, []).append(rollout)
    for template, alike in begun.items():
        kept = template.read_ahead([rollout._opening for rollout in alike])  # as long as they are, `open` finds them
        for rollout in alike:
            rollout.open()
        del kept
