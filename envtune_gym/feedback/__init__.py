"""Feedback that teaches: typed errors become hints, at a level of one's choice.

`rules` says what a hint is, `book` where hints come from, `general` and one module a domain hold them, `render`
puts them beside the official text, `turns` speaks of finished turns, and `leaks` checks that nothing is given away.
"""

from __future__ import annotations

from envtune_gym.feedback.book import HintBook, default_book
from envtune_gym.feedback.levels import LEVELS, FeedbackLevel
from envtune_gym.feedback.rules import HintRule

__all__ = ["LEVELS", "FeedbackLevel", "HintBook", "HintRule", "default_book"]
