"""`AugmentedFeedbackWrapper`: errors become feedback that teaches."""

from __future__ import annotations

import os
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

import gymnasium as gym

from envtune_gym.env import Episode, cut_observation
from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback import FeedbackLevel, HintBook, default_book
from envtune_gym.feedback.automatic.episode import EpisodeHints
from envtune_gym.feedback.leaks import LeakGuard
from envtune_gym.feedback.levels import check_level
from envtune_gym.feedback.render import attach, explain_step, text_of
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
    `info["feedback"]` is the level. A call that has run gets a hint, too, if an argument of it is not of its documented
    type.

    Args:
        env: The environment to wrap.
        level: `"off"`, `"error"`, `"actionable"` or `"diagnostic"`.
        hints: Rules that are tried before those of the package: a `HintBook`, the same as plain data, or the path of a
            YAML hint book, as `envtune hints propose` writes it. `"automatic"`: no rules at all, but hints from the
            documentation of the tools and the conversation alone (`envtune_gym.feedback.automatic`).
        check_leaks: Whether each hint is held against the rest of the ground truth, and left out if it gives any of it
            away; `info["dropped_hints"]` says how many were. For hints that nobody has tested: it costs time.

    Raises:
        ConfigurationError: If the level is unknown or the hints are broken, if there is no EnvTune environment inside,
            or another wrapper that gives feedback.
        DataError: If a hint book cannot be read.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import AugmentedFeedbackWrapper
        >>> env = AugmentedFeedbackWrapper(gym.make("EnvTune/MathAPI-v0"), level="error")
        >>> _ = env.reset(seed=0)
        >>> info = env.step('<tool_call>[{"name": "plus", "arguments": {}}]</tool_call>')[4]
        >>> print(info["tool_results"][0]["content"])
        Error during execution: name 'plus' is not defined
        Hint: No tool named 'plus' is on offer now. Only tools on offer can be called, each by its exact name.
    """

    gives_feedback = True

    def __init__(
        self,
        env: gym.Env[str, str],
        level: FeedbackLevel = "actionable",
        hints: HintBook | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        check_leaks: bool = False,
    ) -> None:
        self.level = check_level(level)
        self._automatic = EpisodeHints() if hints == "automatic" else None
        own = None if self._automatic else _own_book(hints)
        plain = "automatic" if self._automatic else None if own is None else own.to_dict()
        super().__init__(env, level=level, hints=plain, check_leaks=check_leaks)
        self._guard = LeakGuard() if check_leaks else None
        self.book = default_book() if own is None else own.over(default_book())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode; the first request needs no feedback."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._began_episode()
        if self._guard is not None:
            self._guard.begin(info)
        return observation, {**info, "feedback": self.level}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step, and add to its texts what the level says."""
        turns_before = len(self.unwrapped.episode.scorer.turns)
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "feedback": self.level}
        if self.level == "off":
            return observation, float(reward), terminated, truncated, info
        if not self._began_episode():
            observation, info = self._augmented(observation, info, self._note(turns_before))
        elif self._guard is not None:
            self._guard.begin(info)
        return observation, float(reward), terminated, truncated, info

    def _note(self, turns_before: int) -> str | None:
        """Return what to say of the turn that the step ended, if it ended one."""
        turns = self.unwrapped.episode.scorer.turns
        if self.level != "diagnostic" or len(turns) == turns_before:
            return None
        return turn_note(turns[-1])

    def _augmented(self, observation: str, info: dict[str, Any], note: str | None) -> tuple[str, dict[str, Any]]:
        """Return the observation and the info of a step with hints and a note in them."""
        episode = self.unwrapped.episode
        hints = self._hints(episode)
        if self._guard is not None:
            hints, info["dropped_hints"] = self._guard.checked(hints, episode, info)
        results = [{**result, "official": result["content"]} for result in info["tool_results"]]
        info["tool_results"] = results
        added = [hint for hint in hints if hint is not None]
        if not added and note is None:
            return observation, info
        old = self._texts(episode)
        new = [attach(text, hint) for text, hint in zip(old, hints, strict=True)]
        for result, text in zip(results, new, strict=False):
            result["content"] = text
        messages = info["messages"]
        request = messages[-1]["content"] if len(messages) > 1 + len(new) else ""
        info["messages"] = _messages(messages, new, note)
        spliced = None if self.unwrapped.action_format == "python" else _spliced(observation, old, new)
        if spliced is not None and note is None:
            return cut_observation(spliced), info
        old_text, new_text = self._shown(episode, old), self._shown(episode, new)
        return _observation(observation, old_text, new_text, request, note, added), info

    def _hints(self, episode: Episode) -> list[str | None]:
        """Return the hint for each text of the last step: each result, or why the message could not be read."""
        if self._automatic is not None:
            hints = self._automatic.of_step(episode, self.level)
            if not _unread(episode):
                return hints
            # What is wrong with a message concerns its format and no tool: it is explained as it always is.
        return [text_of(hint) for hint in explain_step(episode, self.book, self.level)]

    def _texts(self, episode: Episode) -> list[str]:
        """Return the official texts of the last step, one for each hint."""
        if episode.reply is not None and episode.reply.error is not None:
            return [str(episode.reply.error)]
        return [result.content for result in episode.results]

    def _shown(self, episode: Episode, texts: list[str]) -> str:
        """Return the observation that shows the texts of a step."""
        if _unread(episode):
            return texts[0]
        if not texts:
            return ""
        return self.unwrapped.results_text([(r.name, text) for r, text in zip(episode.results, texts, strict=True)])


def _unread(episode: Episode) -> bool:
    """Tell whether the last message could not be read."""
    return episode.reply is not None and episode.reply.error is not None


def _own_book(hints: Any) -> HintBook | None:
    """Return the book that the argument `hints` stands for.

    Raises:
        ConfigurationError: If it is nothing of the kind.
        DataError: If it is a file that cannot be read.
    """
    if isinstance(hints, (HintBook, type(None))):
        return hints
    if isinstance(hints, Mapping):
        return HintBook.from_dict(hints)
    if isinstance(hints, (str, os.PathLike)):
        return HintBook.from_file(hints)
    raise ConfigurationError(f"hints are a HintBook, the same as plain data, or the path of a file, not {hints!r}")


def _messages(messages: list[dict[str, Any]], texts: list[str], note: str | None) -> list[dict[str, Any]]:
    """Return the step's messages with new texts after the assistant's message, and a note after the user's."""
    augmented = list(messages)
    for index, text in enumerate(texts, start=1):
        augmented[index] = {**augmented[index], "content": text}
    if note is not None and len(augmented) > 1 + len(texts):
        augmented[-1] = {**augmented[-1], "content": _joined("\n\n", augmented[-1]["content"], note)}
    return augmented


def _spliced(observation: str, old: list[str], new: list[str]) -> str | None:
    """Return an observation of results with new contents, or None if the old ones are not there one after another.

    Quotation marks within a JSON string are escaped, so that what is searched for cannot be part of another string.
    """
    parts: list[str] = []
    end = 0
    for before, after in zip(old, new, strict=True):
        place = f'"content": {encode_basestring(before)}'
        start = observation.find(place, end)
        if start < 0:
            return None
        parts += (observation[end:start], '"content": ', encode_basestring(after))
        end = start + len(place)
    return "".join((*parts, observation[end:]))


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
