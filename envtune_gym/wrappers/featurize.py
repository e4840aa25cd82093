"""`FeaturizeWrapper`: the request, the candidates and the latest result as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from envtune_gym.callsyntax import Call
from envtune_gym.errors import ConfigurationError
from envtune_gym.wrappers.base import EnvtuneWrapper, layers
from envtune_gym.wrappers.candidate_action import CandidateActionWrapper

__all__ = ["FeatureLayout", "FeaturizeWrapper"]

_TEXT_KEPT = 4_096
_CACHED = 8_192
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?")
GLOBALS = ("turn", "steps", "failed")
FLAGS = (
    "present",
    "answer",
    "called",
    "call_failed",
    "words_in_request",
    "has_values",
    "values_in_request",
    "values_in_results",
    "named_in_latest",
)


@dataclass(frozen=True, slots=True)
class FeatureLayout:
    """Where what stands in the observation of `FeaturizeWrapper`.

    Attributes:
        rows: Candidates, and the answer as the last row.
        text: Numbers of a hashed text.
    """

    rows: int
    text: int

    @property
    def request(self) -> slice:
        """The hashed request of the present turn."""
        return slice(0, self.text)

    @property
    def latest(self) -> slice:
        """The hashed text of the latest results, hints included; zeros at the start of a turn."""
        return slice(self.text, 2 * self.text)

    @property
    def progress(self) -> slice:
        """Three numbers: the share of turns done, steps in this turn / 10, and whether the latest call failed."""
        return slice(2 * self.text, 2 * self.text + len(GLOBALS))

    @property
    def width(self) -> int:
        """Numbers of one row: its flags (`FLAGS`), then its hashed text."""
        return len(FLAGS) + self.text

    @property
    def candidates(self) -> slice:
        """The rows, one after another; `observation[layout.candidates].reshape(layout.rows, layout.width)`."""
        return slice(self.progress.stop, self.size)

    @property
    def size(self) -> int:
        """Numbers of the whole observation."""
        return 2 * self.text + len(GLOBALS) + self.rows * self.width


class FeaturizeWrapper(EnvtuneWrapper):
    """Makes the observation a vector of fixed size: hashed words, and how they fit each other.

    `layout` (a `FeatureLayout`) says where what stands:

    * `request`: the present user request. Texts are split into words at blanks, signs, underscores and capitals, and
      hashed by scikit-learn's `HashingVectorizer` to `size` numbers of length 1 together.
    * `latest`: the contents of the latest results, likewise, with hints where `AugmentedFeedbackWrapper` is inside.
    * `progress`: the share of turns done, the steps of this turn / 10, and whether the latest call failed.
    * `candidates`: one row for each action, nine flags and the hashed call. The flags: whether there is such a
      candidate; whether it is the answer; whether it has been called in this turn; whether it failed then; the share of
      its words that are in the request; whether it has values; the share of them that stand in the request; the same in
      the results of this episode so far; whether its tool is named in the latest result or hint.

    All of it is computed from what the agent may read. It is the outermost of this package's wrappers, for the others
    read and write text.

    Args:
        env: The environment to wrap, with a `CandidateActionWrapper` inside.
        size: Numbers of a hashed text.

    Raises:
        ConfigurationError: If the size is not positive, there is no `CandidateActionWrapper` inside, or scikit-learn is
            not installed.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import CandidateActionWrapper, FeaturizeWrapper
        >>> env = gym.make("EnvTune/MathAPI-v0", split="train", difficulty=1)
        >>> env = FeaturizeWrapper(CandidateActionWrapper(env, candidates=4), size=64)  # doctest: +SKIP
        >>> env.reset(seed=0)[0].shape == (env.layout.size,)  # doctest: +SKIP
        True
    """

    def __init__(self, env: gym.Env[str, Any], size: int = 256) -> None:
        if type(size) is not int or size < 1:
            raise ConfigurationError(f"size must be a positive integer, not {size!r}")
        super().__init__(env, size=size)
        inside = next((layer for layer in layers(env) if isinstance(layer, CandidateActionWrapper)), None)
        if inside is None:
            raise ConfigurationError("FeaturizeWrapper needs a CandidateActionWrapper inside")
        self._choice = inside
        self._hashed = _hasher(size)
        self.layout = FeatureLayout(rows=inside.answer + 1, text=size)
        self.observation_space = Box(-1.0, 1.0, (self.layout.size,), np.float32)  # type: ignore[assignment]
        self._forget()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions can be chosen now."""
        return self._choice.action_masks()

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        _, info = self.env.reset(seed=seed, options=options)
        self._began_episode()
        self._forget()
        self._take_request(info)
        return self._features(info), info

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:  # type: ignore[override]
        """Take a step."""
        made = _made(self._choice.candidates, action)
        _, reward, terminated, truncated, info = self.env.step(action)
        if self._began_episode():
            self._forget()
            self._take_request(info)
        else:
            self._take_results(made, info)
        return self._features(info), float(reward), terminated, truncated, info

    def _forget(self) -> None:
        self._turn = -1
        self._request = self._latest = self._results = ""
        self._called: dict[str, bool] = {}

    def _take_request(self, info: Mapping[str, Any]) -> None:
        """Open a turn: its request is the latest message of the user."""
        self._turn = info["turn"]
        said = [message["content"] for message in info["messages"] if message["role"] == "user"]
        self._request = said[-1][-_TEXT_KEPT:] if said else ""
        self._latest, self._called = "", {}

    def _take_results(self, made: str | None, info: Mapping[str, Any]) -> None:
        """Note what the call that was made brought."""
        results = info["tool_results"]
        self._latest = "\n".join(result["content"] for result in results)[:_TEXT_KEPT]
        self._results = f"{self._results}\n{self._latest}"[-_TEXT_KEPT:].lower()
        if info["turn"] != self._turn:
            self._take_request(info)
        elif made is not None:
            self._called[made] = any(result["error"] is not None for result in results)

    def _features(self, info: Mapping[str, Any]) -> NDArray[np.float32]:
        layout = self.layout
        features = np.zeros(layout.size, dtype=np.float32)
        features[layout.request] = self._hashed(self._request)
        features[layout.latest] = self._hashed(self._latest)
        failed = any(result["error"] is not None for result in info["tool_results"])
        features[layout.progress] = info["turn"] / info["num_turns"], min(info["step_in_turn"] / 10, 1.0), failed
        rows = features[layout.candidates].reshape(layout.rows, layout.width)
        for row, call in zip(rows, self._choice.candidates, strict=False):
            row[: len(FLAGS)] = self._flags(call)
            row[len(FLAGS) :] = self._hashed(call.source())
        rows[-1, : len(FLAGS)] = [name in ("present", "answer") for name in FLAGS]
        return features

    def _flags(self, call: Call) -> tuple[float, ...]:
        source = call.source()
        words, values, request = _words(source), _values(call), self._request.lower()
        return (
            1.0,
            0.0,
            float(source in self._called),
            float(self._called.get(source, False)),
            len(words & _words(self._request)) / len(words),
            float(bool(values)),
            _share(values, request),
            _share(values, self._results),
            float(_stands(call.name, self._latest)),
        )


