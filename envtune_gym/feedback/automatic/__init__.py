"""Automatic hints for any tool, whoever owns it: no rule written by hand, no typed error, no knowledge of a domain.

`failure` tells failures by their text; `conversation` is what happened so far; `documentation` holds calls against
JSON schemas, `places` finds values in the conversation, `graph` and `prerequisites` know what comes before what in
successful runs (`trajectories`), and `hints` makes sentences of it all. `drawing` draws the graph, and `episode` serves
this package's environments.
"""

from __future__ import annotations

from envtune_gym.feedback.automatic.conversation import Conversation, PastCall
from envtune_gym.feedback.automatic.graph import ToolGraph, default_graph, mine
from envtune_gym.feedback.automatic.hints import AutomaticHints

__all__ = ["AutomaticHints", "Conversation", "PastCall", "ToolGraph", "default_graph", "mine"]
