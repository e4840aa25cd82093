"""`AugmentedFeedbackWrapper`: errors become feedback that teaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from envtune_gym.env import Episode, cut_observation
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import FeedbackLevel, HintBook, default_book
from envtune_gym.feedback.levels import check_level
from envtune_gym.feedback.render import attach, parse_error_hint, result_hints
from envtune_gym.feedback.turns import turn_note
from envtune_gym.wrappers.base import EnvtuneWrapper

__all__ = ["AugmentedFeedbackWrapper"]


class AugmentedFeedbackWrapper(EnvtuneWrapper):
    """Puts a hint beside the text of each failing result, and of each success that cannot have been meant.

    The hint is in the observation, in `info["messages"]` and in `info["tool_results"]`, whose `official` keeps the
    official text; messages that cannot be read get one too. Where the official result is a JSON object it gains the
    key `hint`, any other text gains a line. Hints are computed from typed errors, name only tools that are on offer,
    and hold no value of the solution; see `envtune_gym.feedback`. What is scored never changes.

    Levels: `"off"`, every text is the official one, byte for byte; `"error"`, what went wrong and the rule behind it;
    `"actionable"`, also what kind of step resolves it; `"diagnostic"`, also which part of the outcome of a turn that
    has ended is wrong, at the end of the next user message (after the last turn: of the observation).
    `info["feedback"]` is the level.

    Args:
        env: The environment to wrap.
        level: `"off"`, `"error"`, `"actionable"` or `"diagnostic"`.
        hints: Rules that are tried before those of the package: a `HintBook`, or the same as plain data.

    Raises:
        ConfigurationError: If the level is unknown or the hints are broken, if there is no EnvTune environment inside,
            or another wrapper that gives feedback.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import AugmentedFeedbackWrapper
        >>> env = AugmentedFeedbackWrapper(gym.make("EnvTune/MathAPI-v0"), level="error")
        >>> _ = env.reset(seed=0)
        >>> info = env.step('<tool_call>[{"name": "plus", "arguments": {}}]</tool_call>')[4]
        >>> print(info["tool_results"][0]["content"])
        Error during execution: name 'plus' is not defined
        Hint: 'plus' is not the name of a tool that is on offer now. Only tools on offer can be called, each by its exact name.
    """  # noqa: E501 (the example's output)

    gives_feedback = True

    def __init__(
        self,
        env: gym.Env[str, str],
        level: FeedbackLevel = "actionable",
        hints: HintBook | Mapping[str, Any] | None = None,
    ) -> None:
        self.level = check_level(level)
        own = HintBook.from_dict(hints) if isinstance(hints, Mapping) else hints
        if not isinstance(own, (HintBook, type(None))):
            raise ConfigurationError(f"hints are a HintBook or the same as plain data, not {hints!r}")
        super().__init__(env, level=level, hints=None if own is None else own.to_dict())
        self.book = default_book() if own is None else own.over(default_book())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode; the first request needs no feedback."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._began_episode()
        return observation, {**info, "feedback": self.level}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step, and add to its texts what the level says."""
        turns_before = len(self.unwrapped.episode.scorer.turns)
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "feedback": self.level}
        if self.level != "off" and not self._began_episode():
            note = self._note(turns_before)
            observation, info = self._augmented(observation, info, note)
        return observation, float(reward), terminated, truncated, info

    def _note(self, turns_before: int) -> str | None:
        """Return what to say of the turn that the step ended, if it ended one."""
        turns = self.unwrapped.episode.scorer.turns
        if self.level != "diagnostic" or len(turns) == turns_before:
            return None
        return turn_note(turns[-1])

    def _augmented(self, observation: str, info: dict[str, Any], note: str | None) -> tuple[str, dict[str, Any]]:
        episode = self.unwrapped.episode
        hints = result_hints(episode, self.book, self.level)
        parse_hint = parse_error_hint(episode, self.book, self.level)
        contents = [attach(result.content, hint) for result, hint in zip(episode.results, hints, strict=True)]
        official, text = self._results(episode, None), self._results(episode, contents)
        if episode.reply is not None and episode.reply.error is not None:
            official = str(episode.reply.error)
            text = attach(official, parse_hint)
            contents = [text]
        ended_turn = len(info["messages"]) > 1 + len(contents)
        request = info["messages"][-1]["content"] if ended_turn else ""
        info["messages"] = _messages(info["messages"], contents, note)
        info["tool_results"] = [
            {**result, "content": content, "official": result["content"]}
            for result, content in zip(info["tool_results"], contents, strict=False)
        ]
        added = [hint for hint in (*hints, parse_hint) if hint is not None]
        return _observation(observation, official, text, request, note, added), info

    def _results(self, episode: Episode, contents: list[str] | None) -> str:
        """Return the observation that shows the results of the step, with other contents if there are any."""
        if not episode.results:
            return ""
        official = [result.content for result in episode.results]
        names = [result.name for result in episode.results]
        return self.unwrapped.results_text(list(zip(names, contents or official, strict=True)))


def _messages(messages: list[dict[str, Any]], contents: list[str], note: str | None) -> list[dict[str, Any]]:
    """Return the step's messages with new texts for the calls, and a note after the user's."""
    answered = 1 + len(contents)  # the assistant's message, and what each call or the unreadable text came to
    augmented = [
        *messages[:1],
        *({**message, "content": content} for message, content in zip(messages[1:answered], contents, strict=True)),
        *messages[answered:],
    ]
    if note is not None and len(augmented) > answered:
        augmented[-1] = {**augmented[-1], "content": _joined("\n\n", augmented[-1]["content"], note)}
    return augmented


def _observation(observation: str, official: str, text: str, request: str, note: str | None, hints: list[str]) -> str:
    """Return the observation with `text` in place of the `official` text, and the note at its end.

    If another wrapper has changed the observation, what is left of the official text is replaced; if nothing is
    left, the hints are added at the end.
    """
    if observation == cut_observation(_joined("\n", official, request)):
        observation = _joined("\n", text, request)
    elif official and official in observation:
        observation = observation.replace(official, text, 1)
    else:
        observation = _joined("\n", observation, *hints)
    return cut_observation(_joined("\n\n", observation, note))


def _joined(separator: str, *texts: str | None) -> str:
    return separator.join(filter(None, texts))
