"""The episode: what an action does to the turn, the world and the observation."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import gymnasium as gym

from envtune_gym.calls import (
    ActionFormat,
    Decoder,
    DocStyle,
    Reply,
    describe_tools,
    parse_action,
    system_prompt,
)
from envtune_gym.domains.base import copy_plain
from envtune_gym.errors import ConfigurationError, EpisodeError
from envtune_gym.info import StepInfo
from envtune_gym.scoring import EpisodeScorer
from envtune_gym.spaces import UnicodeText
from envtune_gym.tasks import Task, TaskSet, load_tasks
from envtune_gym.tooldocs import ShownTools, offered_names
from envtune_gym.world import ToolResult, World

__all__ = ["EnvtuneEnv", "Episode", "Offer", "OnStepLimit"]

Offer = Literal["official", "strict"]
OnStepLimit = Literal["fail", "advance"]

ACTION_LENGTH = 65_536
OBSERVATION_LENGTH = 262_144
_CUT = "\n[cut: the observation was {length} characters long]\n"
_KEPT_AT_END = 8_192
_PROMPTS_KEPT = 256
"""More than the tasks of a batch, whose episodes begin alike."""


@dataclass
class Episode:
    """The running state of one episode; wrappers read it through `env.unwrapped.episode`.

    Attributes:
        task: The task that is played.
        world: The world that the calls run in.
        scorer: Its turns so far, against the ground truth.
        offer: What happens to withheld and excluded tools.
        turn: Index of the present turn.
        step_in_turn: Steps of this turn that were not answers.
        offered: Names of the tools on offer.
        reply: What the last action was read as.
        results: The calls of the last action, with typed errors.
        over: Whether the episode has ended.
    """

    task: Task
    world: World
    scorer: EpisodeScorer
    offer: Offer
    turn: int = 0
    step_in_turn: int = 0
    offered: tuple[str, ...] = ()
    reply: Reply | None = None
    results: list[ToolResult] = field(default_factory=list)
    over: bool = False
    turn_steps: list[list[str]] = field(default_factory=list)
    transcript: list[dict[str, Any]] = field(default_factory=list)


class EnvtuneEnv(gym.Env[str, str]):
    """A language-model agent works through a task of several user turns with the tools of one or more domains.

    ## Action space
    `UnicodeText(65536)`: one assistant message in the chosen `action_format`: tool calls, which run, or an
    answer, which ends the turn.

    ## Observation space
    `UnicodeText(262144)`: the user's request at reset; after calls the JSON of their results (a list of
    `{"name", "content"}`; in the `python` format a list of result strings); after an answer the next request;
    after an action that cannot be read, what is wrong with it. `info["messages"]` has the same as chat messages.

    ## Rewards
    1.0 on the last step if the benchmark's verdict is valid, else 0.0. The reward wrappers replace it.

    ## Episode end
    `terminated` after the answer to the last turn; `truncated` when a turn's step number
    `max_steps_per_turn + 1` has run. With `on_step_limit="advance"` that step closes the turn instead, and on the
    last turn the episode is `terminated`.

    ## Reset options
    `task_id`: the task to play. Without it the seed draws one.

    Args:
        domain: Serve only tasks that involve this domain; None serves all.
        tasks: `"generated"`, `"bfcl"`, the path of a `.jsonl` file, or a `TaskSet`.
        categories: Serve only these categories; None serves all that the source has.
        split: `"train"`, `"val"`, `"test"` or `"all"`.
        difficulty: Of generated tasks: a level from 1 to 5, or numbers (`{"turns": 4, "domains": 2}`); None: all.
        action_format: `"tool_call"`, `"python"` or `"openai"`.
        decoder: `"correct"`, or `"official"` for the benchmark's own with its faults (in the `python` and `openai`
            formats; `tool_call` knows but one).
        strict_format: Whether a reply that breaks the format's letter is a parse error.
        offer: `"official"`: withheld tools are not shown but run, excluded ones are on offer. `"strict"`: both
            are refused as unknown. None is `"official"` for official tasks and `"strict"` for others.
        max_steps_per_turn: Steps that a turn may take.
        on_step_limit: `"fail"` ends the episode, `"advance"` goes on to the next turn.
        tool_docs: `"full"` JSON schemas or `"compact"` signatures in the system prompt.
        render_mode: `"ansi"`, `"human"` or None.

    Raises:
        ConfigurationError: If an argument has no meaning, or no task is left to serve.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 1}

    def __init__(
        self,
        domain: str | None = None,
        tasks: str | TaskSet = "generated",
        categories: Sequence[str] | None = None,
        split: str = "all",
        difficulty: Any = None,
        action_format: ActionFormat = "tool_call",
        decoder: Decoder = "correct",
        strict_format: bool = False,
        offer: Offer | None = None,
        max_steps_per_turn: int = 20,
        on_step_limit: OnStepLimit = "fail",
        tool_docs: DocStyle = "full",
        render_mode: str | None = None,
    ) -> None:
        _check_choice("action_format", action_format, ("tool_call", "python", "openai"))
        _check_choice("decoder", decoder, ("correct", "official"))
        _check_choice("offer", offer, (None, "official", "strict"))
        _check_choice("on_step_limit", on_step_limit, ("fail", "advance"))
        _check_choice("tool_docs", tool_docs, ("full", "compact"))
        _check_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        _check_choice("strict_format", strict_format, (False, True))
        if type(max_steps_per_turn) is not int or max_steps_per_turn < 1:
            raise ConfigurationError(f"max_steps_per_turn must be a positive integer, not {max_steps_per_turn!r}")
        self.tasks = load_tasks(
            tasks,
            categories=categories,
            split=split,
            domains=None if domain is None else (domain,),
            difficulty=difficulty,
        )
        self.action_format = action_format
        self.decoder = decoder
        self.strict_format = strict_format
        self.offer = offer
        self.max_steps_per_turn = max_steps_per_turn
        self.on_step_limit = on_step_limit
        self.tool_docs = tool_docs
        self.render_mode = render_mode
        self.action_space = UnicodeText(ACTION_LENGTH)
        self.observation_space = UnicodeText(OBSERVATION_LENGTH)
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The running episode.

        Raises:
            EpisodeError: Before the first reset.
        """
        if self._episode is None:
            raise EpisodeError("no episode has begun; call reset() first")
        return self._episode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a task and return the first user request.

        Args:
            seed: Seed of the draw of tasks, now and at later resets.
            options: `{"task_id": …}` plays that task.

        Raises:
            ConfigurationError: If an option is unknown.
            UnknownTaskError: If no served task has that id.
        """
        if not isinstance(options, (dict, type(None))):
            raise ConfigurationError(f"reset options are a dict such as {{'task_id': ...}}, not {options!r}")
        unknown = set(options or ()) - {"task_id"}
        if unknown:
            raise ConfigurationError(f"unknown reset option {sorted(map(str, unknown))[0]!r}; known: 'task_id'")
        task_id = (options or {}).get("task_id")
        chosen = None if task_id is None else self.tasks.get(task_id)
        super().reset(seed=seed)
        task = chosen if chosen is not None else self.tasks.sample(self.np_random)
        scorer = EpisodeScorer(task)
        offer = self.offer or ("official" if task.source == "bfcl" else "strict")
        episode = self._episode = Episode(task, scorer.new_world(), scorer, offer)
        episode.offered = offered_names(task, 0, offer)
        tools = self._shown(episode.offered)
        prompt = _system_prompt(self.action_format, tools, self.tool_docs)
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": task.turns[0]}]
        info = self._info(messages)
        info["tools"] = tools.schemas()
        return self._emit(task.turns[0], messages), dict(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one assistant message.

        Raises:
            ConfigurationError: If the action is not a string; the episode is left as it was.
            EpisodeError: Before the first reset or after the end of the episode.
        """
        if not isinstance(action, str):
            raise ConfigurationError(f"an action is a string (one assistant message), not {type(action).__name__}")
        episode = self.episode
        if episode.over:
            raise EpisodeError("the episode has ended; call reset() to begin another")
        reply = parse_action(action, self.action_format, decoder=self.decoder, strict=self.strict_format)
        episode.reply, episode.results = reply, []
        messages = [reply.message]
        observation = ""
        if reply.answer is None:
            observation = self._act(episode, reply, messages)
        limit = episode.step_in_turn > self.max_steps_per_turn
        shown: list[dict[str, Any]] = []
        truncated = False
        if reply.answer is not None or limit:
            truncated = limit and self.on_step_limit == "fail"
            request, shown = self._end_turn(episode, messages, truncated)
            observation = f"{observation}\n{request}" if observation and request else observation or request
        info = self._info(messages)
        info["format_ok"] = reply.format_ok
        if reply.error is not None:
            info["parse_error"] = str(reply.error)
        if shown:
            info["tools"] = shown
        reward = 0.0
        if episode.over:
            verdict = episode.scorer.verdict()
            reward = float(verdict.valid)
            info["success"] = verdict.valid
            if verdict.error_type:
                info["error_type"] = verdict.error_type
        terminated = episode.over and not truncated
        return self._emit(observation, messages), reward, terminated, truncated, dict(info)

    def render(self) -> str | None:
        """Return the conversation so far as text (`"ansi"`) or write its new part to standard output (`"human"`)."""
        if self.render_mode != "ansi":
            return None
        return "\n".join(map(_as_text, self.episode.transcript))

    def _act(self, episode: Episode, reply: Reply, messages: list[dict[str, Any]]) -> str:
        """Run the calls of a step, or report that it cannot be read; return the observation."""
        episode.step_in_turn += 1
        if reply.error is not None:
            # No call has an id that a tool message could answer, and servers of the openai format insist on one.
            role = "user" if self.action_format == "openai" else "tool"
            messages.append({"role": role, "content": str(reply.error)})
            return str(reply.error)
        allowed = frozenset(episode.offered) if episode.offer == "strict" else None
        episode.results = [episode.world.run(call, allowed) for call in reply.calls]
        episode.turn_steps.append([result.content for result in episode.results])
        identities = [call["id"] for call in reply.message.get("tool_calls", ())]
        for index, result in enumerate(episode.results):
            message = {"role": "tool", "name": result.name, "content": result.content}
            if index < len(identities):
                message["tool_call_id"] = identities[index]
            messages.append(message)
        return self.results_text([(result.name, result.content) for result in episode.results])

    def results_text(self, results: Sequence[tuple[str, str]]) -> str:
        """Return the observation that shows results.

        Args:
            results: Name of the tool and result text of each call.
        """
        if self.action_format == "python":
            return json.dumps([content for _, content in results], ensure_ascii=False)
        return json.dumps([{"name": name, "content": content} for name, content in results], ensure_ascii=False)

    def _end_turn(
        self, episode: Episode, messages: list[dict[str, Any]], stop: bool
    ) -> tuple[str, list[dict[str, Any]]]:
        """Close the turn and open the next one; return its request and the tools on offer if they changed."""
        episode.scorer.close_turn(episode.world, episode.turn_steps)
        episode.turn_steps = []
        if stop or episode.turn + 1 == episode.task.num_turns:
            episode.over = True
            return "", []
        episode.turn += 1
        episode.step_in_turn = 0
        request = episode.task.turns[episode.turn]
        offered = offered_names(episode.task, episode.turn, episode.offer)
        returned = [name for name in offered if name not in episode.offered]
        episode.offered = offered
        if returned:
            schemas = self._shown(tuple(returned)).schemas()
            description = describe_tools(self.action_format, schemas, style=self.tool_docs)
            request = f"{description}\n{request}" if description else request
        messages.append({"role": "user", "content": request})
        return request, self._shown(offered).schemas() if returned else []

    def _shown(self, names: tuple[str, ...]) -> ShownTools:
        task = self.episode.task
        return ShownTools(names, task.domains, task.source == "bfcl", float_remark=self.action_format == "openai")

    def _info(self, messages: list[dict[str, Any]]) -> StepInfo:
        episode = self.episode
        return {
            "task_id": episode.task.id,
            "category": episode.task.category,
            "domains": list(episode.task.domains),
            "turn": episode.turn,
            "num_turns": episode.task.num_turns,
            "step_in_turn": episode.step_in_turn,
            "messages": copy_plain(messages),
            "tool_results": [
                {
                    "name": result.name,
                    "arguments": copy_plain(result.arguments),
                    "content": result.content,
                    "error": result.error.to_dict() if result.error else None,
                    "silent": result.silent.to_dict() if result.silent else None,
                }
                for result in episode.results
            ],
            "turn_results": [
                {
                    "turn": turn.turn,
                    "state_ok": turn.state_ok,
                    "response_ok": turn.response_ok,
                    "passed": turn.passed,
                }
                for turn in episode.scorer.turns
            ],
        }

    def _emit(self, observation: str, messages: list[dict[str, Any]]) -> str:
        """Keep the conversation if it is to be rendered, and cut an observation that is too long."""
        if self.render_mode is not None:
            self.episode.transcript.extend(messages)
        if self.render_mode == "human":
            encoding = sys.stdout.encoding or "utf-8"
            text = "".join(_as_text(message) + "\n" for message in messages)
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return cut_observation(observation)


@lru_cache(maxsize=_PROMPTS_KEPT)
def _system_prompt(action_format: ActionFormat, tools: ShownTools, style: DocStyle) -> str:
    return system_prompt(action_format, tools.schemas(), style=style)


def cut_observation(text: str) -> str:
    """Return an observation that fits its space.

    A longer one is cut in the middle, and says so there: results stand at the beginning, and what concerns the turn
    at the end.
    """
    if len(text) <= OBSERVATION_LENGTH:
        return text
    mark = _CUT.format(length=len(text))
    return text[: OBSERVATION_LENGTH - len(mark) - _KEPT_AT_END] + mark + text[-_KEPT_AT_END:]


def _as_text(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls")
    content = message.get("content") or (json.dumps(calls) if calls else "")
    return f"[{message['role']}] {content}"


def _check_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    if value not in known:
        raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
