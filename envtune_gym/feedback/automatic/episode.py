"""Automatic hints inside an environment of this package: the conversation is kept from one step to the next."""

from __future__ import annotations

from envtune_gym.env import Episode
from envtune_gym.feedback.automatic.conversation import Conversation
from envtune_gym.feedback.automatic.graph import ToolGraph
from envtune_gym.feedback.automatic.hints import AutomaticHints
from envtune_gym.feedback.levels import FeedbackLevel
from envtune_gym.tooldocs import tool_schemas

__all__ = ["EpisodeHints"]


class EpisodeHints:
    """Makes the hints of one episode after another.

    Args:
        graph: What successful runs have in common; that of this package by default.
    """

    def __init__(self, graph: ToolGraph | None = None) -> None:
        self._graph = graph
        self._episode: Episode | None = None
        self._conversation = Conversation()
        self._heard = 0
        self._makers: dict[tuple[str, ...], AutomaticHints] = {}

    def of_step(self, episode: Episode, level: FeedbackLevel) -> list[str | None]:
        """Return a hint for each call of the last step, None where there is none. Every step is to be shown once."""
        if episode is not self._episode:
            self._episode, self._conversation, self._heard, self._makers = episode, Conversation(), 0, {}
        for request in episode.task.turns[self._heard : episode.turn + 1]:
            self._conversation.hear(request)
        self._heard = max(self._heard, episode.turn + 1)
        hints: list[str | None] = []
        for result in episode.results:
            hint = self._maker(episode).hint(
                self._conversation, result.name, result.arguments, result.content, level=level
            )
            hints.append(hint)
            self._conversation.note(result.name, result.arguments, result.content)
        return hints

    def _maker(self, episode: Episode) -> AutomaticHints:
        maker = self._makers.get(episode.offered)
        if maker is None:
            schemas = tool_schemas(episode.task)
            maker = AutomaticHints((schemas[name] for name in episode.offered), self._graph)
            self._makers[episode.offered] = maker
        return maker
