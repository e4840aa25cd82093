"""`FormatRewardWrapper`: pays for the letter of the format and for calls that work."""

from __future__ import annotations

from typing import Any

from envtune_gym.calls import Reply
from envtune_gym.world import ToolResult
from envtune_gym.wrappers.base import RewardWrapper

__all__ = ["FormatRewardWrapper"]


class FormatRewardWrapper(RewardWrapper):
    """Replaces the reward by the paper's reward of stage 1, paid in the last step, in [0, 2].

    R = I_tool · (R_format + R_tool), with R_format = (N - C_format) / N, R_tool = C_correct / (C_correct + C_error),
    and I_tool = 1 if any call was attempted, else 0 (section 3). Counted over the whole episode:

    * N: the steps, answers included. C_format: those of them that break the letter of the format, understood or not.
    * C_correct: the calls that ran without an error (`ToolResult.error` is None). C_error: all other attempted
      calls; a message that cannot be read counts as one attempted call if it begins one.
    * What only repeats pays nothing: a call that runs without an error, with the same arguments and the same result as
      an earlier one of the episode, is in neither count, and a step of nothing but such calls is in N only if it
      breaks the format. So errors cannot be diluted with useless calls; the paper says nothing of repetitions.

    Args:
        env: The environment to wrap.

    Raises:
        ConfigurationError: If there is no EnvTune environment inside.

    Example:
        >>> import gymnasium as gym
        >>> import envtune_gym
        >>> from envtune_gym.wrappers import FormatRewardWrapper
        >>> env = FormatRewardWrapper(gym.make("EnvTune/MathAPI-v0", max_steps_per_turn=1))
        >>> _ = env.reset(seed=0)
        >>> _ = env.step('<tool_call>[{"name": "add", "arguments": {"a": 1, "b": 2}}]</tool_call>')
        >>> env.step('<tool_call>[{"name": "plus", "arguments": {"a": 1, "b": 2}}]</tool_call>')[1]
        1.5
    """

    def _forget(self) -> None:
        self._steps = self._breaches = self._correct = self._wrong = 0
        self._succeeded: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def _pay(self, info: dict[str, Any], is_last: bool) -> float:
        self._count()
        if not is_last:
            return 0.0
        parts = info["reward_parts"] = self._parts()
        return sum(parts.values())

    def _count(self) -> None:
        episode = self.unwrapped.episode
        reply = episode.reply
        assert reply is not None  # noqa: S101 (a step sets it)
        wrong = sum(result.error is not None for result in episode.results) + _is_broken_call(reply)
        correct = sum(result.error is None and self._is_new(result) for result in episode.results)
        breach = not reply.format_ok or reply.error is not None
        self._wrong += wrong
        self._correct += correct
        self._breaches += breach
        self._steps += bool(breach or wrong or correct or not episode.results)

    def _is_new(self, result: ToolResult) -> bool:
        """Tell whether no earlier call of the episode was the same with the same result, and remember it."""
        same = self._succeeded.setdefault((result.name, result.content), [])
        if result.arguments in same:
            return False
        same.append(result.arguments)
        return True

    def _parts(self) -> dict[str, float]:
        """Return R_format and R_tool, or that neither is paid."""
        calls = self._correct + self._wrong
        if calls == 0:
            return {"format": 0.0, "tool": 0.0}
        return {"format": (self._steps - self._breaches) / self._steps, "tool": self._correct / calls}


def _is_broken_call(reply: Reply) -> bool:
    """Tell whether a message could not be read and was meant to call a tool."""
    return reply.error is not None and "<tool_call>" in str(reply.message["content"])