@lru_cache(maxsize=8)
def _hasher(size: int) -> Any:
    """Return what hashes a text; the vectors of texts met before are kept, for all environments of the process.

    Raises:
        ConfigurationError: If scikit-learn is not installed.
    """
    try:
        from sklearn.feature_extraction.text import HashingVectorizer
    except ImportError:
        raise ConfigurationError("FeaturizeWrapper needs scikit-learn: pip install scikit-learn") from None
    vectorizer = HashingVectorizer(n_features=size, analyzer=_word_list, norm="l2")

    @lru_cache(maxsize=_CACHED)
    def hashed(text: str) -> NDArray[np.float32]:
        return vectorizer.transform([text]).toarray()[0].astype(np.float32)  # type: ignore[no-any-return]

    return hashed


def _word_list(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


@lru_cache(maxsize=_CACHED)
def _words(text: str) -> frozenset[str]:
    return frozenset(_word_list(text)) or frozenset(("",))


def _values(call: Call) -> tuple[str, ...]:
    """Return the values of a call as they would stand in a text; the items of a list each."""
    values: list[Any] = []
    for value in call.kwargs.values():
        values += value if isinstance(value, (list, tuple)) else [value]
    return tuple(str(value).lower() for value in values)


def _share(values: tuple[str, ...], text: str) -> float:
    """Return the share of values that stand in a text."""
    return sum(_stands(value, text) for value in values) / len(values) if values else 0.0


def _stands(value: str, text: str) -> bool:
    """Tell whether a value stands in a text by itself, and not within a longer word or number."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not _in_word(text[start - 1 : start]) and not _in_word(text[end : end + 1]):
            return True
        start = text.find(value, start + 1)
    return False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _made(candidates: tuple[Call, ...], action: Any) -> str | None:
    """Return the call that an action makes, or None for an answer."""
    index = int(np.asarray(action).item())
    return candidates[index].source() if 0 <= index < len(candidates) else None
